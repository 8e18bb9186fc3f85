"""The things the emulated GitHub holds, apart from git objects and refs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from app.emulator.guard_state import AutoMerge, Guard, QueueEntry, Review, ReviewThread
from app.emulator.ids import node_id
from app.emulator.merge_state import TrialMerge
from app.emulator.repo_settings import RepoSettings
from app.emulator.repos import GitRepo
from app.emulator.shipping_state import Deployment, Release
from app.emulator.stack_state import Stack

Permissions = dict[str, str]
ROLES = ("none", "read", "triage", "write", "maintain", "admin")


@dataclass(eq=False)
class Account:
    """A person, an organization, or the bot that an App acts as."""

    id: int
    login: str
    type: Literal["User", "Organization", "Bot"]
    created_at: str
    name: str | None = None
    gone: bool = False
    """The account was deleted; what it wrote stays."""
    enterprise: bool = False
    """An organization on the plan of enterprises."""
    custom_roles: dict[str, str] = field(default_factory=dict)
    """An organization's own repository roles, each with the built-in one it is based on."""

    @property
    def node_id(self) -> str:
        return node_id({"User": "U", "Organization": "O", "Bot": "BOT"}[self.type], self.id)

    @property
    def email(self) -> str:
        return f"{self.id}+{self.login}@users.noreply.github.com"


@dataclass(eq=False)
class App:
    """A GitHub App; ``bot`` is the account its acts are shown under."""

    id: int
    slug: str
    name: str
    owner: Account
    bot: Account
    client_id: str
    private_pem: str
    public_pem: str
    permissions: Permissions
    events: list[str]
    webhook_url: str | None
    webhook_secret: str | None
    hook_id: int
    created_at: str
    hook_content_type: str = "json"
    hook_insecure_ssl: str = "0"

    @property
    def node_id(self) -> str:
        return node_id("A", self.id)


@dataclass(eq=False)
class Installation:
    """An App on an account; ``repositories`` is None when all are selected."""

    id: int
    app: App
    account: Account
    repositories: set[int] | None
    permissions: Permissions
    events: list[str]
    created_at: str
    suspended_at: str | None = None

    def covers(self, repo: Repository) -> bool:
        """Is the repository among those of the installation?"""
        if repo.owner is not self.account:
            return False
        return self.repositories is None or repo.id in self.repositories


@dataclass(eq=False)
class Token:
    """A token of an installation or of a person; which of the four kinds it is follows from what it is bound to."""

    value: str
    user: Account | None = None
    installation: Installation | None = None
    repository_ids: set[int] | None = None
    permissions: Permissions = field(default_factory=dict)
    expires_at: float | None = None
    revoked: bool = False
    # A classic token's scopes; None stands for all of them.
    scopes: tuple[str, ...] | None = None
    # Whose things a fine-grained token reaches.
    resource_owner: Account | None = None
    # The App that acts for a person, within what its installations may.
    on_behalf_by: App | None = None

    @property
    def kind(self) -> Literal["installation", "user_to_server", "fine_grained", "classic"]:
        if self.installation is not None:
            return "installation"
        if self.on_behalf_by is not None:
            return "user_to_server"
        return "fine_grained" if self.resource_owner is not None else "classic"


@dataclass(eq=False)
class Label:
    """A label of one repository."""

    id: int
    name: str
    color: str = "ededed"
    description: str | None = None
    default: bool = False

    @property
    def node_id(self) -> str:
        return node_id("LA", self.id)


@dataclass(eq=False)
class Milestone:
    """A milestone of one repository."""

    id: int
    number: int
    title: str
    creator: Account
    created_at: str
    updated_at: str
    description: str | None = None
    state: Literal["open", "closed"] = "open"
    due_on: str | None = None
    closed_at: str | None = None

    @property
    def node_id(self) -> str:
        return node_id("MI", self.id)


@dataclass(eq=False)
class ContentEdit:
    """One revision of a text: who wrote it, when, and how the text read then; None once it was redacted."""

    id: int
    editor: Account
    edited_at: str
    text: str | None

    @property
    def node_id(self) -> str:
        return node_id("UCE", self.id)


@dataclass(eq=False)
class LinkedBranch:
    """A branch made for an Issue."""

    id: int
    repo: Repository
    branch: str

    @property
    def node_id(self) -> str:
        return node_id("LB", self.id)


@dataclass(eq=False)
class Repository:
    """A repository; its refs and objects live in ``git``."""

    id: int
    owner: Account
    name: str
    private: bool
    default_branch: str
    git: GitRepo
    created_at: str
    pushed_at: str
    description: str | None = None
    archived: bool = False
    plan_allows_drafts: bool = True
    collaborators: dict[str, str] = field(default_factory=dict)
    labels: dict[str, Label] = field(default_factory=dict)
    milestones: dict[int, Milestone] = field(default_factory=dict)
    issues: dict[int, Issue] = field(default_factory=dict)
    gone_issues: dict[int, Issue | None] = field(default_factory=dict)
    suites: list[CheckSuite] = field(default_factory=list)
    statuses: list[CommitStatus] = field(default_factory=list)
    releases: list[Release] = field(default_factory=list)
    deployments: list[Deployment] = field(default_factory=list)
    next_number: int = 1
    settings: RepoSettings = field(default_factory=RepoSettings)
    parent: Repository | None = None
    guard: Guard = field(default_factory=Guard)
    stacks: dict[int, Stack] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        return f"{self.owner.login}/{self.name}"

    @property
    def node_id(self) -> str:
        return node_id("R", self.id)

    def role_of(self, account: Account | None) -> str:
        """The role of an account here, one of :data:`ROLES`; of a custom role the one it is based on."""
        if account is None:
            return "none" if self.private else "read"
        if account is self.owner:
            return "admin"
        role = self.collaborators.get(account.login.lower())
        if role is not None:
            return self.base_role(role)
        return "none" if self.private else "read"

    def base_role(self, given: str) -> str:
        """The built-in role behind a given one; a custom role that its organization took away lets read alone."""
        return given if given in ROLES else self.owner.custom_roles.get(given, "read")

    def role_name(self, account: Account) -> str:
        """The role as it is called, custom ones by their own name."""
        return self.collaborators.get(account.login.lower()) or self.role_of(account)

    @property
    def source(self) -> Repository:
        """The repository its whole network of forks comes from; itself if it is no fork."""
        return self if self.parent is None else self.parent.source

    def pulls(self) -> list[PullRequest]:
        """All pull requests, oldest first."""
        return [i for i in self.issues.values() if isinstance(i, PullRequest)]

    def plain_issues(self) -> list[Issue]:
        """All Issues that are not pull requests, oldest first."""
        return [i for i in self.issues.values() if not isinstance(i, PullRequest)]


@dataclass(eq=False)
class TimelineEvent:
    """One entry of an Issue's timeline; ``data`` holds what only this kind of event has."""

    id: int
    event: str
    actor: Account | None
    created_at: str
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Comment:
    """A comment on an Issue or pull request."""

    id: int
    issue: Issue
    author: Account
    app: App | None
    body: str
    created_at: str
    updated_at: str
    edited_at: str | None = None
    editor: Account | None = None
    edits: list[ContentEdit] = field(default_factory=list)
    minimized: str | None = None
    reactions: list[Reaction] = field(default_factory=list)

    @property
    def node_id(self) -> str:
        return node_id("IC", self.issue.repo.id, self.issue.number, self.id)


@dataclass(eq=False)
class Reaction:
    """A reaction on a comment."""

    id: int
    user: Account
    content: str
    created_at: str


@dataclass(eq=False)
class Issue:
    """An Issue, and the part of a pull request that is one."""

    id: int
    number: int
    repo: Repository
    title: str
    body: str | None
    author: Account
    app: App | None
    created_at: str
    updated_at: str
    state: Literal["open", "closed"] = "open"
    state_reason: str | None = None
    labels: list[Label] = field(default_factory=list)
    assignees: list[Account] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    timeline: list[TimelineEvent] = field(default_factory=list)
    closed_at: str | None = None
    closed_by: Account | None = None
    edited_at: str | None = None
    editor: Account | None = None
    edits: list[ContentEdit] = field(default_factory=list)
    locked: bool = False
    lock_reason: str | None = None
    milestone: Milestone | None = None
    parent: Issue | None = None
    sub_issues: list[Issue] = field(default_factory=list)
    blocked_by: list[Issue] = field(default_factory=list)
    blocking: list[Issue] = field(default_factory=list)
    linked_branches: list[LinkedBranch] = field(default_factory=list)
    reactions: list[Reaction] = field(default_factory=list)

    @property
    def is_pull(self) -> bool:
        return isinstance(self, PullRequest)

    @property
    def node_id(self) -> str:
        return node_id("I", self.repo.id, self.number)


@dataclass(eq=False, kw_only=True)
class PullRequest(Issue):
    """A pull request. ``head_sha`` stays as it was while the pull request is closed; ``head_repo`` is None once the
    fork it came from is gone."""

    pull_id: int
    head_repo: Repository | None
    head_owner: Account
    head_ref: str
    head_sha: str
    base_ref: str
    base_sha: str
    draft: bool = False
    merged: bool = False
    merged_at: str | None = None
    merged_by: Account | None = None
    merge_commit_sha: str | None = None
    reopen_refusal: str | None = None
    requested_reviewers: list[Account] = field(default_factory=list)
    trial: TrialMerge | None = None
    maintainer_can_modify: bool = False
    reviews: list[Review] = field(default_factory=list)
    threads: list[ReviewThread] = field(default_factory=list)
    auto_merge: AutoMerge | None = None
    queue_entry: QueueEntry | None = None
    stack: Stack | None = None

    @property
    def node_id(self) -> str:
        return node_id("PR", self.repo.id, self.number)


@dataclass(eq=False)
class CheckSuite:
    """All check-runs of one App on one commit."""

    id: int
    repo: Repository
    app: App
    head_sha: str
    head_branch: str | None
    created_at: str
    updated_at: str
    runs: list[CheckRun] = field(default_factory=list)
    # Asked for again, and no run has answered yet.
    requeued: bool = False

    @property
    def node_id(self) -> str:
        return node_id("CS", self.repo.id, self.id)

    @property
    def status(self) -> str:
        if not self.runs or self.requeued:
            return "queued"
        return "completed" if all(r.status == "completed" for r in self.runs) else "in_progress"

    @property
    def conclusion(self) -> str | None:
        if self.status != "completed":
            return None
        found = {r.conclusion for r in self.runs}
        for worst in ("failure", "timed_out", "cancelled", "action_required", "stale", "success", "neutral"):
            if worst in found:
                return worst
        return "skipped"


@dataclass(eq=False)
class CheckRun:
    """One check-run; times are stamps as GitHub writes them."""

    id: int
    suite: CheckSuite
    name: str
    status: str
    started_at: str
    conclusion: str | None = None
    completed_at: str | None = None
    external_id: str = ""
    details_url: str | None = None
    title: str | None = None
    summary: str | None = None
    text: str | None = None
    annotations: list[dict[str, Any]] = field(default_factory=list)
    actions: list[dict[str, Any]] = field(default_factory=list)

    @property
    def node_id(self) -> str:
        return node_id("CR", self.suite.repo.id, self.id)


@dataclass(eq=False)
class CommitStatus:
    """A commit status, the older sibling of check-runs."""

    id: int
    repo: Repository
    sha: str
    state: str
    context: str
    creator: Account
    created_at: str
    description: str | None = None
    target_url: str | None = None
    app: App | None = None

    @property
    def node_id(self) -> str:
        return node_id("SC", self.repo.id, self.id)


@dataclass(eq=False)
class Actor:
    """Who does something: the account it is shown under, and the App behind it if there is one."""

    account: Account
    app: App | None = None
