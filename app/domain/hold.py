"""Putting a ticket on hold and taking it off: nothing is claimed, written or landed in between.

The lease stands all the time, so the holder goes on afterwards where it was. Taking off hold is a person's act: the
ticket counts as fresh again, and its attempts begin anew.
"""

from datetime import datetime, timedelta

from app.domain.model import instant_text
from app.domain.record import Held, Intent, Record
from app.domain.stopping import going_on


def held(record: Record, *, by: str, reason: str | None, now: datetime) -> Record:
    """The record on hold; one that is on hold stays as it is. What a person asked to land is asked for no more."""
    if record.status == "held":
        return record
    return record.model_copy(
        update={
            "status": "held",
            "held": Held(by=by, at=now, before=record.status, reason=reason),
            "landing": record.landing.model_copy(update={"asked": None}),
        }
    )


def unheld(record: Record, *, by: str, ttl: timedelta, now: datetime) -> Record:
    """The record with its status back; one that is not on hold stays as it is. The lease gets a full term: its holder
    could not renew it meanwhile.
    """
    if record.status != "held":
        return record
    before = record.held.before if record.held is not None else "working" if record.lease is not None else "unclaimed"
    lease = record.lease
    if lease is not None:
        lease = lease.model_copy(update={"expires_at": now + ttl, "renewed_at": now})
    # What stopped it before is not what stops it again: that is other news, and told.
    update = {"status": before, "held": None, "lease": lease, "intent": Intent(by=by, at=now)}
    return going_on(record.model_copy(update=update))


def why_held(record: Record) -> str:
    """In words, for whoever is refused because of it: who, when, and what that person said."""
    if record.held is None:
        return "the ticket is on hold"
    said = f": {record.held.reason}" if record.held.reason else ""
    return f"{record.held.by} put the ticket on hold at {instant_text(record.held.at)}{said}"
