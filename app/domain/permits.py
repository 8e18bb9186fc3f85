"""Permits: what a guarded write needs before it is sent, and who may take one over.

The rule book is the ownership protocol, R1 to R6. A permit is acted on only by its author. Anybody else, a restarted
self included, first adopts it: probe GitHub, then compare-and-set the author. Adoption is safe at any time; that it is
put off until the author is known dead or its time has doubled often enough only keeps two from playing ping-pong.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.domain.record import Permit, PermitKind, Record, Round, Target

TTL_S = 60
RETRY_AFTER = timedelta(minutes=2)
LONGEST_RETRY = timedelta(hours=24)
LONGEST_RETRY_OF_A_MERGE = timedelta(minutes=30)
"""A rule that nobody could read may be met at any moment, by a review for example, and no event says that it is."""
LONGEST_DOUBLING = 10


@dataclass(frozen=True)
class Adoptable:
    """These permits may be adopted now."""

    permits: tuple[Permit, ...]


@dataclass(frozen=True)
class NotDue:
    """Somebody else's permits are open; look again then, write nothing before."""

    until: datetime


@dataclass(frozen=True)
class NoneOpen:
    """Nothing is open: a new round may begin."""


def standing(record: Record, *, author_is_dead: Callable[[str], bool], now: datetime) -> Adoptable | NotDue | NoneOpen:
    """What the open permits of a record allow somebody who is not their author to do.

    A round that is missing (a record written by hand or by a newer version) makes its permits due at once. Where an
    agent was to be started, a dead author's time is waited for, too: what is not found then is given up for good, and
    GitHub lists a run only a moment after it began.
    """
    pending = tuple(p for p in record.open if p.state not in ("blocked", "accepted"))
    if not pending:
        return NoneOpen()
    due = due_at(record.round)
    shows_at_once = all(p.kind != "dispatch" for p in pending)
    if due is None or now > due or (shows_at_once and all(author_is_dead(p.author) for p in pending)):
        return Adoptable(pending)
    return NotDue(due)


def due_at(round_: Round | None) -> datetime | None:
    """When a round's permits may be adopted from an author who may still be alive."""
    if round_ is None:
        return None
    return round_.opened_at + timedelta(seconds=round_.ttl_s * (1 << min(round_.tries, LONGEST_DOUBLING)))


def refused(record: Record, kind: PermitKind, target: Target) -> Permit | None:
    """The permit under which GitHub refused exactly this write, if it did."""
    return next((p for p in record.open if p.state == "blocked" and (p.kind, p.target) == (kind, target)), None)


def retry_at(permit: Permit) -> datetime | None:
    """When a refused write is worth another try: after 2 minutes, then four times as long each time, at most a day, and
    for a merge half an hour.
    """
    if permit.refused_at is None:
        return None
    longest = LONGEST_RETRY_OF_A_MERGE if permit.kind in ("merge", "enqueue") else LONGEST_RETRY
    return permit.refused_at + min(RETRY_AFTER * (1 << min(2 * permit.refusals, 20)), longest)


def adopted(record: Record, permits: tuple[Permit, ...], *, author: str, now: datetime) -> Record:
    """The record after `author` adopted these permits: tries + 1, and each is unanswered from now on (R6)."""
    before = record.round
    tries = (before.tries if before else 0) + 1
    round_id = before.id if before else "adopted"
    ids = {p.id for p in permits}
    return record.model_copy(
        update={
            "round": Round(id=round_id, author=author, tries=tries, ttl_s=TTL_S, opened_at=now),
            "open": tuple(
                p.model_copy(update={"author": author, "unanswered": True}) if p.id in ids else p for p in record.open
            ),
        }
    )


def opened(record: Record, permits: tuple[Permit, ...], *, round_id: str, author: str, now: datetime) -> Record:
    """The record that opens a round with these permits; what is open already is carried (R7). A new permit takes the
    place of refused ones of its kind, and of accepted ones, and counts on from one that was refused for the very same
    write.
    """
    if not permits:
        return record
    before = {p.kind: refused(record, p.kind, p.target) for p in permits}
    permits = tuple(
        p.model_copy(update={"refusals": b.refusals + 1}) if (b := before[p.kind]) is not None else p for p in permits
    )
    carried = tuple(p for p in record.open if not (p.state in ("blocked", "accepted") and p.kind in before))
    return record.model_copy(
        update={
            "round": Round(id=round_id, author=author, tries=0, ttl_s=TTL_S, opened_at=now),
            "open": (*carried, *permits),
        }
    )
