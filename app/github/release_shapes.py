"""The fields of a release that we ask of GraphQL, and how they become the domain's words."""

from typing import Any, Literal

from pydantic import AwareDatetime, Field

from app.domain.model import Message, Sha
from app.domain.release_observation import Account, GuardRun, OwnComment, ReleasePull
from app.domain.surroundings import Tip
from app.github.access import RELEASE_CHECK_NAME
from app.github.graphql_shapes import CommentPage, PageInfo
from app.github.pull_acts import plain_login
from app.github.release_tickets import MERGED_PULLS, Home, Oid, WithMerged
from app.github.shapes import read
from app.github.surroundings import TipNode
from app.github.wire import Call

_ACCOUNT = """
fragment account on Actor {
  __typename login
  ... on User { databaseId }
  ... on Bot { databaseId }
}
"""
_GUARDED = """
fragment guarded on Commit {
  oid
  checkSuites(first: 10, filterBy: {appId: $appId, checkName: $checkName}) {
    pageInfo { hasNextPage }
    nodes {
      app { databaseId }
      checkRuns(first: 50, filterBy: {checkType: ALL, checkName: $checkName}) {
        pageInfo { hasNextPage }
        nodes { databaseId name status conclusion externalId title summary }
      }
    }
  }
}
"""
_PULL = """
fragment releasePull on PullRequest {
  id number state isDraft title body url headRefName headRefOid baseRefName mergedAt isInMergeQueue
  headRepository { databaseId }
  author { ...account }
  mergedBy { ...account }
  mergeCommit { oid }
  autoMergeRequest { enabledAt }
  mergeQueueEntry { id }
  comments(first: 100) {
    pageInfo { hasNextPage endCursor }
    nodes { fullDatabaseId body createdAt url viewerDidAuthor lastEditedAt author { login } editor { login } }
  }
  events: timelineItems(last: 50, itemTypes: [CLOSED_EVENT, REOPENED_EVENT, BASE_REF_CHANGED_EVENT]) {
    nodes {
      __typename
      ... on ClosedEvent { createdAt actor { ...account } }
      ... on ReopenedEvent { createdAt actor { ...account } }
      ... on BaseRefChangedEvent { createdAt actor { ...account } }
    }
  }
  commits(last: 1) { nodes { commit { ...guarded } } }
}
"""
RELEASE = (
    """
query Release(
  $owner: String!, $name: String!, $trunkRef: String!, $intoRef: String!, $trunk: String!,
  $ids: [ID!]!, $appId: Int!, $checkName: String!, $after: String
) {
  viewer { login }
  nodes(ids: $ids) { ...releasePull }
  repository(owner: $owner, name: $name) {
    databaseId
    defaultBranchRef { name }
    trunk: ref(qualifiedName: $trunkRef) { ...tip target { ...guarded } }
    into: ref(qualifiedName: $intoRef) { ...tip }
"""
    + MERGED_PULLS
    + """
  }
}
fragment tip on Ref { name target { oid ... on Commit { tree { oid } } } }
"""
    + _PULL
    + _ACCOUNT
    + _GUARDED
)
DETAILS = (
    """
query ReleasePulls($ids: [ID!]!, $appId: Int!, $checkName: String!) { nodes(ids: $ids) { ...releasePull } }
"""
    + _PULL
    + _ACCOUNT
    + _GUARDED
)
_CALL = Call("POST", "Release", kind="graphql")


class _Actor(Message):
    typename: str = Field(alias="__typename")
    login: str
    id: int | None = Field(default=None, alias="databaseId")

    def account(self, app: str) -> Account:
        return Account(self.login, self.id or 0, self.typename, self.is_app(app))

    def is_app(self, app: str) -> bool:
        # A person may have the App's name as a login: only an App's own account counts.
        return self.typename == "Bot" and plain_login(self.login) == plain_login(app)


class _Entry(Message):
    id: str


class _Event(Message):
    typename: str = Field(alias="__typename")
    at: AwareDatetime = Field(alias="createdAt")
    actor: _Actor | None = None


class _Events(Message):
    nodes: tuple[_Event, ...] = ()


class _Run(Message):
    id: int = Field(alias="databaseId")
    name: str
    status: str
    conclusion: str | None = None
    external_id: str | None = Field(default=None, alias="externalId")
    title: str | None = None
    summary: str | None = None


class _Runs(Message):
    page: PageInfo = Field(default=PageInfo(), alias="pageInfo")
    nodes: tuple[_Run, ...] = ()


class _Suite(Message):
    app: Home | None = None
    runs: _Runs = Field(default=_Runs(), alias="checkRuns")


class _Suites(Message):
    page: PageInfo = Field(default=PageInfo(), alias="pageInfo")
    nodes: tuple[_Suite | None, ...] = ()


class GuardedCommit(Message):
    oid: Sha
    suites: _Suites | None = Field(default=None, alias="checkSuites")

    @property
    def _suites(self) -> tuple[_Suite, ...]:
        return tuple(suite for suite in (self.suites.nodes if self.suites else ()) if suite is not None)

    @property
    def is_whole(self) -> bool:
        pages = [self.suites.page if self.suites else PageInfo(), *(suite.runs.page for suite in self._suites)]
        return not any(page.has_next for page in pages)

    def runs(self, app_id: int) -> list[GuardRun]:
        """The guard's runs of this App."""
        own = [suite for suite in self._suites if suite.app is not None and suite.app.id == app_id]
        return [
            GuardRun(
                id=run.id,
                sha=self.oid,
                status=run.status.lower(),
                conclusion=run.conclusion.lower() if run.conclusion else None,
                external_id=run.external_id or "",
                title=run.title,
                summary=run.summary,
            )
            for suite in own
            for run in suite.runs.nodes
            if run.name == RELEASE_CHECK_NAME
        ]


class _PullCommit(Message):
    commit: GuardedCommit


class _PullCommits(Message):
    nodes: tuple[_PullCommit, ...] = ()


class PullSeen(Message):
    id: str
    number: int
    state: Literal["OPEN", "CLOSED", "MERGED"]
    is_draft: bool = Field(alias="isDraft")
    title: str
    body: str
    url: str = ""
    head: str = Field(alias="headRefName")
    head_sha: Sha = Field(alias="headRefOid")
    base: str = Field(alias="baseRefName")
    merged_at: AwareDatetime | None = Field(default=None, alias="mergedAt")
    queued: bool = Field(default=False, alias="isInMergeQueue")
    home: Home | None = Field(default=None, alias="headRepository")
    author: _Actor | None = None
    merged_by: _Actor | None = Field(default=None, alias="mergedBy")
    merge: Oid | None = Field(default=None, alias="mergeCommit")
    auto_merge: dict[str, Any] | None = Field(default=None, alias="autoMergeRequest")
    entry: _Entry | None = Field(default=None, alias="mergeQueueEntry")
    comments: CommentPage
    events: _Events = _Events()
    commits: _PullCommits = _PullCommits()

    def guarded(self) -> GuardedCommit | None:
        """The guard's runs on its head; None where the commit that GitHub shows is an older one."""
        found = (node.commit for node in self.commits.nodes if node.commit.oid == self.head_sha)
        return next(found, None)

    def pull(self, app: str) -> ReleasePull:
        closings = [event for event in self.events.nodes if event.typename == "ClosedEvent"]
        changes = [event for event in self.events.nodes if event.typename != "ReopenedEvent"]
        ours = [event for event in self.events.nodes if event.actor is not None and event.actor.is_app(app)]
        disturbed = [event.at for event in changes if event not in ours]
        closer = closings[-1].actor if closings and self.state == "CLOSED" else None
        own = self.comments.ours()
        return ReleasePull(
            number=self.number,
            node_id=self.id,
            state=self.state,
            is_draft=self.is_draft,
            title=self.title,
            body=self.body,
            head=self.head,
            head_sha=self.head_sha,
            base=self.base,
            author=self.author.account(app) if self.author else None,
            auto_merge=self.auto_merge is not None,
            queued=self.queued,
            queue_entry=self.entry.id if self.entry else None,
            merge_sha=self.merge.oid if self.merge else None,
            merged_at=self.merged_at,
            merged_by=self.merged_by.account(app) if self.merged_by else None,
            closed_by=closer.account(app) if closer else None,
            disturbed_at=max(disturbed, default=None),
            repairs=sum(event.typename != "ClosedEvent" for event in ours),
            comments=tuple(OwnComment(one.id, one.body, one.created_at, one.edited_by_other) for one in own),
            many_comments=self.comments.page.has_next,
            url=self.url,
        )


class PullsSeen(Message):
    nodes: tuple[PullSeen | None, ...] = ()


class _Named(Message):
    name: str


class _Viewer(Message):
    login: str


class ReleaseSeen(WithMerged):
    viewer: _Viewer
    nodes: tuple[PullSeen | None, ...] = ()
    default: _Named | None = Field(default=None, alias="defaultBranchRef")
    trunk: dict[str, Any] | None = None
    into: TipNode | None = None

    @property
    def pulls(self) -> list[PullSeen]:
        return [node for node in self.nodes if node is not None]

    def trunk_tip(self) -> Tip | None:
        return read(TipNode, self.trunk, _CALL).tip() if self.trunk is not None else None

    @property
    def target(self) -> GuardedCommit | None:
        target = self.trunk.get("target") if self.trunk is not None else None
        return read(GuardedCommit, target, _CALL) if target else None
