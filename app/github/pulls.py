"""Pull requests: opened, found again, closed, reopened, switched between draft and ready."""

from dataclasses import dataclass
from enum import StrEnum

from app.domain.observation import Pull
from app.github.access import RepositoryAccess
from app.github.errors import GraphQLFailed, Validation
from app.github.shapes import PullShape, read
from app.github.wire import Call

_PULLS = "/repos/{owner}/{repo}/pulls"
_PULL = "/repos/{owner}/{repo}/pulls/{number}"
_TO_DRAFT = """
mutation ToDraft($id: ID!) {
  convertPullRequestToDraft(input: {pullRequestId: $id}) { pullRequest { isDraft } }
}
"""
_TO_READY = """
mutation ToReady($id: ID!) {
  markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { isDraft } }
}
"""


class PullRefusal(StrEnum):
    """Why a pull request was not opened or reopened."""

    NO_COMMITS = "no_commits"
    """Nothing between base and head. Also seen for a moment right after a push."""
    ALREADY_EXISTS = "already_exists"
    DRAFT_UNSUPPORTED = "draft_unsupported"
    """The plan has no drafts; nothing but trying tells."""
    HEAD_MISSING = "head_missing"
    BASE_MISSING = "base_missing"
    HEAD_REWRITTEN = "head_rewritten"
    """The head branch is no descendant of what it was when the pull request was closed."""
    OTHER = "other"


@dataclass(frozen=True)
class PullRefused:
    """GitHub's refusal, with its own words: nothing was opened."""

    kind: PullRefusal
    message: str


class Pulls(RepositoryAccess):
    """The ticket's pull request."""

    async def create_pull(self, head: str, base: str, title: str, body: str, draft: bool) -> Pull | PullRefused:
        """Open a pull request from `head` (a branch of this repository) to `base`.

        A refusal is a value. Raises Unanswered where it may exist now, and other GitHubErrors. Done but not heard:
        `find_pulls(head, base)` shows it. Two of us: GitHub refuses the second (ALREADY_EXISTS). Lease gone: a pull
        request for the branch is wanted all the same; the record of the new holder finds and keeps it.
        """
        fields = {"head": head, "base": base, "title": title, "body": body, "draft": draft}
        try:
            answer = await self.session.write("POST", _PULLS, self._at(), fields)
        except Validation as e:
            return PullRefused(_why_not_opened(e), "; ".join(e.sentences))
        return read(PullShape, answer.body, Call("POST", _PULLS, writes=True)).pull()

    async def pull(self, number: int) -> Pull:
        """One pull request as GitHub shows it now: its head, base and state. Raises NotFound and other GitHubErrors."""
        answer = await self.session.get(_PULL, self._at(number=number))
        return read(PullShape, answer.body, Call("GET", _PULL)).pull()

    async def find_pulls(self, head: str, base: str, state: str = "all") -> list[Pull]:
        """The probe for `create_pull`: pull requests of exactly this head and base in this repository, newest first."""
        query = {"head": f"{self.owner}:{head}", "base": base, "state": state, "sort": "created", "direction": "desc"}
        pages = await self.session.pages(_PULLS, self._at(), query)
        found = [shape.pull() for page in pages for shape in read(list[PullShape], page.body, Call("GET", _PULLS))]
        return [pull for pull in found if (pull.head, pull.base) == (head, base) and self._is_ours(pull)]

    async def reopen_pull(self, number: int) -> Pull | PullRefused:
        """Open a closed pull request again; its head branch must be back first.

        Done but not heard: reading it shows it open, and asking again changes nothing. Two of us: the same. Lease
        gone: the pull request belongs to the ticket whoever holds it.
        """
        try:
            answer = await self.session.write("PATCH", _PULL, self._at(number=number), {"state": "open"})
        except Validation as e:
            return PullRefused(_why_not_reopened(e), "; ".join(e.sentences))
        return read(PullShape, answer.body, Call("PATCH", _PULL, writes=True)).pull()

    async def close_pull(self, number: int) -> None:
        """Close a pull request.

        Done but not heard, or two of us: closing it again changes nothing, unless a person opened it in between; so the
        caller notes that it was done. Lease gone: only for tickets that have ended.
        """
        await self.session.write("PATCH", _PULL, self._at(number=number), {"state": "closed"})

    async def set_draft(self, node_id: str, draft: bool) -> None:
        """Make a pull request a draft, or ready for review. Raises GraphQLFailed where the plan or a permission forbids
        it (an App needs write on contents beside pull requests).

        Done but not heard, or two of us: setting it again changes nothing. Lease gone: a stale value is visible and
        the next look puts it right.
        """
        operation, document = ("ToDraft", _TO_DRAFT) if draft else ("ToReady", _TO_READY)
        try:
            await self.session.mutate(operation, document, {"id": node_id})
        except GraphQLFailed as e:
            # Being there already is what was wanted.
            if not any("already" in problem.message.lower() for problem in e.errors):
                raise

    def _is_ours(self, pull: Pull) -> bool:
        return (pull.head_repository or "").lower() == self.full_name.lower()


def _why_not_opened(refusal: Validation) -> PullRefusal:
    words = " ".join(refusal.sentences).lower()
    if "draft pull requests are not supported" in words:
        return PullRefusal.DRAFT_UNSUPPORTED
    if "no commits between" in words:
        return PullRefusal.NO_COMMITS
    if "already exists" in words:
        return PullRefusal.ALREADY_EXISTS
    fields = {error.field for error in refusal.errors}
    if "head" in fields:
        return PullRefusal.HEAD_MISSING
    if "base" in fields:
        return PullRefusal.BASE_MISSING
    return PullRefusal.OTHER


def _why_not_reopened(refusal: Validation) -> PullRefusal:
    words = " ".join(refusal.sentences).lower()
    if "has been deleted" in words:
        return PullRefusal.HEAD_MISSING
    if "force-pushed or recreated" in words:
        return PullRefusal.HEAD_REWRITTEN
    if "no commits between" in words or "no new commits" in words:
        return PullRefusal.NO_COMMITS
    if "already exists" in words or "already open" in words or "there is already an open" in words:
        return PullRefusal.ALREADY_EXISTS
    return PullRefusal.OTHER
