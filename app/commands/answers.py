"""The one answer to a comment: a comment of our App, found by its marker, edited in place.

No lease is involved. What if it was written and we did not hear, or two of us write it: every look finds both, the
oldest stays and the others are removed (the ownership protocol, R3, class C).
"""

from dataclasses import dataclass
from enum import StrEnum

from app.domain.observation import Comment
from app.github.errors import NotFound
from app.github.repository import Repository


class Result(StrEnum):
    """How what was said ended. OPEN: it is not known yet, and the answer will change."""

    DONE = "done"
    REFUSED = "refused"
    OPEN = "open"


@dataclass(frozen=True)
class Answer:
    """An answer that stands."""

    comment: Comment
    result: Result


class Answers:
    """The answers of one repository."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo

    async def find(self, number: int, said: str) -> Answer | None:
        """The answer to what was said, by its id; copies of it are removed. Raises GitHubError."""
        marker = marker_of(said)
        found = [c for c in await self._repo.find_comments(number, marker) if c.body.startswith(marker)]
        for double in found[1:]:
            await self._repo.delete_comment(double.id)
        return Answer(found[0], _result(found[0].body)) if found else None

    async def put(self, number: int, said: str, result: Result, text: str) -> None:
        """Answer, or let the answer that stands say this. Raises Unanswered where it may stand now, GitHubError."""
        body = f"{marker_of(said)}\n{_tail(result)}\n{text.strip()}\n"
        standing = await self.find(number, said)
        if standing is None:
            await self._repo.create_comment(number, body)
            await self.find(number, said)
            return
        if _same(standing.comment.body, body):
            return
        try:
            await self._repo.edit_comment(standing.comment.id, body)
        except NotFound:
            return  # somebody deleted it while we looked: no second answer


def marker_of(said: str) -> str:
    """The first line of the answer to what was said, by its id."""
    return f"<!-- agent-recovery:answer {said} -->"


def _tail(result: Result) -> str:
    return f"<!-- {result} -->"


def _result(body: str) -> Result:
    lines = body.replace("\r\n", "\n").split("\n", 2)
    return next((r for r in Result if len(lines) > 1 and lines[1].strip() == _tail(r)), Result.OPEN)


def _same(shown: str, wanted: str) -> bool:
    return shown.replace("\r\n", "\n").strip() == wanted.strip()
