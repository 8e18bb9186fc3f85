"""Edits of a pull request: its base and its text."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from app.domain.model import Message
from app.domain.observation import Pull
from app.github.access import RepositoryAccess
from app.github.errors import Forbidden, Validation
from app.github.shapes import PullShape, read
from app.github.wire import Call

_PULL = "/repos/{owner}/{repo}/pulls/{number}"


class BaseRefusal(StrEnum):
    """Why a pull request kept its base."""

    IN_A_STACK = "in_a_stack"
    """GitHub keeps the bases of a native stack itself."""
    ALREADY_EXISTS = "already_exists"
    """Another open pull request has this head and that base."""
    BASE_MISSING = "base_missing"
    NO_COMMITS = "no_commits"
    CLOSED = "closed"
    QUEUED = "queued"
    FORBIDDEN = "forbidden"
    OTHER = "other"


@dataclass(frozen=True)
class BaseRefused:
    """The base is what it was, with GitHub's words."""

    kind: BaseRefusal
    message: str


class _Stacked(Message):
    stack: dict[str, Any] | None = None


class PullEdits(RepositoryAccess):
    """Editing a pull request."""

    async def is_in_a_stack(self, number: int) -> bool:
        """Whether GitHub itself keeps the pull request in a native stack. Raises NotFound where there is none, and
        other GitHubErrors. A GitHub that knows no stacks says nothing of one.
        """
        answer = await self.session.get(_PULL, self._at(number=number))
        return read(_Stacked, answer.body, Call("GET", _PULL)).stack is not None

    async def edit_base(self, number: int, base: str) -> Pull | BaseRefused:
        """Move a pull request to another base.

        A refusal is a value. Raises Unanswered where it may have moved, and other GitHubErrors. GitHub takes no
        expected base, so the caller excludes merges of this pull request meanwhile. Done but not heard: reading it
        shows the base. Two of us: the last one wins, and the next look compares it with the record. Lease gone: the
        same; a person's own edit is an intent, and the permit under which this runs ends before a successor begins.
        """
        try:
            answer = await self.session.write("PATCH", _PULL, self._at(number=number), {"base": base})
        except Validation as e:
            return BaseRefused(_why_not_moved(e), "; ".join(e.sentences))
        except Forbidden as e:
            return BaseRefused(BaseRefusal.FORBIDDEN, e.message)
        return read(PullShape, answer.body, Call("PATCH", _PULL, writes=True)).pull()

    async def body_of(self, number: int) -> str:
        """A pull request's text as it is now."""
        answer = await self.session.get(_PULL, self._at(number=number))
        return read(PullShape, answer.body, Call("GET", _PULL)).pull().body

    async def edit_body(self, number: int, body: str) -> Pull:
        """Replace a pull request's text; at most 65,536 characters (Validation).

        Done but not heard, or two of us: the text is set to a value, and the next look compares it. What a person wrote
        between our look and this write is lost, so only the parts that are ours may differ from what was read. Lease
        gone: the text names no holder.
        """
        answer = await self.session.write("PATCH", _PULL, self._at(number=number), {"body": body})
        return read(PullShape, answer.body, Call("PATCH", _PULL, writes=True)).pull()


def _why_not_moved(refusal: Validation) -> BaseRefusal:
    words = " ".join(refusal.sentences).lower()
    told = {
        "part of a stack": BaseRefusal.IN_A_STACK,
        "already exists": BaseRefusal.ALREADY_EXISTS,
        "was not found": BaseRefusal.BASE_MISSING,
        "no new commits": BaseRefusal.NO_COMMITS,
        "no commits between": BaseRefusal.NO_COMMITS,
        "closed": BaseRefusal.CLOSED,
        "merge queue": BaseRefusal.QUEUED,
    }
    return next((kind for sign, kind in told.items() if sign in words), BaseRefusal.OTHER)
