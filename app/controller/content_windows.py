"""How much new content each payer made lately, counted over all replicas of the service that share a database.

GitHub counts an installation's new Issues, pull requests, comments and reviews together, whichever process makes them.
So a place in the windows of a minute and of an hour is taken in the database, before the write is sent: one row a
payer, locked while it is read and written, so that of many replicas none takes a place that another one has.

Accepted loss: a place that was taken for a write that then was not sent stays taken until it is too old. A database
that does not answer, or was lost, only loses the common count: each process still keeps its own (`github.pace`).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog
from sqlalchemy import Connection, select, update
from sqlalchemy.exc import SQLAlchemyError

from app.controller.database import Database, DatabaseClosed, insert_into
from app.controller.tables import content_windows
from app.github.pace import CONTENT

BUCKET_S = 5
"""Writes are counted by so many seconds; one counts until its whole bucket is too old, so never too short."""

log = structlog.get_logger()

Buckets = dict[int, int]
"""How many writes were made in the bucket that begins at this second."""


@dataclass(frozen=True, slots=True)
class _Ask:
    payer: str
    now: float
    takes: bool


class ContentWindows:
    """The windows in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def take(self, payer: str, now: datetime) -> float:
        """Take a place for one write and return 0, or take none and return the seconds until one may be free."""
        return await self._ask(_Ask(payer, now.timestamp(), takes=True))

    async def wait_s(self, payer: str, now: datetime) -> float:
        """Seconds until a place may be free; 0 where one is. Takes none."""
        return await self._ask(_Ask(payer, now.timestamp(), takes=False))

    async def _ask(self, ask: _Ask) -> float:
        try:
            return await self._database.run(_answered, ask)
        except (SQLAlchemyError, DatabaseClosed, OSError) as problem:
            log.warning("new content is counted by this process alone", problem=type(problem).__name__)
            return 0.0


def wait_in(made: Mapping[int, int], now: float, windows: Sequence[tuple[float, int]] = CONTENT) -> float:
    """Seconds until one more write fits into every window (`seconds`, `most`)."""
    return max(_wait(made, now, seconds, most) for seconds, most in windows)


def _wait(made: Mapping[int, int], now: float, seconds: float, most: int) -> float:
    ends = sorted((begin + BUCKET_S + seconds, count) for begin, count in made.items())
    inside = [(end, count) for end, count in ends if end > now]
    over = sum(count for _, count in inside) - most + 1
    if over <= 0:
        return 0.0
    for end, count in inside:
        over -= count
        if over <= 0:
            return end - now
    return 0.0


def _answered(connection: Connection, items: Sequence[_Ask]) -> Sequence[float]:
    # In one order everywhere, so that two replicas never wait for each other's rows.
    held: dict[str, Buckets] = {payer: _locked(connection, payer) for payer in sorted({ask.payer for ask in items})}
    answers: list[float] = []
    for ask in items:
        made = held[ask.payer]
        wait = wait_in(made, ask.now, CONTENT)
        if wait == 0.0 and ask.takes:
            begin = int(ask.now // BUCKET_S) * BUCKET_S
            made[begin] = made.get(begin, 0) + 1
        answers.append(wait)
    for payer in {ask.payer for ask in items if ask.takes}:
        latest = max(ask.now for ask in items if ask.payer == payer)
        _keep(connection, payer, held[payer], latest)
    return answers


def _locked(connection: Connection, payer: str) -> Buckets:
    if connection.dialect.name == "postgresql":
        # Nothing can be locked that is not there. SQLite's transactions are alone from their beginning.
        new = insert_into(connection, content_windows).values(payer=payer, made="{}")
        connection.execute(new.on_conflict_do_nothing())
    asked = select(content_windows.c.made).where(content_windows.c.payer == payer).with_for_update()
    text = connection.execute(asked).scalar_one_or_none()
    return {int(begin): int(count) for begin, count in json.loads(text or "{}").items()}


def _keep(connection: Connection, payer: str, made: Buckets, now: float) -> None:
    oldest = now - max(seconds for seconds, _ in CONTENT) - BUCKET_S
    text = json.dumps({str(begin): count for begin, count in sorted(made.items()) if begin > oldest})
    done = connection.execute(update(content_windows).where(content_windows.c.payer == payer).values(made=text))
    if done.rowcount == 0:
        connection.execute(insert_into(connection, content_windows).values(payer=payer, made=text))
