"""The queue of pokes: which keys need a round, and who runs one now.

Wanted:

- one row a key: a burst of pokes before a run is answered by one run;
- a poke during a run makes the key run again after it;
- one worker a key: nobody else gets it while its claim lives;
- a killed worker's key is taken by any other worker, of whatever version, within 30 seconds;
- `poke` returns only after the row is durable;
- what a person said waits neither for tickets nor for repositories: it has workers of its own.

A poke carries no state (what a person said is kept beside it, in the same transaction), so a run that begins after a
poke answers it, whatever due time it named: the round itself says when the key is due next (`settle(..., again_at)`).
Accepted losses: none while the database lives; when it is lost, the sweep at start-up pokes every active ticket anew.

Due times and claims are compared with the injected clock of the process that asks.
"""

import asyncio
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy import ColumnElement, Connection, Row, Select, case, delete, func, not_, or_, select, update

from app.controller.clock import Clock
from app.controller.database import Database, insert_into
from app.controller.tables import pokes
from app.controller.words import Spoken, keep

CLAIM = timedelta(seconds=20)
"""How long a claim lives unless extended. Below the promised 30 s, so that pollers have time to notice."""
_WORDS = ("!comment-", "!button-")
"""What the keys of words have in them. A trunk's key may, too: then it is run where words are."""
_NAMED_AT_ONCE = 500
"""Keys in one statement: databases bound how many values one may have."""


@dataclass(frozen=True, slots=True)
class Poke:
    """A key that this worker may run now."""

    key: str
    version: int
    claim: str
    claimed_until: datetime


class First(StrEnum):
    """Which keys a worker takes before others that have been due for longer. Who takes words takes nothing else, and
    nobody else takes them.
    """

    TICKETS = "tickets"
    OTHERS = "others"
    WORDS = "words"


class Settlement(StrEnum):
    """What became of a key after its run."""

    DONE = "done"
    DUE_AGAIN = "due again"
    CLAIM_LOST = "claim lost"


class Extension(StrEnum):
    """Whether a worker may go on with its run."""

    HELD = "held"
    CLAIM_LOST = "claim lost"


class PokeStore:
    """The pokes in a database. Safe to use from several processes at once; closing is the database's."""

    def __init__(self, database: Database, clock: Clock, *, claim: timedelta = CLAIM) -> None:
        self._database = database
        self._clock = clock
        self._claim = claim
        self.poked = asyncio.Event()
        """Set after every poke of this process, for a loop that sleeps until `next_due`; it clears it."""
        self.said = asyncio.Event()
        """The same after every poke of a word."""

    async def poke(self, *keys: str, due_at: datetime | None = None, words: Sequence[Spoken] = ()) -> None:
        """Make the keys due at `due_at` (now by default), or earlier if they are already, and keep what was said.
        Durable on return.
        """
        if not keys:
            return
        await self._database.run(_poke, _Poking(keys, due_at or self._clock(), tuple(words), self._clock()))
        self.poked.set()
        if words:
            self.said.set()

    async def poke_at_once(self, *keys: str) -> dict[str, int]:
        """Make the keys due now. Their rows' versions: a poke that is taken with the same version is this very one, and
        nobody poked since.
        """
        if not keys:
            return {}
        now = self._clock()
        versions = await self._database.run(_poke_at_once, _Poking(keys, now, (), now))
        self.poked.set()
        return versions

    async def take(self, worker: str, first: First = First.TICKETS) -> Poke | None:
        """Claim one key that is due, or whose claim has lapsed; None when there is nothing to do now. Of the keys that
        are due those of kind `first` come before the others, and then the one that waits longest.
        """
        now = self._clock()
        claim = f"{worker} {secrets.token_hex(8)}"
        return await self._database.run(_take, (claim, first, now, now + self._claim))

    async def extend(self, poke: Poke) -> Extension:
        """Renew the claim, counted from now. After CLAIM_LOST another worker may be running the key."""
        until = self._clock() + self._claim
        return await self._database.run(_extend, replace(poke, claimed_until=until))

    async def settle(self, poke: Poke, again_at: datetime | None) -> Settlement:
        """End the run: the key is due again at `again_at`, or as a poke during the run said, or gone.

        CLAIM_LOST changes nothing: the key is another worker's by now.
        """
        return await self._database.run(_settle, (poke, again_at))

    async def next_due(self, first: First = First.TICKETS) -> datetime | None:
        """The earliest moment at which `take` of this kind will find something; None when its queue is empty."""
        return await self._database.run(_next_due, first)


@dataclass(frozen=True, slots=True)
class _Poking:
    keys: tuple[str, ...]
    due_at: datetime
    words: tuple[Spoken, ...]
    now: datetime


def _poke(connection: Connection, items: Sequence[_Poking]) -> Sequence[None]:
    due: dict[str, datetime] = {}
    for item in items:
        for key in item.keys:
            due[key] = min(item.due_at, due.get(key, item.due_at))
    keep(connection, [(spoken, item.now) for item in items for spoken in item.words])
    insert = insert_into(connection, pokes)
    earlier = or_(pokes.c.due_at.is_(None), insert.excluded.due_at < pokes.c.due_at)
    statement = insert.on_conflict_do_update(
        index_elements=[pokes.c.key],
        set_={
            "version": pokes.c.version + 1,
            "due_at": case((earlier, insert.excluded.due_at), else_=pokes.c.due_at),
        },
    )
    # In the order of keys: two processes that lock the same rows in different orders would deadlock.
    # A new row's version is drawn, so that it is never mistaken for that of a row which stood here before.
    rows = [{"key": key, "version": secrets.randbits(48), "due_at": due_at} for key, due_at in sorted(due.items())]
    connection.execute(statement, rows)
    return [None] * len(items)


def _poke_at_once(connection: Connection, items: Sequence[_Poking]) -> Sequence[dict[str, int]]:
    _poke(connection, items)
    wanted = sorted({key for item in items for key in item.keys})
    versions: dict[str, int] = {}
    for start in range(0, len(wanted), _NAMED_AT_ONCE):
        query = select(pokes.c.key, pokes.c.version).where(pokes.c.key.in_(wanted[start : start + _NAMED_AT_ONCE]))
        versions |= {row.key: row.version for row in connection.execute(query)}
    return [{key: versions[key] for key in item.keys} for item in items]


def _take(connection: Connection, items: Sequence[tuple[str, First, datetime, datetime]]) -> Sequence[Poke | None]:
    return [_take_one(connection, *item) for item in items]


def _take_one(connection: Connection, claim: str, first: First, now: datetime, until: datetime) -> Poke | None:
    # Lapsed claims first: behind a queue that never empties they would wait longer than promised.
    lane = _lane(first)
    lapsed = select(pokes).where(lane, pokes.c.claimed_until <= now).order_by(pokes.c.claimed_until)
    waiting = select(pokes).where(lane, pokes.c.claimed_by.is_(None), pokes.c.due_at <= now).order_by(pokes.c.due_at)
    is_ticket = pokes.c.key.contains("#", autoescape=True)
    kind = is_ticket if first is First.TICKETS else ~is_ticket
    row = _first_unlocked(connection, lapsed)
    if first is not First.WORDS:
        row = row or _first_unlocked(connection, waiting.where(kind))
    row = row or _first_unlocked(connection, waiting)
    if row is None:
        return None
    claimed = {"claimed_by": claim, "claimed_until": until, "due_at": None}
    connection.execute(update(pokes).where(pokes.c.key == row.key).values(claimed))
    return Poke(row.key, row.version, claim, until)


def _first_unlocked(connection: Connection, query: Select[tuple[object, ...]]) -> Row[tuple[object, ...]] | None:
    return connection.execute(query.limit(1).with_for_update(skip_locked=True)).first()


def _extend(connection: Connection, items: Sequence[Poke]) -> Sequence[Extension]:
    answers = []
    for poke in items:
        ours = (pokes.c.key == poke.key) & (pokes.c.claimed_by == poke.claim)
        extended = connection.execute(update(pokes).where(ours).values(claimed_until=poke.claimed_until))
        answers.append(Extension.HELD if extended.rowcount else Extension.CLAIM_LOST)
    return answers


def _settle(connection: Connection, items: Sequence[tuple[Poke, datetime | None]]) -> Sequence[Settlement]:
    return [_settle_one(connection, *item) for item in items]


def _settle_one(connection: Connection, poke: Poke, again_at: datetime | None) -> Settlement:
    ours = (pokes.c.key == poke.key) & (pokes.c.claimed_by == poke.claim)
    row = connection.execute(select(pokes).where(ours).with_for_update()).first()
    if row is None:
        return Settlement.CLAIM_LOST
    poked_during_run = row.due_at if row.version != poke.version else None
    due = [moment for moment in (poked_during_run, again_at) if moment is not None]
    if not due:
        connection.execute(delete(pokes).where(ours))
        return Settlement.DONE
    free = {"due_at": min(due), "claimed_by": None, "claimed_until": None}
    connection.execute(update(pokes).where(ours).values(free))
    return Settlement.DUE_AGAIN


def _next_due(connection: Connection, items: Sequence[First]) -> Sequence[datetime | None]:
    return [_next_due_of(connection, first) for first in items]


def _next_due_of(connection: Connection, first: First) -> datetime | None:
    free = select(func.min(pokes.c.due_at)).where(_lane(first), pokes.c.claimed_by.is_(None))
    lapse = select(func.min(pokes.c.claimed_until)).where(_lane(first))
    moments = [connection.execute(query).scalar_one() for query in (free, lapse)]
    return min((moment for moment in moments if moment is not None), default=None)


def _lane(first: First) -> ColumnElement[bool]:
    is_word = or_(*(pokes.c.key.contains(kind, autoescape=True) for kind in _WORDS))
    return is_word if first is First.WORDS else not_(is_word)
