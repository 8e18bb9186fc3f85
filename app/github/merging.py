"""Merging a pull request now or through a queue, and bringing its branch up to date. Always for one exact head."""

from dataclasses import dataclass
from enum import StrEnum

from pydantic import Field

from app.domain.landing_evidence import Method
from app.domain.merge_text import MergeText
from app.domain.model import Message
from app.domain.pull_class import TicketPull
from app.github.branch_rules import GuardedBranches
from app.github.errors import (
    Conflict,
    Forbidden,
    GitHubError,
    GraphQLFailed,
    MethodNotAllowed,
    Moved,
    NotFound,
    RateLimited,
    Suspended,
    Unanswered,
    Validation,
)
from app.github.shapes import read
from app.github.wire import Call

_PULL = "/repos/{owner}/{repo}/pulls/{number}"
_MERGE = "/repos/{owner}/{repo}/pulls/{number}/merge"
_MERGE_LATER = "/repos/{owner}/{repo}/pulls/{number}/merge-async"
_MERGED_LATER = "/repos/{owner}/{repo}/pulls/{number}/merge-async/{uuid}"
_UPDATE = "/repos/{owner}/{repo}/pulls/{number}/update-branch"
_ENQUEUE = """
mutation Enqueue($id: ID!, $head: GitObjectID!) {
  enqueuePullRequest(input: {pullRequestId: $id, expectedHeadOid: $head}) { mergeQueueEntry { id } }
}
"""

LOOKS_AT_A_LATER_MERGE = 5
LOOK_EVERY_S = 2.0
_HEAD_MOVED = "head branch was modified"


@dataclass(frozen=True)
class MergeReply:
    """GitHub's answer to a merge. `status`: that of HTTP, 2xx only for a merge that is done, and None where it may have
    happened unheard or may still happen. `message`: GitHub's words, all lines. `sha`: the commit it landed as.
    """

    status: int | None
    message: str
    sha: str | None = None


_DEQUEUE = """
mutation Dequeue($id: ID!) { dequeuePullRequest(input: {id: $id}) { clientMutationId } }
"""


class QueueRefusal(StrEnum):
    """Why a pull request did not enter the merge queue."""

    ALREADY_QUEUED = "already_queued"
    HEAD_MOVED = "head_moved"
    NO_QUEUE = "no_queue"
    OTHER = "other"
    """A rule, a permission or the pull request's state; GitHub's words say which."""


@dataclass(frozen=True)
class Enqueued:
    """It waits in the queue."""

    entry: str
    """GraphQL's id of the entry."""


@dataclass(frozen=True)
class QueueRefused:
    """It did not enter the queue, with GitHub's words."""

    kind: QueueRefusal
    message: str


class UpdateRefusal(StrEnum):
    """Why a branch was not brought up to date."""

    UP_TO_DATE = "up_to_date"
    """The base has nothing new: nothing to do."""
    HEAD_MOVED = "head_moved"
    CONFLICT = "conflict"
    QUEUED = "queued"
    """It waits in the merge queue, which tests it with the base itself."""
    HEAD_MISSING = "head_missing"
    FORBIDDEN = "forbidden"
    """The App may not write this branch: a fork's, or one that is guarded."""
    OTHER = "other"


@dataclass(frozen=True)
class UpdateStarted:
    """GitHub will merge the base into the head, unless the head moves before; the next look shows it."""


@dataclass(frozen=True)
class UpdateRefused:
    """Nothing will be updated, with GitHub's words."""

    kind: UpdateRefusal
    message: str


class Merging(GuardedBranches):
    """Landing a pull request."""

    async def merge_pull(self, pull: TicketPull, method: Method, text: MergeText) -> MergeReply:
        """Merge a ticket's pull request, if its head is still the one that was seen. No other kind of pull request can
        be given here. A native stack's pull request, which GitHub merges only later, is asked for that way and waited
        for, ten seconds at most. GitHub would merge all below it too, a release among them: so it is asked for only
        where nothing is below it, and refused here with 405 where something is.

        Refusals are values; Moved, Suspended and RateLimited are raised, and then nothing was done. Done but not heard:
        status None, and the pull request says whether it is merged. Two of us: GitHub merges once and tells the other
        `not mergeable`. Lease gone: the permit is for this head and base, and a takeover ends it before (R11); GitHub
        refuses every other head.
        """
        fields = {
            "sha": pull.head_sha,
            "merge_method": method,
            "commit_title": text.title,
            "commit_message": text.message,
        }
        try:
            answer = await self.session.write("PUT", _MERGE, self._at(number=pull.number), fields)
        except Unanswered as e:
            return MergeReply(None, e.message)
        except (Conflict, Forbidden, MethodNotAllowed, NotFound, Validation) as e:
            # What was refused may be refused by a rule that was not there when the rules were read.
            self.forget_branch_rules()
            return await self._merge_later(pull, fields) if _only_later(e) else _refused(e)
        done = _Merged.model_validate(answer.body if isinstance(answer.body, dict) else {})
        return MergeReply(answer.status, done.message, done.sha) if done.merged else MergeReply(None, done.message)

    async def enqueue(self, pull: TicketPull, head_sha: str) -> Enqueued | QueueRefused:
        """Put a ticket's pull request into its base's merge queue, if the head is still `head_sha`. GitHub does it now
        or not at all, never "when it is ready".

        Raises Unanswered where it may stand in the queue now, and other GitHubErrors. Done but not heard: the pull
        request shows it, and asking again is ALREADY_QUEUED. Two of us: the same. Lease gone: a push or a takeover's
        fence takes it out of the queue, for GitHub drops an entry whose head moves.
        """
        try:
            answer = await self.session.mutate("Enqueue", _ENQUEUE, {"id": pull.node_id, "head": head_sha})
        except (GraphQLFailed, Forbidden, NotFound) as e:
            return QueueRefused(_why_not_queued(e), e.message)
        call = Call("POST", "Enqueue", kind="graphql", writes=True)
        return Enqueued(read(_Enqueued, answer.body.get("data"), call).payload.entry.id)

    async def dequeue(self, node_id: str) -> None:
        """Take a pull request out of its base's merge queue. Raises GraphQLFailed where it is in none, Unanswered, and
        other GitHubErrors.

        Done but not heard, or two of us: the pull request shows that it waits no more. Lease gone: only for a head that
        was withdrawn; a later place in the queue would be lost with it, and is asked for again.
        """
        await self.session.mutate("Dequeue", _DEQUEUE, {"id": node_id})

    async def update_branch(self, number: int, head_sha: str) -> UpdateStarted | UpdateRefused:
        """Have GitHub merge the base into the head branch, if the head is still `head_sha`. It happens a moment later.

        Raises Unanswered where it may happen unheard, and other GitHubErrors. Done but not heard, or two of us: the
        branch shows a merge commit on top of `head_sha`, and for any other head GitHub refuses (HEAD_MOVED). Lease
        gone: a late update merges the base and nothing else, on a head that nobody moved since.
        """
        fields = {"expected_head_sha": head_sha}
        try:
            await self.session.write("PUT", _UPDATE, self._at(number=number), fields)
        except Validation as e:
            return UpdateRefused(_why_not_updated(e), "; ".join(e.sentences))
        except Forbidden as e:
            return UpdateRefused(UpdateRefusal.FORBIDDEN, e.message)
        return UpdateStarted()

    async def _merge_later(self, pull: TicketPull, fields: dict[str, str]) -> MergeReply:
        number, wanted = pull.number, {**fields, "merge_action": "direct_merge"}
        try:
            shown = await self.session.get(_PULL, self._at(number=number))
            into = read(_InStack, shown.body, Call("GET", _PULL)).into
            if into != pull.base:
                # What is lowest in a stack goes where the stack goes.
                return MergeReply(
                    405, f"It is in a native stack into {into or 'nowhere'}: what is below it would be merged too"
                )
            answer = await self.session.write("PUT", _MERGE_LATER, self._at(number=number), wanted)
        except (Unanswered, Conflict) as e:
            # Conflict: a request for this pull request waits already, ours from before or somebody's with other values.
            return MergeReply(None, e.message)
        except (Moved, RateLimited, Suspended):
            raise
        except GitHubError as e:
            return _refused(e)
        result = read(_Later, answer.body, Call("PUT", _MERGE_LATER, writes=True))
        for _ in range(LOOKS_AT_A_LATER_MERGE):
            if result.status != "pending" or result.details.uuid is None:
                break
            await self.session.pause(LOOK_EVERY_S)
            try:
                answer = await self.session.get(_MERGED_LATER, self._at(number=number, uuid=result.details.uuid))
            except GitHubError:
                break
            result = read(_Later, answer.body, Call("GET", _MERGED_LATER))
        details = result.details
        if result.status == "merged":
            return MergeReply(200, details.message, details.sha)
        if result.status == "failed":
            return MergeReply(409 if _HEAD_MOVED in details.message.lower() else 405, details.message)
        return MergeReply(None, details.message)


class _Merged(Message):
    merged: bool = False
    message: str = ""
    sha: str | None = None


class _Into(Message):
    ref: str


class _Stack(Message):
    base: _Into


class _InStack(Message):
    stack: _Stack | None = None

    @property
    def into(self) -> str | None:
        """Where the pull request's stack goes as a whole; None where it is in none."""
        return self.stack.base.ref if self.stack is not None else None


class _Details(Message):
    message: str = ""
    uuid: str | None = None
    sha: str | None = None


class _Later(Message):
    status: str
    details: _Details = _Details()


class _Entry(Message):
    id: str


class _EnqueuePayload(Message):
    entry: _Entry = Field(alias="mergeQueueEntry")


class _Enqueued(Message):
    payload: _EnqueuePayload = Field(alias="enqueuePullRequest")


def _only_later(refusal: GitHubError) -> bool:
    """GitHub's word that this pull request can only be merged asynchronously (a native stack's; sent with 403)."""
    return "asynchronous merge" in refusal.message.lower()


def _refused(refusal: GitHubError) -> MergeReply:
    words = refusal.sentences if isinstance(refusal, Validation) else refusal.lines
    return MergeReply(refusal.status or 405, "\n".join(words))


def _why_not_queued(refusal: GitHubError) -> QueueRefusal:
    words = refusal.message.lower()
    if "already" in words and "queue" in words:
        return QueueRefusal.ALREADY_QUEUED
    if _HEAD_MOVED in words or "expected head" in words:
        return QueueRefusal.HEAD_MOVED
    return QueueRefusal.NO_QUEUE if "not have a merge queue" in words else QueueRefusal.OTHER


def _why_not_updated(refusal: Validation) -> UpdateRefusal:
    words = " ".join(refusal.sentences).lower()
    told = {
        "no new commits": UpdateRefusal.UP_TO_DATE,
        "expected head sha": UpdateRefusal.HEAD_MOVED,
        "conflict": UpdateRefusal.CONFLICT,
        "queued for merging": UpdateRefusal.QUEUED,
        "head ref does not exist": UpdateRefusal.HEAD_MISSING,
    }
    return next((kind for sign, kind in told.items() if sign in words), UpdateRefusal.OTHER)
