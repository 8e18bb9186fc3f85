"""What became of a pull request and its Issue, read anew right after a write about it: merged or not, into which base,
as which commit; whether the Issue was closed in between; who made a commit.
"""

from dataclasses import dataclass
from datetime import datetime

from pydantic import AwareDatetime, Field

from app.domain.branch_updated import MadeCommit
from app.domain.model import Message, Sha
from app.domain.record import Merged
from app.github.access import RepositoryAccess
from app.github.errors import NotFound
from app.github.shapes import read
from app.github.wire import Call

_PULL_NOW = """
query PullNow($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) {
    databaseId
    pullRequest(number: $number) {
      state headRefOid baseRefName mergedAt isInMergeQueue
      mergeCommit { oid }
    }
  }
}
"""
_CLOSINGS = """
query Closings($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) {
    databaseId
    issue(number: $number) {
      timelineItems(last: 1, itemTypes: [CLOSED_EVENT]) { nodes { ... on ClosedEvent { createdAt } } }
    }
  }
}
"""
_VIEWER = """
query Viewer($owner: String!, $name: String!) {
  viewer { login }
  repository(owner: $owner, name: $name) { databaseId }
}
"""
_COMMIT = "/repos/{owner}/{repo}/commits/{sha}"
_WEB = "web-flow"
"""GitHub's own account: it commits what GitHub makes itself, and signs it."""


@dataclass(frozen=True)
class PullNow:
    """A pull request at this moment. `merge_sha`: the commit that its merge left on the base."""

    state: str
    head_sha: str
    base: str
    merge_sha: str | None
    merged_at: datetime | None
    queued: bool

    @property
    def merged(self) -> bool:
        return self.state == "MERGED"

    def merge(self, number: int, now: datetime) -> Merged:
        """Its merge. Where no commit of it shows, now or ever (the head was pushed onto the base), the head stands for
        it: it is looked at again until the trunk contains one of the two.
        """
        sha = self.merge_sha or self.head_sha
        return Merged(pr=number, head_sha=self.head_sha, base=self.base, merge_sha=sha, at=self.merged_at or now)


class MergedPulls(RepositoryAccess):
    """Looking at what a landing left behind."""

    async def pull_now(self, number: int) -> PullNow:
        """The pull request as it is now. Raises NotFound where there is none, GraphQLFailed where the answer is
        incomplete, GitHubError.
        """
        found = (await self._answered("PullNow", _PULL_NOW, number)).get("pullRequest")
        if found is None:
            raise NotFound("there is no such pull request", route="PullNow")
        seen = read(_Pull, found, Call("POST", "PullNow", kind="graphql"))
        merge_sha = seen.merge.oid if seen.merge is not None else None
        return PullNow(seen.state, seen.head, seen.base, merge_sha, seen.merged_at, seen.queued)

    async def closed_since(self, number: int, moment: datetime) -> bool:
        """Whether the Issue was closed at `moment` or later, by whomever; it may be open again. Raises GitHubError."""
        found = (await self._answered("Closings", _CLOSINGS, number)).get("issue")
        if found is None:
            raise NotFound("there is no such Issue", route="Closings")
        seen = read(_Closed, found, Call("POST", "Closings", kind="graphql"))
        return any(event.at >= moment for event in seen.events.nodes)

    async def made_commit(self, sha: str) -> MadeCommit:
        """A commit with what GitHub says of its maker. `by_app`: GitHub made and signed it for our App, and nobody
        else can have: who only writes the App's name into a commit has no signature of GitHub's. Raises NotFound,
        GitHubError.
        """
        answer = await self.session.get(_COMMIT, self._at(sha=sha))
        seen = read(_Commit, answer.body, Call("GET", _COMMIT))
        by_github = seen.commit.verification.verified and (seen.committer or _NOBODY).login == _WEB
        author = seen.author or _NOBODY
        ours = by_github and author.type == "Bot" and author.login.lower() == await self._own_login()
        return MadeCommit(seen.sha, tuple(parent.sha for parent in seen.parents), by_app=ours)

    async def _own_login(self) -> str:
        answer = await self.session.query("Viewer", _VIEWER, {"owner": self.owner, "name": self.name})
        call = Call("POST", "Viewer", kind="graphql")
        login = read(_Viewer, answer.body.get("data"), call).viewer.login.lower()
        return login if login.endswith("[bot]") else f"{login}[bot]"

    async def _answered(self, operation: str, document: str, number: int) -> dict[str, object]:
        variables = {"owner": self.owner, "name": self.name, "number": number}
        answer = await self.session.query(operation, document, variables)
        repository: dict[str, object] = answer.body["data"].get("repository") or {}
        self._same_repository(repository, operation)
        return repository


class _Oid(Message):
    oid: Sha


class _Pull(Message):
    state: str
    head: Sha = Field(alias="headRefOid")
    base: str = Field(alias="baseRefName")
    merged_at: AwareDatetime | None = Field(default=None, alias="mergedAt")
    merge: _Oid | None = Field(default=None, alias="mergeCommit")
    queued: bool = Field(default=False, alias="isInMergeQueue")


class _Event(Message):
    at: AwareDatetime = Field(alias="createdAt")


class _Events(Message):
    nodes: tuple[_Event, ...] = ()


class _Closed(Message):
    events: _Events = Field(alias="timelineItems")


class _Account(Message):
    login: str = ""
    type: str = ""


_NOBODY = _Account()


class _Verification(Message):
    verified: bool = False


class _Inner(Message):
    verification: _Verification = _Verification()


class _Parent(Message):
    sha: Sha


class _Commit(Message):
    sha: Sha
    commit: _Inner = _Inner()
    author: _Account | None = None
    committer: _Account | None = None
    parents: tuple[_Parent, ...] = ()


class _Viewer(Message):
    viewer: _Account
