"""The record of a release: the JSON of one commit of its ledger, which stands beside the trunk's own history.

It holds what a person said about the release and what the App did about it: receipts of authorizations, the permits of
guarded writes, merges, incidents. A receipt is never the proof: at every use its source comment is read again. The
ledger lies under `releases/<branch>` for as long as the repository has it; only the service writes it, so a commit
without the service's own seal is no word of anybody's.
"""

from datetime import datetime
from typing import Any, Literal

from pydantic import ConfigDict, Field

from app.domain.model import Instant, Sha, Stored
from app.domain.record import Rebuilt, Round

SCHEMA = 1
MAX_BYTES = 48 * 1024
KEPT_MERGED = 10
KEPT_INCIDENTS = 10
KEPT_VOIDED = 10
MOST_STANDING = 15
"""Receipts that may stand at once: one for each account and commit."""
MOST_GIVEN_UP = 20

Status = Literal["open", "merged"]
"""`merged`: the last release PR was merged and the trunk has brought nothing new since."""

ReleasePermitKind = Literal[
    "release_pull_create",
    "release_base_edit",
    "release_merge",
    "release_comment_create",
    "incident_create",
]
"""None of these is a kind of a ticket's permits: neither ledger can express the other's writes."""

VoidCode = Literal[
    "revoked",
    "new_head",
    "changed_base",
    "other_pull",
    "expired",
    "comment_deleted",
    "comment_edited",
    "other_author",
    "via_app",
    "not_a_person",
    "own_pull",
    "lost_permission",
    "last_pusher",
    "merged",
    "superseded",
    "rebuilt",
    "malformed",
]
"""Why an authorization counts no more. `merged`: its PR was merged, so it is used up; `superseded`: the same account
said the same anew, and that word counts instead.
"""


class Person(Stored):
    """An account: its login then, and the id by which another account under a name that was given up is told apart."""

    login: str
    id: int


class Source(Stored):
    """The comment that an authorization came from. `number`: the PR it was written on; `body_digest`: SHA-256 of its
    UTF-8 text as lower-case hex, so that an edit shows even where GitHub should not say that there was one.
    """

    comment_id: int
    number: int
    created_at: Instant
    body_digest: str = Field(pattern=r"^[0-9a-f]{64}$")


class Voided(Stored):
    """An authorization that counts no more, for good. `by`: the person who revoked it."""

    why: VoidCode
    at: Instant
    by: str | None = None


class Authorization(Stored):
    """The receipt of one person's word for exactly one commit of one release PR into one base. `id`: the comment's, as
    text.
    """

    id: str
    pull: int
    base: str
    head_sha: Sha
    by: Person
    at: Instant
    expires_at: Instant
    source: Source
    worked: bool | None = None
    """Whether its author had worked in the release when that was last looked up before its merge; None: not known.
    After the merge nothing shows what the release brought.
    """
    voided: Voided | None = None


class AskedToMerge(Stored):
    """A person asked for the merge of exactly this head. It is a wish for now and dies within minutes."""

    id: str
    """The command's."""
    by: Person
    at: Instant
    pull: int
    head_sha: Sha


class ReleaseTarget(Stored):
    """What a permit is for; the probe searches GitHub for exactly this."""

    number: int | None = None
    head: str | None = None
    head_sha: Sha | None = None
    base: str | None = None
    base_from: str | None = None
    """The base that a base edit leads away from; `base` is where it leads to."""
    marker: str | None = None
    method: Literal["merge", "squash", "rebase"] | None = None


class ReleasePermit(Stored):
    """A guarded write that is open. `unanswered`: an earlier send of it may still be carried out. `withdrawn`: a merge
    whose ground is gone; GitHub may carry it out all the same, until the head moves.
    """

    id: str
    kind: ReleasePermitKind
    target: ReleaseTarget
    author: str
    round: str
    unanswered: bool = False
    state: Literal["fired", "unknown", "blocked", "withdrawn"] = "fired"
    reason: str | None = None
    """GitHub's words where it refused (`blocked`), ours where a merge was withdrawn."""
    refused_at: Instant | None = None
    refusals: int = 0
    authorized_by: tuple[str, ...] = ()
    """The receipts under which a merge was let go, by their ids."""
    asked_by: str | None = None
    """Who said merge-release."""


class MergedRelease(Stored):
    """A release PR was merged. `authorized`: the ids of the receipts that stood for exactly this merge, empty where
    none did; `ours`: the App merged it under a permit of its own.
    """

    pull: int
    head_sha: Sha
    base: str
    merge_sha: Sha | None = None
    at: Instant
    by: str | None = None
    authorized: tuple[str, ...] = ()
    ours: bool = False


class Incident(Stored):
    """A merge that was not as authorized, and the Issue that tells of it, once that stands: the PR itself where the
    repository has no Issues.
    """

    pull: int
    head_sha: Sha
    at: Instant
    reason: str
    issue: int | None = None


class ReleaseRecord(Stored):
    """One ledger commit's content. Frozen; a change is a new record with `sequence` + 1."""

    model_config = ConfigDict(frozen=True, extra="allow", populate_by_name=True)

    schema_: int = Field(default=SCHEMA, alias="schema")
    branch: str
    """The trunk, by its short name. A record of another branch than its ref's is no record of that release."""
    into: str
    sequence: int = 0
    status: Status = "open"
    begun_at: Instant | None = None
    """When the ledger was born: what was merged before it, nobody had to authorize."""
    pull: int | None = None
    """The release PR, until it was merged."""
    comment_id: int | None = None
    """Our comment on `pull` that shows what is authorized."""
    given_up: tuple[int, ...] = ()
    """Closed PRs of this release that GitHub refuses to reopen, or that another one took the place of."""
    round: Round | None = None
    open: tuple[ReleasePermit, ...] = ()
    authorizations: tuple[Authorization, ...] = ()
    asked: AskedToMerge | None = None
    merged: tuple[MergedRelease, ...] = ()
    """The newest, by the moment of the merge; the newest last."""
    incidents: tuple[Incident, ...] = ()
    reported: tuple[str, ...] = ()
    """Edges a person was told of in a comment of its own, so that each is told once; the newest last."""
    commands: tuple[dict[str, Any], ...] = ()
    rebuilt: Rebuilt | None = None

    @property
    def standing(self) -> tuple[Authorization, ...]:
        """The receipts that nothing has voided yet: whether they are live is judged at every use."""
        return tuple(a for a in self.authorizations if a.voided is None)

    def authorization(self, id: str) -> Authorization | None:
        return next((a for a in self.authorizations if a.id == id), None)

    @property
    def merges_open(self) -> tuple[ReleasePermit, ...]:
        """Permits to merge that GitHub may still carry out: all, save those whose every send was refused."""
        return tuple(p for p in self.open if p.kind == "release_merge" and (p.state != "blocked" or p.unanswered))

    def incident_of(self, pull: int, head_sha: str) -> Incident | None:
        return next((i for i in self.incidents if (i.pull, i.head_sha) == (pull, head_sha)), None)

    def was_merged(self, pull: int) -> MergedRelease | None:
        return next((m for m in reversed(self.merged) if m.pull == pull), None)

    def forgot_merge(self, at: datetime) -> bool:
        """Whether a merge of that moment would have made place for newer ones by now: a branch from which release
        after release goes has more of them than are kept.
        """
        return len(self.merged) >= KEPT_MERGED and at <= min(m.at for m in self.merged)


def begun(branch: str, into: str) -> ReleaseRecord:
    """The record that a release's ledger is born from."""
    return ReleaseRecord(branch=branch, into=into)
