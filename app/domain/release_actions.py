"""What the loop may do to a release: a closed set of actions, each with its reason. Waiting is one of them.

There is one action that merges into the base of releases, `MergeRelease`, and only `release_merge_next.py` makes it.
"""

from dataclasses import dataclass
from datetime import datetime

from app.domain.landing_evidence import Method
from app.domain.release_record import MergedRelease, ReleasePermit, ReleasePermitKind, ReleaseTarget, Voided


@dataclass(frozen=True)
class AdoptRelease:
    """Take over permits whose author is gone: probe, then compare-and-set the author. `again`: those that are sent
    again where the probe finds nothing, because the decision behind them stands. The others are given up: what an
    earlier send may still do is harmless. A merge is here only where it is wanted again.
    """

    permits: tuple[ReleasePermit, ...]
    again: tuple[ReleasePermit, ...]
    reason: str


@dataclass(frozen=True)
class CreateReleasePull:
    """Open the Draft PR from the trunk into the base of releases."""

    head: str
    head_sha: str
    base: str
    title: str
    body: str
    reason: str


@dataclass(frozen=True)
class ReopenReleasePull:
    """Reopen the release PR. Where GitHub refuses it the PR is given up, and another one is opened."""

    number: int
    reason: str


@dataclass(frozen=True)
class EditReleaseBase:
    """Give the release PR its base back."""

    number: int
    base_from: str
    base_to: str
    reason: str


@dataclass(frozen=True)
class EditReleaseText:
    """Bring the list of included Issues up to date: in the title, the body, or both (None: as it is)."""

    number: int
    title: str | None
    body: str | None
    reason: str


@dataclass(frozen=True)
class SetReleaseDraft:
    """Draft or not. It becomes ready only for a merge that is authorized and asked for at this moment."""

    number: int
    node_id: str
    draft: bool
    reason: str


@dataclass(frozen=True)
class StopAutoMerge:
    """Switch auto-merge off."""

    number: int
    node_id: str
    reason: str


@dataclass(frozen=True)
class Dequeue:
    """Take the PR out of the merge queue."""

    number: int
    node_id: str
    reason: str


@dataclass(frozen=True)
class NoteReleasePull:
    """Write down which PR is the release's now (None: none), and those that will not be it any more."""

    number: int | None
    given_up: tuple[int, ...]
    reason: str


@dataclass(frozen=True)
class VoidAuthorizations:
    """Write down that these receipts, by id, count no more. The guard is red before that."""

    voids: tuple[tuple[str, Voided], ...]
    reason: str


@dataclass(frozen=True)
class NoteWorked:
    """Write down of these receipts, by id, whether their authors worked in the release: after its merge nothing shows
    it.
    """

    worked: tuple[tuple[str, bool], ...]
    reason: str


@dataclass(frozen=True)
class CreateReleaseComment:
    """The one comment on the release PR that shows what is authorized; its text is projected afterwards."""

    number: int
    marker: str
    reason: str


@dataclass(frozen=True)
class RemoveReleaseComment:
    """A second comment of ours with the same marker: the oldest stays."""

    comment_id: int
    reason: str


@dataclass(frozen=True)
class ReportOnRelease:
    """Tell a person, in a new comment on a release PR, what somebody or GitHub did to it and what to do. `edge` names
    the happening, so it is told once; `mention` is who did it, where that is a person.
    """

    number: int
    edge: str
    reason: str
    remedy: str
    mention: str | None = None


@dataclass(frozen=True)
class MergeRelease:
    """Merge the release PR with exactly this head into exactly this base. `authorized_by`: the receipts it rests on."""

    number: int
    head_sha: str
    base: str
    method: Method
    title: str
    message: str
    authorized_by: tuple[str, ...]
    asked_by: str
    reason: str


@dataclass(frozen=True)
class WithdrawMerge:
    """What a merge that may still come rested on is gone (the ownership protocol, R22). In this order: every guard run
    of the head red unless it is authorized, the PR a draft again, which GitHub merges as little as a red one, then the
    PR read. Merged: it is noted. Not merged: the permits stay open as `withdrawn` until the head moves, because GitHub
    may still carry them out.
    """

    permits: tuple[ReleasePermit, ...]
    number: int
    node_id: str
    head_sha: str
    reason: str


@dataclass(frozen=True)
class ForgetReleasePermits:
    """Drop permits that can do nothing any more: refused ones that are not wanted now, merges of a head that moved."""

    permits: tuple[ReleasePermit, ...]
    reason: str


@dataclass(frozen=True)
class DropAsked:
    """A wish to merge is over: its time is up, or what it rested on is gone."""

    reason: str


@dataclass(frozen=True)
class NoteReleaseMerge:
    """Write down the merge of a release PR. `problem`: in what it was not as authorized, which makes it an incident."""

    merged: MergedRelease
    problem: str | None
    reason: str


@dataclass(frozen=True)
class CreateIncident:
    """Open the Issue that tells of an incident, with the evidence: once, found again by its marker."""

    number: int
    head_sha: str
    marker: str
    title: str
    body: str
    reason: str


@dataclass(frozen=True)
class NoteIncident:
    """Write down the number of an incident's Issue that stands already."""

    number: int
    head_sha: str
    issue: int
    reason: str


@dataclass(frozen=True)
class WaitRelease:
    """Nothing can be done before `until` (None: before something else happens)."""

    reason: str
    until: datetime | None = None


GuardedRelease = (
    CreateReleasePull | EditReleaseBase | CreateReleaseComment | ReportOnRelease | MergeRelease | CreateIncident
)
"""Writes that need a permit in the release's ledger before they are sent (classes M, S and C of the ownership
protocol, R3). All others are set-to-value, or are only written down.
"""

ReleaseAction = (
    AdoptRelease
    | GuardedRelease
    | ReopenReleasePull
    | EditReleaseText
    | SetReleaseDraft
    | StopAutoMerge
    | Dequeue
    | NoteReleasePull
    | VoidAuthorizations
    | NoteWorked
    | RemoveReleaseComment
    | WithdrawMerge
    | ForgetReleasePermits
    | DropAsked
    | NoteReleaseMerge
    | NoteIncident
    | WaitRelease
)
ReleasePlan = tuple[ReleaseAction, ...]


def target_of(action: GuardedRelease) -> tuple[ReleasePermitKind, ReleaseTarget]:
    """What a guarded write's permit names: exactly what its probe searches for."""
    match action:
        case CreateReleasePull():
            return "release_pull_create", ReleaseTarget(head=action.head, base=action.base, head_sha=action.head_sha)
        case EditReleaseBase():
            target = ReleaseTarget(number=action.number, base=action.base_to, base_from=action.base_from)
            return "release_base_edit", target
        case CreateReleaseComment():
            return "release_comment_create", ReleaseTarget(number=action.number, marker=action.marker)
        case ReportOnRelease():
            return "release_comment_create", ReleaseTarget(number=action.number, marker=report_marker(action.edge))
        case MergeRelease():
            target = ReleaseTarget(
                number=action.number, head_sha=action.head_sha, base=action.base, method=action.method
            )
            return "release_merge", target
        case CreateIncident():
            target = ReleaseTarget(number=action.number, head_sha=action.head_sha, marker=action.marker)
            return "incident_create", target


def report_marker(edge: str) -> str:
    """The first line of a report on a release PR."""
    return f"<!-- agent-recovery:release-report:{edge} -->"
