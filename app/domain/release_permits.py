"""The permits of a release's guarded writes: who may take one over, and when a refused one is tried again.

The rules are those of tickets (the ownership protocol, R4 to R6), over another ledger. A merge that was withdrawn is
nobody's to take over: it waits for the head to move, or for a new authorization of the same commit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from app.domain.permits import LONGEST_RETRY, RETRY_AFTER, TTL_S, NoneOpen, NotDue, due_at
from app.domain.record import Round
from app.domain.release_record import ReleasePermit, ReleasePermitKind, ReleaseRecord, ReleaseTarget


@dataclass(frozen=True)
class ReleaseAdoptable:
    """These permits may be adopted now."""

    permits: tuple[ReleasePermit, ...]


def standing(
    record: ReleaseRecord, *, author_is_dead: Callable[[str], bool], now: datetime
) -> ReleaseAdoptable | NotDue | NoneOpen:
    """What the open permits of a release allow somebody who is not their author to do."""
    pending = tuple(p for p in record.open if p.state in ("fired", "unknown"))
    if not pending:
        return NoneOpen()
    due = due_at(record.round)
    if due is None or now > due or all(author_is_dead(p.author) for p in pending):
        return ReleaseAdoptable(pending)
    return NotDue(due)


def refused(record: ReleaseRecord, kind: ReleasePermitKind, target: ReleaseTarget) -> ReleasePermit | None:
    """The permit under which GitHub refused exactly this write, if it did."""
    return next((p for p in record.open if p.state == "blocked" and (p.kind, p.target) == (kind, target)), None)


def retry_at(permit: ReleasePermit) -> datetime | None:
    """When a refused write is worth another try: after 2 minutes, then four times as long each time, at most a day."""
    if permit.refused_at is None:
        return None
    return permit.refused_at + min(RETRY_AFTER * (1 << min(2 * permit.refusals, 20)), LONGEST_RETRY)


def adopted(record: ReleaseRecord, permits: tuple[ReleasePermit, ...], *, author: str, now: datetime) -> ReleaseRecord:
    """The record after `author` adopted these permits: tries + 1, and each is unanswered from now on (R6)."""
    before = record.round
    tries = (before.tries if before else 0) + 1
    round_ = Round(id=before.id if before else "adopted", author=author, tries=tries, ttl_s=TTL_S, opened_at=now)
    ids = {p.id for p in permits}
    open_ = tuple(
        p.model_copy(update={"author": author, "unanswered": True}) if p.id in ids else p for p in record.open
    )
    return record.model_copy(update={"round": round_, "open": open_})


def opened(
    record: ReleaseRecord, permits: tuple[ReleasePermit, ...], *, round_id: str, author: str, now: datetime
) -> ReleaseRecord:
    """The record that opens a round with these permits; what is open already is carried (R7). A new permit takes the
    place of a refused or withdrawn one for the very same write: a merge of that commit which may still come is then one
    that is authorized again.
    """
    if not permits:
        return record
    counted = []
    for permit in permits:
        before = refused(record, permit.kind, permit.target)
        counted.append(permit.model_copy(update={"refusals": before.refusals + 1}) if before is not None else permit)
    replaced = {(p.kind, p.target) for p in permits}
    carried = tuple(
        p for p in record.open if not (p.state in ("blocked", "withdrawn") and (p.kind, p.target) in replaced)
    )
    # What may still come of the one that is replaced may still come.
    late = {(p.kind, p.target) for p in record.open if p.unanswered}
    made = tuple(p.model_copy(update={"unanswered": True}) if (p.kind, p.target) in late else p for p in counted)
    round_ = Round(id=round_id, author=author, tries=0, ttl_s=TTL_S, opened_at=now)
    return record.model_copy(update={"round": round_, "open": (*carried, *made)})
