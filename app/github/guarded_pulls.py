"""All open pull requests into one branch, with the release guard's check-runs of our App on each head; in pages of a
hundred.
"""

from dataclasses import dataclass

from pydantic import Field

from app.domain.model import Message, Sha
from app.domain.pull_class import Refs
from app.domain.release_observation import GuardRun
from app.github.access import RELEASE_CHECK_NAME, RepositoryAccess
from app.github.graphql_shapes import PageInfo, TargetNode
from app.github.shapes import read
from app.github.wire import Call

MOST_PAGES = 10
_GUARDED = """
query GuardedPulls(
  $owner: String!, $name: String!, $base: String!, $after: String, $appId: Int!, $checkName: String!
) {
  repository(owner: $owner, name: $name) {
    databaseId
    pullRequests(
      states: OPEN, baseRefName: $base, first: 100, after: $after, orderBy: {field: CREATED_AT, direction: DESC}
    ) {
      pageInfo { hasNextPage endCursor }
      nodes {
        number headRefName headRefOid baseRefName isInMergeQueue
        headRepository { nameWithOwner }
        commits(last: 1) {
          nodes {
            commit {
              oid
              checkSuites(first: 1, filterBy: {appId: $appId, checkName: $checkName}) {
                nodes {
                  app { databaseId }
                  checkRuns(first: 20, filterBy: {checkType: ALL, checkName: $checkName}) {
                    nodes { databaseId name status conclusion externalId title summary }
                  }
                }
              }
            }
          }
        }
      }
    }
  }
}
"""


@dataclass(frozen=True)
class GuardedPull:
    """An open pull request into the branch. `runs`: the guard's on its head; None where the list shows another commit
    than the head, so that nothing is known.
    """

    number: int
    refs: Refs
    head_sha: str
    queued: bool
    runs: tuple[GuardRun, ...] | None


class GuardedPulls(RepositoryAccess):
    """Looking at what would go into a branch. Reads only; all raise GitHubError where GitHub does not answer."""

    async def pulls_into(self, base: str) -> tuple[GuardedPull, ...]:
        """All open pull requests into a branch, the newest first; at most a thousand are read."""
        found: list[GuardedPull] = []
        after: str | None = None
        for _ in range(MOST_PAGES):
            variables = {
                "owner": self.owner,
                "name": self.name,
                "base": base,
                "after": after,
                "appId": self.app_id,
                "checkName": RELEASE_CHECK_NAME,
            }
            answer = await self.session.query("GuardedPulls", _GUARDED, variables)
            repository = answer.body["data"].get("repository") or {}
            self._same_repository(repository, "GuardedPulls")
            page = read(_Seen, repository, Call("POST", "GuardedPulls", kind="graphql")).pulls
            found += [self._guarded(node) for node in page.nodes if node is not None]
            if not page.page.has_next:
                break
            after = page.page.cursor
        return tuple(found)

    def _guarded(self, node: "_Pull") -> GuardedPull:
        home = node.home.name.lower() if node.home is not None else ""
        refs = Refs(node.head, node.base, home == self.full_name.lower())
        return GuardedPull(node.number, refs, node.head_sha, node.queued, node.runs(self.app_id))


class _Home(Message):
    name: str = Field(alias="nameWithOwner")


class _PullCommit(Message):
    commit: TargetNode


class _PullCommits(Message):
    nodes: tuple[_PullCommit, ...] = ()


class _Pull(Message):
    number: int
    head: str = Field(alias="headRefName")
    head_sha: Sha = Field(alias="headRefOid")
    base: str = Field(alias="baseRefName")
    queued: bool = Field(default=False, alias="isInMergeQueue")
    home: _Home | None = Field(default=None, alias="headRepository")
    commits: _PullCommits = _PullCommits()

    def runs(self, app_id: int) -> tuple[GuardRun, ...] | None:
        here = next((node.commit for node in self.commits.nodes if node.commit.oid == self.head_sha), None)
        if here is None:
            return None
        found = here.check_runs(app_id, RELEASE_CHECK_NAME)
        return tuple(
            GuardRun(run.id, run.sha, run.status, run.conclusion, run.external_id, run.title, run.summary)
            for run in found
        )


class _Pulls(Message):
    page: PageInfo = Field(default=PageInfo(), alias="pageInfo")
    nodes: tuple[_Pull | None, ...] = ()


class _Seen(Message):
    pulls: _Pulls = Field(alias="pullRequests")
