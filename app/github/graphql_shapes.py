"""The fields we ask of GraphQL, and how they become the domain's words."""

from typing import Literal

from pydantic import AwareDatetime, Field

from app.domain.model import Message, Sha
from app.domain.observation import CheckRun, Comment, Issue, Pull
from app.github.pull_acts import ReviewRequests, Timeline, acts
from app.github.surroundings import SurroundingsOfIssue

COMMENT_FRAGMENT = """
fragment comment on IssueComment {
  fullDatabaseId body createdAt url viewerDidAuthor lastEditedAt author { login } editor { login }
}
"""
"""`fullDatabaseId`, because comment ids have outgrown GraphQL's 32-bit Int."""


class Actor(Message):
    login: str


class PageInfo(Message):
    has_next: bool = Field(default=False, alias="hasNextPage")
    cursor: str | None = Field(default=None, alias="endCursor")


class CommentNode(Message):
    id: int = Field(alias="fullDatabaseId")
    body: str
    created_at: AwareDatetime = Field(alias="createdAt")
    url: str = ""
    ours: bool = Field(alias="viewerDidAuthor")
    edited_at: AwareDatetime | None = Field(default=None, alias="lastEditedAt")
    author: Actor | None = None
    editor: Actor | None = None

    def comment(self) -> Comment:
        """A comment of ours. GitHub keeps us as its author also after somebody else rewrote it; `editor` tells."""
        by_us = self.author is not None and self.editor is not None and self.author.login == self.editor.login
        return Comment(
            id=self.id,
            body=self.body,
            created_at=self.created_at,
            edited_by_other=self.edited_at is not None and not by_us,
            url=self.url,
        )


class CommentPage(Message):
    nodes: tuple[CommentNode, ...] = ()
    page: PageInfo = Field(default=PageInfo(), alias="pageInfo")

    def ours(self) -> tuple[Comment, ...]:
        """Our App's, oldest first."""
        found = [node.comment() for node in self.nodes if node.ours]
        return tuple(sorted(found, key=lambda comment: (comment.created_at, comment.id)))


class CommentedSubject(Message):
    """An Issue or pull request, as far as its comments go."""

    comments: CommentPage


class _Login(Message):
    login: str


class _Logins(Message):
    nodes: tuple[_Login, ...] = ()

    def names(self) -> tuple[str, ...]:
        return tuple(node.login for node in self.nodes)


class _Label(Message):
    name: str


class _Labels(Message):
    nodes: tuple[_Label, ...] = ()

    def names(self) -> tuple[str, ...]:
        return tuple(node.name for node in self.nodes)


class IssueNode(SurroundingsOfIssue):
    number: int
    title: str
    body: str
    state: str
    state_reason: str | None = Field(default=None, alias="stateReason")
    url: str = ""
    author: Actor | None = None
    assignees: _Logins = _Logins()
    labels: _Labels | None = None
    comments: CommentPage = CommentPage()

    def issue(self) -> Issue:
        return Issue(
            number=self.number,
            title=self.title,
            body=self.body,
            state=self.state,
            author=self.author.login if self.author else None,
            assignees=self.assignees.names(),
            labels=self.labels.names() if self.labels else (),
            url=self.url,
            state_reason=self.state_reason,
        )


class _RepositoryName(Message):
    name_with_owner: str = Field(alias="nameWithOwner")


COMMENTS_READ = 100


class PullNode(Message):
    number: int
    id: str
    state: str
    is_draft: bool = Field(alias="isDraft")
    title: str
    body: str
    head: str = Field(alias="headRefName")
    head_sha: Sha = Field(alias="headRefOid")
    base: str = Field(alias="baseRefName")
    mergeable: Literal["MERGEABLE", "CONFLICTING", "UNKNOWN"] | None = None
    head_repository: _RepositoryName | None = Field(default=None, alias="headRepository")
    url: str = ""
    assignees: _Logins = _Logins()
    labels: _Labels | None = None
    comments: CommentPage = CommentPage()
    author: Actor | None = None
    requests: ReviewRequests | None = Field(default=None, alias="reviewRequests")
    clicks: Timeline = Timeline()
    rebased: Timeline = Timeline()
    removed: Timeline = Timeline()
    closings: Timeline = Timeline()

    def pull(self, app: str | None = None) -> Pull:
        """The pull request. `app`: the App's own login, by which its acts are told from other people's."""
        return Pull(
            number=self.number,
            node_id=self.id,
            state=self.state,
            is_draft=self.is_draft,
            title=self.title,
            body=self.body,
            head=self.head,
            head_sha=self.head_sha,
            base=self.base,
            head_repository=self.head_repository.name_with_owner if self.head_repository else None,
            url=self.url,
            labels=self.labels.names() if self.labels else (),
            assignees=self.assignees.names(),
            comments=self.comments.ours(),
            many_comments=len(self.comments.nodes) >= COMMENTS_READ,
            mergeable=self.mergeable,
            author=self.author.login if self.author else None,
            reviewers=self.requests.names() if self.requests else (),
            acts=acts(app, self.clicks, self.rebased, self.removed, self.closings),
        )


class PullNodes(Message):
    nodes: tuple[PullNode, ...] = ()


class _RunNode(Message):
    id: int = Field(alias="databaseId")
    name: str
    status: str
    conclusion: str | None = None
    external_id: str | None = Field(default=None, alias="externalId")
    started_at: str | None = Field(default=None, alias="startedAt")
    completed_at: str | None = Field(default=None, alias="completedAt")
    title: str | None = None
    summary: str | None = None
    text: str | None = None


class _RunNodes(Message):
    nodes: tuple[_RunNode, ...] = ()


class _App(Message):
    id: int = Field(alias="databaseId")


class _SuiteNode(Message):
    app: _App | None = None
    runs: _RunNodes = Field(default=_RunNodes(), alias="checkRuns")


class _SuiteNodes(Message):
    nodes: tuple[_SuiteNode | None, ...] = ()


class TargetNode(Message):
    """What a branch points to, with the check-runs on it where they were asked for."""

    oid: Sha
    suites: _SuiteNodes | None = Field(default=None, alias="checkSuites")

    def check_runs(self, app_id: int, name: str) -> tuple[CheckRun, ...]:
        """The runs of one App under one name, oldest first; status and conclusion in lower case, as in REST."""
        suites = self.suites.nodes if self.suites else ()
        own = [suite for suite in suites if suite is not None and suite.app is not None and suite.app.id == app_id]
        ours = [run for suite in own for run in suite.runs.nodes]
        return tuple(
            CheckRun(
                id=run.id,
                sha=self.oid,
                status=run.status.lower(),
                conclusion=run.conclusion.lower() if run.conclusion else None,
                external_id=run.external_id or "",
                title=run.title,
                summary=run.summary,
                text=run.text,
                started_at=run.started_at,
                completed_at=run.completed_at,
            )
            for run in sorted(ours, key=lambda run: run.id)
            if run.name == name
        )


class RefNode(Message):
    name: str
    target: TargetNode | None = None


class RefNodes(Message):
    nodes: tuple[RefNode, ...] = ()
