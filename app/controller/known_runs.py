"""Whose ticket a workflow run was started for, so that an event about the run finds it by the run's id alone.

A memory and no authority: without it, events find the ticket by the number in the run's name, and where none stands
there a run that ended is noticed when the ticket is next looked at.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import Connection, delete, select

from app.controller.clock import Clock
from app.controller.database import Database, insert_into
from app.controller.tables import known_runs

KEPT = timedelta(days=40)
"""GitHub ends a run after 35 days at the latest."""


class KnownRuns:
    """The runs in a database."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def note(self, repository_id: int, run_id: int, key: str) -> None:
        """This run was started for the ticket of this key. Durable on return."""
        await self._database.run(_note, (repository_id, run_id, key, self._clock()))

    async def key_of(self, repository_id: int, run_id: int) -> str | None:
        """The key of the run's ticket; None where it is no run of ours, or not known."""
        return await self._database.run(_key_of, (repository_id, run_id))


_Noted = tuple[int, int, str, datetime]


def _note(connection: Connection, items: Sequence[_Noted]) -> Sequence[None]:
    connection.execute(delete(known_runs).where(known_runs.c.at < max(at for *_, at in items) - KEPT))
    for repository_id, run_id, key, at in items:
        row = insert_into(connection, known_runs).values(repository_id=repository_id, run_id=run_id, key=key, at=at)
        connection.execute(row.on_conflict_do_nothing(index_elements=["repository_id", "run_id"]))
    return [None] * len(items)


def _key_of(connection: Connection, items: Sequence[tuple[int, int]]) -> Sequence[str | None]:
    found = []
    for repository_id, run_id in items:
        which = (known_runs.c.repository_id == repository_id) & (known_runs.c.run_id == run_id)
        found.append(connection.execute(select(known_runs.c.key).where(which)).scalar_one_or_none())
    return found
