"""What actions and the answers to a round's writes make of a release's record.

"No response" never means "did not happen": such a permit stays open as unknown. A refusal ends a permit only if every
send under it was answered (the ownership protocol, R6); an unanswered merge ends only by the merge or with its head.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.domain.plain_text import cut, one_line
from app.domain.release_actions import (
    DropAsked,
    ForgetReleasePermits,
    NoteIncident,
    NoteReleaseMerge,
    NoteReleasePull,
    NoteWorked,
    VoidAuthorizations,
)
from app.domain.release_comment import release_marker
from app.domain.release_record import (
    KEPT_INCIDENTS,
    KEPT_MERGED,
    MOST_GIVEN_UP,
    Authorization,
    Incident,
    MergedRelease,
    ReleasePermit,
    ReleaseRecord,
    Voided,
)

REASON_BYTES = 200
KEPT_REPORTED = 50
_REPORT = "<!-- agent-recovery:release-report:"

Noted = (
    NoteReleasePull
    | VoidAuthorizations
    | NoteWorked
    | ForgetReleasePermits
    | DropAsked
    | NoteReleaseMerge
    | NoteIncident
)
"""Actions that are only written down."""


@dataclass(frozen=True)
class MadeRelease:
    """It stands: `number` is the PR's, comment's or Issue's; for a base edit the PR's."""

    permit: ReleasePermit
    number: int


@dataclass(frozen=True)
class DeclinedRelease:
    """GitHub refused it at `at`, in its own words."""

    permit: ReleasePermit
    reason: str
    at: datetime


@dataclass(frozen=True)
class UnknownRelease:
    """No answer that says whether it happened."""

    permit: ReleasePermit


@dataclass(frozen=True)
class NotSentRelease:
    """Nothing was sent under it by us, and the probe found nothing."""

    permit: ReleasePermit


@dataclass(frozen=True)
class MootRelease:
    """A merge that GitHub refused because the head is another one: nothing can come of it any more."""

    permit: ReleasePermit


@dataclass(frozen=True)
class WithdrawnRelease:
    """A merge was taken back: the PR was read after the guard was red, and is not merged."""

    permit: ReleasePermit
    reason: str


ReleaseResult = MadeRelease | DeclinedRelease | UnknownRelease | NotSentRelease | MootRelease | WithdrawnRelease


def noted(record: ReleaseRecord, action: Noted) -> ReleaseRecord:
    """The record after an action that is only written down."""
    match action:
        case NoteReleasePull(number=number, given_up=gone):
            given_up = tuple(dict.fromkeys((*record.given_up, *gone)))[-MOST_GIVEN_UP:]
            return record.model_copy(update={**_of_pull(record, number), "given_up": given_up})
        case VoidAuthorizations(voids=voids):
            return _with_voids(record, dict(voids))
        case NoteWorked(worked=worked):
            known = dict(worked)
            receipts = (
                a.model_copy(update={"worked": known[a.id]}) if a.id in known else a for a in record.authorizations
            )
            return record.model_copy(update={"authorizations": tuple(receipts)})
        case ForgetReleasePermits(permits=permits):
            gone_ids = {p.id for p in permits}
            return record.model_copy(update={"open": tuple(p for p in record.open if p.id not in gone_ids)})
        case DropAsked():
            return record.model_copy(update={"asked": None})
        case NoteReleaseMerge(merged=merged, problem=problem):
            return with_merge(record, merged, problem)
        case NoteIncident(number=number, head_sha=head_sha, issue=issue):
            return _told(record, number, head_sha, issue)


def with_merge(record: ReleaseRecord, merged: MergedRelease, problem: str | None) -> ReleaseRecord:
    """The record once a PR is seen merged: every permit to merge it ends with that, every receipt of it is used up."""
    used = {a.id: Voided(why="merged", at=merged.at) for a in record.standing if a.pull == merged.pull}
    changes: dict[str, Any] = {
        "merged": tuple(sorted((*record.merged, merged), key=lambda m: m.at))[-KEPT_MERGED:],
        "open": tuple(p for p in record.open if not (p.kind == "release_merge" and p.target.number == merged.pull)),
    }
    if record.asked is not None and record.asked.pull == merged.pull:
        changes["asked"] = None
    if record.pull in (None, merged.pull):
        changes |= {"pull": None, "comment_id": None, "status": "merged"}
    if problem is not None and record.incident_of(merged.pull, merged.head_sha) is None:
        reason = cut(one_line(problem), REASON_BYTES)
        incident = Incident(pull=merged.pull, head_sha=merged.head_sha, at=merged.at, reason=reason)
        changes["incidents"] = _kept((*record.incidents, incident))
    return _with_voids(record, used).model_copy(update=changes)


def settle(record: ReleaseRecord, results: Sequence[ReleaseResult]) -> ReleaseRecord:
    """The record after these results. Results of permits that are not open any more change nothing."""
    for result in results:
        standing = next((p for p in record.open if p.id == result.permit.id), None)
        if standing is not None:
            record = _settled(record, standing, result)
    return record


def _settled(record: ReleaseRecord, standing: ReleasePermit, result: ReleaseResult) -> ReleaseRecord:
    is_merge = standing.kind == "release_merge"
    match result:
        case MadeRelease(number=number):
            return _made(_without(record, standing), standing, number)
        case UnknownRelease():
            return _with(record, standing, {"state": "unknown", "unanswered": True})
        case NotSentRelease():
            # Somebody else may act on it by now, or an earlier send may still be under way.
            anothers = standing.unanswered or standing.author != result.permit.author
            return record if is_merge and anothers else _without(record, standing)
        case MootRelease():
            return _unasked(_without(record, standing), standing)
        case WithdrawnRelease(reason=reason):
            words = cut(one_line(reason), REASON_BYTES)
            taken = _with(record, standing, {"state": "withdrawn", "unanswered": True, "reason": words})
            return _unasked(taken, standing)
        case DeclinedRelease(reason=reason, at=at):
            refused: dict[str, Any] = {"reason": cut(one_line(reason), REASON_BYTES), "refused_at": at}
            if is_merge and standing.unanswered:
                return _unasked(_with(record, standing, {**refused, "state": "unknown"}), standing)
            return _unasked(_with(record, standing, {**refused, "state": "blocked"}), standing)


def _made(record: ReleaseRecord, permit: ReleasePermit, number: int) -> ReleaseRecord:
    marker = permit.target.marker or ""
    if permit.kind == "release_pull_create":
        return record.model_copy(update=_of_pull(record, number))
    if permit.kind == "release_comment_create" and marker == release_marker(record.branch):
        return record.model_copy(update={"comment_id": number})
    if permit.kind == "release_comment_create" and marker.startswith(_REPORT):
        edge = marker.removeprefix(_REPORT).removesuffix(" -->")
        reported = tuple(dict.fromkeys((*record.reported, edge)))[-KEPT_REPORTED:]
        return record.model_copy(update={"reported": reported})
    target = permit.target
    if permit.kind == "incident_create" and target.number is not None and target.head_sha is not None:
        return _told(record, target.number, target.head_sha, number)
    return record


def _of_pull(record: ReleaseRecord, number: int | None) -> dict[str, Any]:
    if number == record.pull:
        return {"pull": number, "status": "open"}
    return {"pull": number, "comment_id": None, "status": "open"}


def _told(record: ReleaseRecord, number: int, head_sha: str, issue: int) -> ReleaseRecord:
    told = tuple(
        i.model_copy(update={"issue": issue}) if (i.pull, i.head_sha) == (number, head_sha) else i
        for i in record.incidents
    )
    return record.model_copy(update={"incidents": told})


def _kept(incidents: tuple[Incident, ...]) -> tuple[Incident, ...]:
    """The newest, and every one that nobody was told of yet."""
    newest = incidents[-KEPT_INCIDENTS:]
    return tuple(i for i in incidents if i in newest or i.issue is None)


def _with_voids(record: ReleaseRecord, voids: dict[str, Voided]) -> ReleaseRecord:
    def after(receipt: Authorization) -> Authorization:
        void = voids.get(receipt.id)
        return receipt if void is None or receipt.voided is not None else receipt.model_copy(update={"voided": void})

    return record.model_copy(update={"authorizations": tuple(after(a) for a in record.authorizations)})


def _without(record: ReleaseRecord, standing: ReleasePermit) -> ReleaseRecord:
    return record.model_copy(update={"open": tuple(p for p in record.open if p is not standing)})


def _with(record: ReleaseRecord, standing: ReleasePermit, changes: dict[str, Any]) -> ReleaseRecord:
    changed = standing.model_copy(update=changes)
    return record.model_copy(update={"open": tuple(changed if p is standing else p for p in record.open)})


def _unasked(record: ReleaseRecord, permit: ReleasePermit) -> ReleaseRecord:
    """A wish ends with the answer to it: whoever wished is told, and says it again."""
    return record.model_copy(update={"asked": None}) if permit.kind == "release_merge" else record
