"""What the answers to the writes of a landing make of the record (the ownership protocol, R3 and R6).

A merge that was sent and whose answer is missing ends only by the merge, or by a fence commit. GitHub's refusal of one
send says nothing about another that is still under way, so it closes a permit only where every send was answered.
"""

from dataclasses import dataclass
from datetime import datetime

from app.domain.fence_commit import MERGES
from app.domain.plain_text import cut, one_line
from app.domain.record import Held, Merged, Permit, Record

_REASON_BYTES = 200


@dataclass(frozen=True)
class Merge:
    """The PR is merged, whoever did it."""

    permit: Permit
    merged: Merged


@dataclass(frozen=True)
class Accepted:
    """GitHub took it on and carries it out later, or may still do so."""

    permit: Permit


@dataclass(frozen=True)
class Moot:
    """GitHub refused it at `at`, because what it was for is not there any more: another head, another base."""

    permit: Permit
    reason: str
    at: datetime


LandingResult = Merge | Accepted | Moot


def settled(record: Record, standing: Permit, result: LandingResult) -> Record:
    """The record after this result of `standing`, which is open in it."""
    match result:
        case Merge(merged=merged):
            return with_merge(_without(record, standing), merged, standing)
        case Accepted():
            return _with(record, standing, standing.model_copy(update={"state": "accepted"}))
        case Moot():
            return refused(record, standing, result.reason, result.at) or _without(record, standing)


def refused(record: Record, standing: Permit, reason: str, at: datetime) -> Record | None:
    """The record after a refusal that closes nothing, because an earlier send under the same permit may still merge;
    None where the refusal is the whole answer.
    """
    if standing.kind not in MERGES or not standing.unanswered:
        return None
    unknown = {
        "state": "unknown",
        "reason": cut(one_line(reason), _REASON_BYTES),
        "refused_at": at,
        "refusals": standing.refusals + (standing.refused_at is not None),
    }
    return _with(record, standing, standing.model_copy(update=unknown))


def with_merge(record: Record, merged: Merged, permit: Permit | None = None) -> Record:
    """The record once the PR is seen merged. Every permit to merge it ends with that. Under `permit` the App may have
    merged it: another base than the permit names is an incident, because no merge request names its base.
    """
    asked = permit if permit is not None else _merge_asked(record, merged)
    problem = record.landing.incident or (_mismatch(asked, merged) if asked is not None else None)
    landing = record.landing.model_copy(update={"merged": merged, "incident": problem})
    left = tuple(p for p in record.open if p.kind not in MERGES)
    changed = record.model_copy(update={"landing": landing, "open": left})
    if problem is None or record.status == "held":
        return changed
    held = Held(by="Agent Recovery", at=merged.at, before=record.status, reason=problem)
    return changed.model_copy(update={"status": "held", "held": held})


def _merge_asked(record: Record, merged: Merged) -> Permit | None:
    return next((p for p in record.open if p.kind in MERGES and p.target.head_sha == merged.head_sha), None)


def _mismatch(permit: Permit, merged: Merged) -> str | None:
    target = permit.target
    if permit.kind not in MERGES or target.head_sha != merged.head_sha or target.base == merged.base:
        return None
    return f"PR #{merged.pr} was merged into {merged.base}, though it was to be merged into {target.base}"


def _with(record: Record, standing: Permit, permit: Permit) -> Record:
    return record.model_copy(update={"open": tuple(permit if p is standing else p for p in record.open)})


def _without(record: Record, standing: Permit) -> Record:
    return record.model_copy(update={"open": tuple(p for p in record.open if p is not standing)})
