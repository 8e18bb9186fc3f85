"""What a plain push of its holder makes of the record, when the service writes the ledger's commit for it."""

from datetime import datetime, timedelta

from app.domain import gates
from app.domain.derived import derived
from app.domain.record import Lease, Published, Record


def pushed(record: Record, lease: Lease, sha: str | None, *, ttl: timedelta, now: datetime) -> Record:
    """The record with `sha` published under the present fencing identity and the lease renewed; None: the push leaves
    the ticket branch where it is.

    A push is a sign of life and of work: whoever was recovering, waiting or ready is working again, because what was
    said of the commit before is not said of this one. It completes no step; those stand in checkpoints.
    """
    renewed = lease.model_copy(
        update={"expires_at": now + ttl, "renewed_at": now, "renewals_seen": record.renewals},
    )
    after = record.model_copy(
        update={
            "status": record.status if sha is None else "working",
            "lease": renewed,
            "attempts": gates.after_life(record.attempts, now=now),
        }
    )
    if sha is not None:
        published = Published(sha=sha, generation=lease.generation, nonce=lease.nonce)
        after = after.model_copy(update={"published": published})
    return after.model_copy(update={"checkpoint": derived(after, after.checkpoint, now=now)})
