"""What a plain push of its holder makes of the record, when the service writes the ledger's commit for it."""

from datetime import datetime, timedelta

from app.domain.derived import derived
from app.domain.progress import alive
from app.domain.record import Lease, Published, Record


def pushed(record: Record, lease: Lease, sha: str | None, *, ttl: timedelta, now: datetime) -> Record:
    """The record with `sha` published under the present fencing identity and the lease renewed; None: the push leaves
    the ticket branch where it is.

    A push is a sign of life and of work: whoever was recovering, waiting or ready is working again, because what was
    said of the commit before is not said of this one. It completes no step; those stand in checkpoints.
    """
    after = alive(record, ttl=ttl, now=now).model_copy(update={"status": record.status if sha is None else "working"})
    if sha is not None:
        published = Published(sha=sha, generation=lease.generation, nonce=lease.nonce)
        after = after.model_copy(update={"published": published})
    return after.model_copy(update={"checkpoint": derived(after, after.checkpoint, now=now)})
