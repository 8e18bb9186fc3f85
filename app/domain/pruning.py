"""Pruning: what is kept of a ticket for ever, once nobody has needed the rest for as long as the policy retains it.

A tombstone is one commit without parents (the ownership protocol, R10): generation and nonce, so that generations never
restart; the keys of all effects, so that none is ever carried out a second time; what can still happen late; and the
branch, because on its head and its PR stand witnesses of how far the ledger had come.
"""

from datetime import datetime

from app.domain.effect_journal import lost_room
from app.domain.policy import Policy
from app.domain.record import TERMINAL, Ended, Pruned, Record

PRUNED = "pruned"
"""The event of a tombstone's commit, by which it is recognised."""


def is_due(record: Record, policy: Policy, *, now: datetime) -> bool:
    """Whether an ended ticket has been retained long enough. One whose end has no date is kept."""
    at = record.ended.at if record.ended is not None else record.rebuilt.at if record.rebuilt is not None else None
    return record.status in TERMINAL and record.pruned is None and at is not None and now >= at + policy.retention


def tombstone(record: Record, *, now: datetime) -> Record:
    """What is left of an ended ticket, as the commit after `record`. Fields that this version does not know stay.
    Raises ValueError for a ticket that has not ended, or whose tombstone stands.
    """
    if record.status not in TERMINAL or record.pruned is not None:
        raise ValueError("only an ended ticket is pruned, and once")
    while (smaller := lost_room(record)) is not None:
        record = smaller
    sequence = record.sequence + 1
    kept = {
        "ticket": record.ticket,
        "child": record.child,
        "sequence": sequence,
        "status": record.status,
        "generation": record.generation,
        "work": record.work,
        "effect_keys": record.effect_keys,
        "open": record.open,
        "commands": record.commands,
        "burned_shas": record.burned_shas,
        "projections": record.projections,
        "ended": _dated(record, now),
        "pruned": Pruned(at=now, sequence=sequence),
    }
    return Record.model_validate({**(record.model_extra or {}), **kept})


def _dated(record: Record, now: datetime) -> Ended | None:
    """The end, with the nonce of the last lease, which an end noted elsewhere may have left in place."""
    if record.ended is None or record.ended.nonce is not None or record.lease is None:
        return record.ended
    return record.ended.model_copy(update={"nonce": record.lease.nonce})
