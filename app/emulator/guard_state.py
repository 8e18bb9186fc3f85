"""What guards branches: rulesets, classic protection, reviews and their threads, auto-merge, the merge queue."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from app.emulator.ids import node_id

if TYPE_CHECKING:
    from app.emulator.state import Account, App, PullRequest, Reaction, Repository

Json = dict[str, Any]


@dataclass(eq=False)
class Ruleset:
    """A repository ruleset; rules, conditions and bypass actors are kept as they were accepted."""

    id: int
    repo: Repository
    name: str
    target: Literal["branch", "tag"]
    enforcement: Literal["active", "disabled", "evaluate"]
    rules: list[Json]
    conditions: Json
    bypass_actors: list[Json]
    created_at: str
    updated_at: str

    @property
    def node_id(self) -> str:
        return node_id("RRS", self.repo.id, self.id)


@dataclass(eq=False)
class RequiredCheck:
    """A check a branch requires; ``app_id`` None lets any source set it."""

    context: str
    app_id: int | None = None


@dataclass
class People:
    """Accounts and Apps that a setting names: logins and slugs. Teams are not modelled."""

    users: list[str] = field(default_factory=list)
    apps: list[str] = field(default_factory=list)


@dataclass(eq=False)
class Protection:
    """Classic protection of one branch. ``checks`` or ``reviews`` None: that part is off."""

    branch: str
    checks: list[RequiredCheck] | None = None
    strict: bool = False
    enforce_admins: bool = False
    reviews: ReviewRule | None = None
    review_bypass: People = field(default_factory=People)
    review_dismissal: People | None = None
    restrictions: People | None = None
    conversation_resolution: bool = False
    linear_history: bool = False
    signatures: bool = False
    allow_force_pushes: bool = False
    allow_deletions: bool = False
    block_creations: bool = False
    lock_branch: bool = False
    allow_fork_syncing: bool = False


@dataclass
class ReviewRule:
    """Required reviews, as classic protection and the ``pull_request`` rule both have them."""

    count: int = 0
    dismiss_stale: bool = False
    code_owners: bool = False
    last_push_approval: bool = False
    conversation_resolution: bool = False


@dataclass(eq=False)
class Review:
    """A review of a pull request; it stays pending until submitted."""

    id: int
    pull: PullRequest
    author: Account
    app: App | None
    state: Literal["PENDING", "APPROVED", "CHANGES_REQUESTED", "COMMENTED", "DISMISSED"]
    body: str
    commit_id: str
    created_at: str
    submitted_at: str | None = None
    dismissal_message: str | None = None
    reactions: list[Reaction] = field(default_factory=list)

    @property
    def node_id(self) -> str:
        return node_id("PRR", self.pull.repo.id, self.pull.number, self.id)


@dataclass(eq=False)
class ReviewComment:
    """A comment on a line; the first of a thread opens it."""

    id: int
    thread: ReviewThread
    review: Review
    author: Account
    app: App | None
    body: str
    commit_id: str
    diff_hunk: str
    created_at: str
    updated_at: str

    @property
    def node_id(self) -> str:
        return node_id("PRRC", self.review.pull.repo.id, self.review.pull.number, self.id)


@dataclass(eq=False)
class ReviewThread:
    """A conversation on a line of a file."""

    id: int
    pull: PullRequest
    path: str
    line: int | None
    side: str
    comments: list[ReviewComment] = field(default_factory=list)
    resolved_by: Account | None = None

    @property
    def node_id(self) -> str:
        return node_id("PRRT", self.pull.repo.id, self.pull.number, self.id)


@dataclass(eq=False)
class AutoMerge:
    """A standing order to merge as soon as nothing is in the way."""

    enabled_by: Account
    app: App | None
    enabled_at: str
    base_ref: str
    method: Literal["merge", "squash", "rebase"]
    title: str | None = None
    message: str | None = None


@dataclass(eq=False)
class QueueEntry:
    """A pull request in the merge queue. Its head commit carries it and all before it onto the base; ``since`` and
    ``checks_since`` are seconds of the emulated clock."""

    id: int
    pull: PullRequest
    enqueued_by: Account
    enqueued_at: str
    since: float
    base_branch: str
    expected_head: str
    state: Literal["QUEUED", "AWAITING_CHECKS", "MERGEABLE", "UNMERGEABLE", "LOCKED"] = "QUEUED"
    base_sha: str | None = None
    head_sha: str | None = None
    head_ref: str | None = None
    checks_since: float | None = None
    jump: bool = False

    @property
    def node_id(self) -> str:
        return node_id("MQE", self.pull.repo.id, self.id)


@dataclass(eq=False)
class Activity:
    """One move of a branch. ``kind`` is GitHub's ``activity_type``."""

    id: int
    ref: str
    before: str
    after: str
    kind: str
    actor: Account
    at: str


@dataclass(eq=False)
class Guard:
    """Everything that guards the branches of one repository; ``pushers`` tells who put a commit on a branch,
    ``armed`` which pull requests merge by themselves."""

    rulesets: dict[int, Ruleset] = field(default_factory=dict)
    protections: dict[str, Protection] = field(default_factory=dict)
    queues: dict[str, list[QueueEntry]] = field(default_factory=dict)
    pushers: dict[tuple[str, str], Account] = field(default_factory=dict)
    armed: set[int] = field(default_factory=set)
    activities: list[Activity] = field(default_factory=list)

    @property
    def waits(self) -> bool:
        """Is anything to happen as soon as conditions are met: an auto-merge, an entry of a queue?"""
        return bool(self.armed or self.queues)


def find_review_thing(pull: PullRequest, value: str) -> Review | ReviewThread | ReviewComment | None:
    """The review, conversation or comment on a line that a node id names."""
    things: list[Review | ReviewThread | ReviewComment] = [*pull.reviews, *pull.threads]
    things += [c for t in pull.threads for c in t.comments]
    return next((thing for thing in things if thing.node_id == value), None)
