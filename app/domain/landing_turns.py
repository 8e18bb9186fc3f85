"""Whose turn it is on a trunk whose rules want the newest commit in every head: one ticket at a time is brought up to
date and merged, so that what one brings does not put all others behind again and again.

A turn is no permission and protects nothing: losing all of them costs updates, never a wrong merge. The order: priority
on the board first, then who asked first.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

TURN = timedelta(minutes=10)
"""How long a turn lasts; each look of its ticket that is still on its way renews it."""
LONGEST = timedelta(hours=1)
"""How long one ticket may go on renewing its turn while others wait: checks that never end must not stop a trunk."""
FORGOTTEN = timedelta(minutes=20)
"""A ticket in the row that did not ask for so long has something else to do."""
AGAIN = timedelta(seconds=30)
"""When to ask again while nobody has the turn and somebody else is the first in the row."""


@dataclass(frozen=True)
class Asking:
    """A ticket in a trunk's row. `since`: when it asked first; `asked_at`: when it asked last; `began_at` and `until`:
    of its turn, None where it has none.
    """

    ticket: str
    priority: int
    since: datetime
    asked_at: datetime
    began_at: datetime | None = None
    until: datetime | None = None

    def has_turn(self, now: datetime) -> bool:
        return self.until is not None and self.until > now


@dataclass(frozen=True)
class Turn:
    """It is this ticket's turn, until then."""

    until: datetime


@dataclass(frozen=True)
class Waits:
    """Somebody else's turn comes first; ask again then."""

    ticket: str
    until: datetime


def asked(row: Sequence[Asking], ticket: str, priority: int, *, now: datetime) -> tuple[Asking, Turn | Waits]:
    """The ticket's place in the row after it asked, and the answer. `row`: who asked for this trunk so far."""
    others = [a for a in row if a.ticket != ticket and (a.has_turn(now) or now - a.asked_at <= FORGOTTEN)]
    before = next((a for a in row if a.ticket == ticket and now - a.asked_at <= FORGOTTEN), None)
    mine = Asking(ticket, priority, before.since if before else now, now)
    holder = next((a for a in others if a.has_turn(now)), None)
    if holder is not None and holder.until is not None:
        return mine, Waits(holder.ticket, holder.until)
    began = before.began_at if before is not None and before.has_turn(now) else None
    if began is not None and others and now - began > LONGEST:
        # To the end of the row: the others get their turn, and it comes again.
        mine = Asking(ticket, priority, now, now)
        began = None
    first = following(others, now=now)
    if began is None and first is not None and _place(first) < _place(mine):
        return mine, Waits(first.ticket, now + AGAIN)
    until = now + TURN
    return Asking(ticket, priority, mine.since, now, began or now, until), Turn(until)


def following(row: Sequence[Asking], *, now: datetime) -> Asking | None:
    """Whose turn is next, of those who still ask."""
    waiting = [a for a in row if now - a.asked_at <= FORGOTTEN and not a.has_turn(now)]
    return min(waiting, key=_place, default=None)


def _place(asking: Asking) -> tuple[int, datetime, str]:
    return asking.priority, asking.since, asking.ticket
