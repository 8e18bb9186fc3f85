"""One look at a repository as a whole: its policy, the Issues that carry the label of tickets, its open pull requests
with our check-runs on their heads, and its branches. For what no event told, so it is read in pages of a hundred that
cost a few points each, never by the piece.
"""

from dataclasses import dataclass
from datetime import datetime

from pydantic import AwareDatetime, Field

from app.domain.model import Message, Sha
from app.domain.observation import Branch
from app.domain.others_check import OpenPull, Run
from app.domain.pull_class import Refs
from app.github.access import CHECK_NAME, RepositoryAccess
from app.github.graphql_shapes import PageInfo, RefNode, RefNodes, TargetNode
from app.github.policy_history import NOT_TEXT
from app.github.shapes import read
from app.github.wire import Call

_PULL = """
fragment openPull on PullRequest {
  number state headRefName headRefOid baseRefName updatedAt
  headRepository { nameWithOwner }
  commits(last: 1) {
    nodes {
      commit {
        oid
        checkSuites(first: 1, filterBy: {appId: $appId, checkName: $checkName}) {
          nodes {
            app { databaseId }
            checkRuns(first: 20, filterBy: {checkType: ALL, checkName: $checkName}) {
              nodes { databaseId name status conclusion externalId title }
            }
          }
        }
      }
    }
  }
}
"""
_DISCOVER = (
    """
query Discover(
  $owner: String!, $name: String!, $policy: String!, $appId: Int!, $checkName: String!,
  $labels: [String!], $withIssues: Boolean!, $afterIssue: String,
  $withPulls: Boolean!, $afterPull: String, $withBranches: Boolean!, $afterBranch: String
) {
  repository(owner: $owner, name: $name) {
    databaseId
    isArchived
    defaultBranchRef { name target { oid } }
    policy: object(expression: $policy) { __typename ... on Blob { text isTruncated } }
    issues(labels: $labels, states: OPEN, first: 100, after: $afterIssue) @include(if: $withIssues) {
      pageInfo { hasNextPage endCursor }
      nodes {
        number updatedAt
        linkedBranches(first: 3) { nodes { ref { name target { oid } } } }
      }
    }
    pullRequests(
      states: OPEN, first: 100, after: $afterPull, orderBy: {field: UPDATED_AT, direction: DESC}
    ) @include(if: $withPulls) {
      pageInfo { hasNextPage endCursor }
      nodes { ...openPull }
    }
    refs(refPrefix: "refs/heads/", first: 100, after: $afterBranch) @include(if: $withBranches) {
      pageInfo { hasNextPage endCursor }
      nodes { name target { oid } }
    }
  }
}
"""
    + _PULL
)
_ONE = (
    """
query OpenPull($owner: String!, $name: String!, $number: Int!, $appId: Int!, $checkName: String!) {
  repository(owner: $owner, name: $name) {
    databaseId
    pullRequest(number: $number) {
      ...openPull
      headRef { associatedPullRequests(states: OPEN, first: 20) { nodes { ...openPull repository { databaseId } } } }
    }
  }
}
"""
    + _PULL
)


@dataclass(frozen=True)
class Page:
    """Where a list goes on; `more` False where it ends."""

    more: bool = True
    after: str | None = None


@dataclass(frozen=True)
class LabelledIssue:
    """An open Issue with the label. `linked`: heads of the branches that are linked to it."""

    number: int
    updated_at: datetime
    linked: tuple[str, ...] = ()


@dataclass(frozen=True)
class ListedPull:
    """An open pull request, and when anything about it changed."""

    pull: OpenPull
    updated_at: datetime


@dataclass(frozen=True)
class Discovered:
    """A page of each list that was asked for, and where each goes on."""

    now: datetime
    archived: bool
    default_branch: str
    default_head: str | None
    policy_text: str | None
    issues: tuple[LabelledIssue, ...] = ()
    pulls: tuple[ListedPull, ...] = ()
    branches: tuple[Branch, ...] = ()
    next_issue: Page = Page(more=False)
    next_pull: Page = Page(more=False)
    next_branch: Page = Page(more=False)


class Discovery(RepositoryAccess):
    """Looking at a repository as a whole. Reads only."""

    async def discover(self, label: str | None, issues: Page, pulls: Page, branches: Page, policy: str) -> Discovered:
        """The next page of each list that goes on; `label` None asks for no Issue. `policy`: the policy's path. Raises
        GraphQLFailed where the answer is incomplete.
        """
        variables = {
            "owner": self.owner,
            "name": self.name,
            "policy": f"HEAD:{policy}",
            "appId": self.app_id,
            "checkName": CHECK_NAME,
            "labels": [label] if label is not None else None,
            "withIssues": label is not None and issues.more,
            "afterIssue": issues.after,
            "withPulls": pulls.more,
            "afterPull": pulls.after,
            "withBranches": branches.more,
            "afterBranch": branches.after,
        }
        answer = await self.session.query("Discover", _DISCOVER, variables)
        repository = answer.body["data"].get("repository") or {}
        self._same_repository(repository, "Discover")
        seen = read(_Seen, repository, Call("POST", "Discover", kind="graphql"))
        default = seen.default
        self.default_branch = default.name if default else self.default_branch
        return Discovered(
            now=answer.date,
            archived=seen.archived,
            default_branch=self.default_branch,
            default_head=default.target.oid if default and default.target else None,
            policy_text=seen.policy.content() if seen.policy else None,
            issues=tuple(node.issue() for node in seen.issues.nodes if node is not None),
            pulls=tuple(self._listed(node) for node in seen.pulls.nodes if node is not None),
            branches=tuple(Branch(node.name, node.target.oid) for node in seen.branches.nodes if node.target),
            next_issue=_next(seen.issues.page),
            next_pull=_next(seen.pulls.page),
            next_branch=_next(seen.branches.page),
        )

    async def open_pulls_with(self, number: int) -> tuple[OpenPull, ...]:
        """One pull request with our check-runs on its head, and the other open ones from the same branch; empty where
        it is not open. Raises GraphQLFailed where there is none of this number.
        """
        variables = {
            "owner": self.owner,
            "name": self.name,
            "number": number,
            "appId": self.app_id,
            "checkName": CHECK_NAME,
        }
        answer = await self.session.query("OpenPull", _ONE, variables)
        repository = answer.body["data"].get("repository") or {}
        self._same_repository(repository, "OpenPull")
        node = read(_OnePull, repository, Call("POST", "OpenPull", kind="graphql")).pull
        if node is None or node.state != "OPEN":
            return ()
        beside = node.head_ref.pulls.nodes if node.head_ref is not None else ()
        here = [other for other in beside if other is not None and other.at is not None and other.at.id == self.id]
        found = {other.number: self._listed(other).pull for other in (*here, node) if other.head_sha == node.head_sha}
        return tuple(found.values())

    def _listed(self, node: "_Pull") -> ListedPull:
        home = node.home.name.lower() if node.home else ""
        runs = tuple(run for commit in node.commits.nodes for run in commit.runs(node.head_sha, self.app_id))
        refs = Refs(node.head, node.base, home == self.full_name.lower())
        pull = OpenPull(node.number, refs, node.head_sha, runs)
        return ListedPull(pull, node.updated_at)


def _next(page: PageInfo) -> Page:
    return Page(page.has_next, page.cursor)


class _Policy(Message):
    text: str | None = None
    is_truncated: bool = Field(default=False, alias="isTruncated")

    def content(self) -> str:
        return NOT_TEXT if self.text is None or self.is_truncated else self.text


class _Linked(Message):
    ref: RefNode | None = None


class _LinkedBranches(Message):
    nodes: tuple[_Linked | None, ...] = ()


class _Issue(Message):
    number: int
    updated_at: AwareDatetime = Field(alias="updatedAt")
    linked: _LinkedBranches = Field(default=_LinkedBranches(), alias="linkedBranches")

    def issue(self) -> LabelledIssue:
        refs = [node.ref for node in self.linked.nodes if node is not None and node.ref is not None]
        return LabelledIssue(self.number, self.updated_at, tuple(r.target.oid for r in refs if r.target))


class _Home(Message):
    name: str = Field(alias="nameWithOwner")


class _PullCommit(Message):
    commit: TargetNode

    def runs(self, head: str, app_id: int) -> list[Run]:
        if self.commit.oid != head:
            return []
        found = self.commit.check_runs(app_id, CHECK_NAME)
        return [Run(run.id, run.conclusion, run.external_id, run.title) for run in found]


class _PullCommits(Message):
    nodes: tuple[_PullCommit, ...] = ()


class _Pull(Message):
    number: int
    state: str
    head: str = Field(alias="headRefName")
    head_sha: Sha = Field(alias="headRefOid")
    base: str = Field(alias="baseRefName")
    updated_at: AwareDatetime = Field(alias="updatedAt")
    home: _Home | None = Field(default=None, alias="headRepository")
    commits: _PullCommits = _PullCommits()


class _Repository(Message):
    id: int = Field(alias="databaseId")


class _PullHere(_Pull):
    at: _Repository | None = Field(default=None, alias="repository")


class _PullsHere(Message):
    nodes: tuple[_PullHere | None, ...] = ()


class _HeadRef(Message):
    pulls: _PullsHere = Field(default=_PullsHere(), alias="associatedPullRequests")


class _PullWithOthers(_Pull):
    head_ref: _HeadRef | None = Field(default=None, alias="headRef")


class _Issues(Message):
    page: PageInfo = Field(default=PageInfo(), alias="pageInfo")
    nodes: tuple[_Issue | None, ...] = ()


class _Pulls(Message):
    page: PageInfo = Field(default=PageInfo(), alias="pageInfo")
    nodes: tuple[_Pull | None, ...] = ()


class _Branches(RefNodes):
    page: PageInfo = Field(default=PageInfo(), alias="pageInfo")


class _Seen(Message):
    archived: bool = Field(default=False, alias="isArchived")
    default: RefNode | None = Field(default=None, alias="defaultBranchRef")
    policy: _Policy | None = None
    issues: _Issues = _Issues()
    pulls: _Pulls = Field(default=_Pulls(), alias="pullRequests")
    branches: _Branches = Field(default=_Branches(), alias="refs")


class _OnePull(Message):
    pull: _PullWithOthers | None = Field(default=None, alias="pullRequest")
