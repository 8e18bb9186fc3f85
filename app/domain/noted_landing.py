"""What a landing writes down without any outside write."""

from app.domain.branch_updated import with_update
from app.domain.landing_actions import NoteDequeued, NoteMerge, NoteUpdate
from app.domain.landing_settled import with_merge
from app.domain.model import Instant
from app.domain.record import Record


def noted_landing(record: Record, action: NoteUpdate | NoteMerge | NoteDequeued, *, now: Instant) -> Record:
    """The record with it."""
    match action:
        case NoteUpdate(sha=sha):
            return with_update(record, sha)
        case NoteMerge(merged=merged, reopened=reopened):
            after = with_merge(record, merged)
            if not reopened:
                return after
            return after.model_copy(update={"landing": after.landing.model_copy(update={"issue_closed": True})})
        case NoteDequeued(permit=permit, reason=reason):
            blocked = permit.model_copy(update={"state": "blocked", "reason": reason, "refused_at": now})
            return record.model_copy(update={"open": tuple(blocked if p == permit else p for p in record.open)})
