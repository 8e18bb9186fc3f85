"""The record: the JSON of one ledger commit, the authority about a ticket's execution."""

from typing import Any, Literal

from pydantic import ConfigDict, Field

from app.domain.checkpoint import Checkpoint
from app.domain.child_contract import ResultContract, SpawnContract
from app.domain.dispatched import Dispatched, Run, Stopped
from app.domain.effect import Effect
from app.domain.model import Instant, Sha, Stored
from app.domain.ticket_id import Child, ChildName, TicketId

SCHEMA = 1
MAX_BYTES = 48 * 1024
AGENT_MAX_BYTES = 44 * 1024
"""Where an agent stops when it writes a record itself: what the service adds next needs room."""
KEPT_REQUESTS = 16

Status = Literal[
    "unclaimed",
    "recovering",
    "working",
    "waiting",
    "ready",
    "held",
    "exhausted",
    "completed",
    "failed",
    "landed",
    "cancelled",
    "abandoned",
]
TERMINAL: frozenset[str] = frozenset({"landed", "cancelled", "abandoned"})
FINISHED: frozenset[str] = frozenset({"completed", "failed"})
"""A child that gave its result. Its ledger stays where it is, in progress, until its parent's ends."""
AGENT_STATUSES: frozenset[str] = frozenset({"working", "waiting", "ready"})

PermitKind = Literal[
    "pr_create",
    "comment_create",
    "check_run_create",
    "merge",
    "enqueue",
    "branch_update",
    "base_edit",
    "issue_close",
    "dispatch",
    "report_create",
]


class Lease(Stored):
    """Who is entitled to work on the ticket now. (generation, nonce) is the fencing identity, compared for
    equality only. `login` is the GitHub account that claimed; `holder` the label the agent gave itself.
    `renewed_at` is the sign of life that `expires_at` was last stamped for, None since the grant; `renewals_seen` the
    record's `renewals` counter at the moment `expires_at` was last stamped.
    """

    generation: int
    nonce: str
    holder: str
    login: str
    claim_id_hash: str
    granted_at: Instant
    expires_at: Instant
    renewed_at: Instant | None = None
    run: Run | None = None
    renewals_seen: int = 0


ACCEPTED = "accepted-by-a-person"
"""Stands in the place of a nonce where a person's word made a head count and nobody held the ticket."""


class Published(Stored):
    """The head of the ticket branch as the holder pushed it. Counts only under the head's own fencing identity."""

    sha: Sha
    generation: int
    nonce: str


class Answered(Stored):
    """A request that was carried out, with its answer, so that a retry after a lost response gets the same."""

    key: str
    seq: int
    generation: int
    answer: dict[str, Any]
    to: str = ""
    """What was asked: evidence, checkpoint, handoff or push. A key answers that and nothing else."""


class Attempts(Stored):
    """`count`: claims since the last proof of progress. `alive_at`: last proof of life under a lease that made
    progress or was begun by a person; failed attempts do not renew it. `interrupted_at`: set while the last
    lease ended otherwise than by handoff, landing or cancel. `steps_before`: short digests of the steps that were
    completed when the present lease began, so that progress under it can be told.
    """

    count: int = 0
    steps_before: tuple[str, ...] = ()
    alive_at: Instant | None = None
    interrupted_at: Instant | None = None


class Intent(Stored):
    by: str
    at: Instant


class Round(Stored):
    """The latest round of guarded writes. `author` is a boot id, new at every process start."""

    id: str
    author: str
    tries: int
    ttl_s: int
    opened_at: Instant


class Target(Stored):
    """What a permit is for; the probe searches GitHub for exactly this."""

    head_sha: Sha | None = None
    head: str | None = None
    base: str | None = None
    marker: str | None = None
    generation: int | None = None
    number: int | None = None
    """The PR's or Issue's."""
    method: Literal["merge", "squash", "rebase"] | None = None
    base_from: str | None = None
    """The base that a base edit leads away from; `base` is where it leads to."""


class Permit(Stored):
    id: str
    kind: PermitKind
    target: Target
    author: str
    round: str
    unanswered: bool = False
    state: Literal["fired", "unknown", "blocked", "accepted"] = "fired"
    """`accepted`: GitHub took it on and will carry it out later, such as a place in a merge queue."""
    reason: str | None = None
    """GitHub's words where it refused (`blocked`); shown, and tried again rarely."""
    refused_at: Instant | None = None
    refusals: int = 0


class CheckRunRef(Stored):
    id: int
    sha: Sha
    generation: int


class Drafting(Stored):
    """What is known of the PR's draft state beyond the state itself. `clicked`: the newest click of somebody else that
    was taken note of. `by`: who clicked, where their word stands against what the record asks for; `ready`: what the
    record asked for then, for their word stands until it asks for the other state. `refused` and `refused_at`: what
    GitHub would not do, and when; `unsupported`: because the repository's plan has no drafts. `label`: the label that
    says it instead, where the App put one.
    """

    clicked: str | None = None
    by: str | None = None
    ready: bool = False
    refused: Literal["draft", "ready"] | None = None
    refused_at: Instant | None = None
    unsupported: bool = False
    label: str | None = None


class Carried(Stored):
    """What the App put onto the ticket's PR, so that what a person takes away again stays away. `base_act`: the newest
    edit of the base by somebody else that was taken note of; `base_by`: who made it, where their word stands against
    the recorded trunk, which was `base_trunk` then. `owners_asked`: the owners of the changed files were asked for
    their review, or there was nobody to ask. `refused`: GitHub's words where it would not take one of these; it counts
    as put there all the same, so that it is not tried for ever.
    """

    linked: bool = False
    assigned: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    owners_asked: bool = False
    base_act: str | None = None
    base_by: str | None = None
    base_trunk: str | None = None
    refused: str | None = None


class Board(Stored):
    """What is known of the ticket's line in the organization's Project. `release`: the target release as it was last
    acted on; None until it was seen. `status`: the option the App wanted last, and brought there or found there;
    `before`: what stood there then. `moved`: what a person set instead, which stands until the ticket's status changes.
    `refused`: GitHub's words where it would not take the status.
    """

    release: str | None = None
    status: str | None = None
    before: str | None = None
    moved: str | None = None
    refused: str | None = None


class Projections(Stored):
    """Where the readable images of this record stand on GitHub: results of permits."""

    pr_number: int | None = None
    comment_id: int | None = None
    check_run: CheckRunRef | None = None
    reopen_pr: int | None = None
    """A PR that closed because its branch was tampered with: to be reopened now that the branch is back."""
    closed_pr: int | None = None
    """A PR that a person closed while its branch stood: what happens to the branch afterwards is that person's."""
    replaced_pr: int | None = None
    """The PR that `pr_number` replaces, because GitHub refused to reopen it."""
    drafting: Drafting = Drafting()
    carried: Carried = Carried()
    board: Board = Board()


class Work(Stored):
    """Where the ticket's work goes. Only the service writes it: what an agent says of these in its checkpoint is shown
    to readers and decides nothing.
    """

    branch: str
    trunk: str
    base_sha: Sha


class Rebuilt(Stored):
    """A person had the ledger begun anew, because what stood in its place could not be trusted any more. Whatever was
    witnessed below `sequence` is another history.
    """

    by: str
    at: Instant
    sequence: int


class Ended(Stored):
    """How the ticket came to its end: its PR was merged, a person closed its Issue or its PR, the Issue went away
    (deleted or transferred), a person's command, or it was abandoned. `nonce`: of its last lease.
    """

    because: Literal["merged", "issue_closed", "issue_gone", "command", "pull_closed", "too_old", "unresumable"]
    at: Instant
    nonce: str | None = None
    by: str | None = None
    """The person whose command it was, and what that person said."""
    reason: str | None = None
    recalled: Intent | None = None
    """The person at whose word the next claim brings the ticket back."""


class Pruned(Stored):
    """The ledger of an ended ticket was cut to one commit without parents, at `sequence`. What was witnessed below it
    cannot be looked up any more.
    """

    at: Instant
    sequence: int


class Held(Stored):
    """A person put the ticket on hold. `before`: the status that comes back when it is taken off hold."""

    by: str
    at: Instant
    before: Status
    reason: str | None = None


class AskedToLand(Stored):
    """A person asked for the landing of exactly this head."""

    by: str
    at: Instant
    head_sha: Sha


class Merged(Stored):
    """The ticket's PR was merged into `base`; `merge_sha` is the commit that GitHub made of it there."""

    pr: int
    head_sha: Sha
    base: str
    merge_sha: Sha
    at: Instant


class Landing(Stored):
    """How far the ticket's way onto its trunk is. `issue_closed`: the App closed the Issue, or found it closed after
    the merge; it does so once in a ticket's life, so that a person's reopening stands. `incident`: what about a merge
    was not as its permit said; the ticket is held until a person looked.
    """

    asked: AskedToLand | None = None
    merged: Merged | None = None
    issue_closed: bool = False
    incident: str | None = None
    branch_kept: str | None = None
    """Why GitHub did not let the branch go, in its own words: shown, and not tried again."""
    branch_removed: bool = False
    """The App removed the branch after the merge. It does so once: whoever brings it back then wants it."""


class Fence(Stored):
    """An empty commit `sha` of ours on the branch, above the published commit `on`, so that a merge of `on` that was
    sent already can no longer happen (the ownership protocol, R12).
    """

    sha: Sha
    on: Sha
    because: str
    base: str | None = None
    """Where that merge was to go."""


class Record(Stored):
    """One ledger commit's content. Frozen; a change is a new record with `sequence` + 1."""

    model_config = ConfigDict(frozen=True, extra="allow", populate_by_name=True)

    schema_: int = Field(default=SCHEMA, alias="schema")
    ticket: int
    """The Issue's number: a child's is its parent's."""
    child: ChildName | None = None
    """The child's name, in a child's ledger."""
    sequence: int
    status: Status
    lease: Lease | None = None
    generation: int = 0
    renewals: int = 0
    requests: tuple[Answered, ...] = ()
    work: Work | None = None
    published: Published | None = None
    saved_at: Instant | None = None
    """When the last checkpoint came that left nothing committed behind, by the service's clock."""
    checkpoint: Checkpoint = Checkpoint()
    children: tuple[dict[str, Any], ...] = ()
    """A ticket's children, in the order in which they are integrated; read them with `domain.children.listed`."""
    spawn: SpawnContract | None = None
    result: ResultContract | None = None
    effects: tuple[Effect, ...] = ()
    effect_keys: dict[str, str] = Field(default_factory=dict)
    """Effects that shrank: digest of the key → outcome, with the exit code where there was one. Never forgotten."""
    validations: tuple[dict[str, Any], ...] = ()
    attempts: Attempts = Attempts()
    intent: Intent | None = None
    dispatched: Dispatched | None = None
    stopped: Stopped | None = None
    rebuilt: Rebuilt | None = None
    ended: Ended | None = None
    pruned: Pruned | None = None
    approvals: tuple[dict[str, Any], ...] = ()
    round: Round | None = None
    open: tuple[Permit, ...] = ()
    commands: tuple[dict[str, Any], ...] = ()
    burned_shas: tuple[Sha, ...] = ()
    landing: Landing = Landing()
    fence: Fence | None = None
    held: Held | None = None
    projections: Projections = Projections()

    @property
    def ticket_id(self) -> TicketId:
        """Whose ledger this is."""
        return self.ticket if self.child is None else Child(self.ticket, self.child)

    @property
    def identity(self) -> tuple[int, str] | None:
        """The fencing identity now, or None where nobody holds the ticket."""
        return (self.lease.generation, self.lease.nonce) if self.lease else None

    @property
    def published_now(self) -> Published | None:
        """`published`, if it was written under the present fencing identity; where nobody holds the ticket, if a person
        accepted it since the last one did.
        """
        p, now = self.published, self.identity or (self.generation, ACCEPTED)
        return p if p is not None and (p.generation, p.nonce) == now else None

    @property
    def branch(self) -> str | None:
        return self.work.branch if self.work else None

    @property
    def trunk(self) -> str | None:
        return self.work.trunk if self.work else None

    @property
    def base_sha(self) -> str | None:
        return self.work.base_sha if self.work else None

    def answered(self, key: str) -> Answered | None:
        return next((r for r in self.requests if r.key == key), None)

    def with_answer(self, entry: Answered) -> tuple[Answered, ...]:
        """The kept requests after one more: the last sixteen."""
        return (*self.requests, entry)[-KEPT_REQUESTS:]
