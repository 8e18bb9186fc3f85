"""Heartbeats: when a holder was last heard of. Evidence that delays a takeover, never proof of a lease.

Kept for each fencing identity by itself, so that what an old holder still sends never counts for the
present one. Losing the table costs one interval of suspicion.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, and_, delete, select

from app.controller.clock import Clock
from app.controller.database import Database, insert_into
from app.controller.tables import heartbeats


@dataclass(frozen=True, slots=True)
class Holder:
    """One lease: the ledger's name (`42`, or `42.docs-1` for a child) and the fencing identity."""

    repository_id: int
    ticket: str
    generation: int
    nonce: str


class Heartbeats:
    """The heartbeats in a database, stamped by the service's clock and never by the agent."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def beat(self, holder: Holder) -> datetime:
        """Note that this holder was heard of now; returns that moment. Durable on return."""
        now = self._clock()
        await self._database.run(_beat, (holder, now))
        return now

    async def last_seen(self, holder: Holder) -> datetime | None:
        """When exactly this holder was last heard of; None when never, or before the table was lost."""
        return await self._database.run(_last_seen, holder)

    async def forget(self, repository_id: int, ticket: str, *, before_generation: int) -> None:
        """Drop the heartbeats of generations that no longer hold the ticket."""
        await self._database.run(_forget, (repository_id, ticket, before_generation))


def _beat(connection: Connection, items: Sequence[tuple[Holder, datetime]]) -> Sequence[None]:
    latest: dict[tuple[int, str, int, str], datetime] = {}
    for holder, seen_at in items:
        identity = (holder.repository_id, holder.ticket, holder.generation, holder.nonce)
        latest[identity] = max(seen_at, latest.get(identity, seen_at))
    names = ("repository_id", "ticket", "generation", "nonce")
    insert = insert_into(connection, heartbeats)
    statement = insert.on_conflict_do_update(
        index_elements=names,
        set_={"last_seen_at": insert.excluded.last_seen_at},
        where=insert.excluded.last_seen_at > heartbeats.c.last_seen_at,
    )
    rows = [
        dict(zip(names, identity, strict=True)) | {"last_seen_at": seen_at}
        for identity, seen_at in sorted(latest.items())
    ]
    connection.execute(statement, rows)
    return [None] * len(items)


def _last_seen(connection: Connection, items: Sequence[Holder]) -> Sequence[datetime | None]:
    answers: list[datetime | None] = []
    for holder in items:
        this = and_(
            heartbeats.c.repository_id == holder.repository_id,
            heartbeats.c.ticket == holder.ticket,
            heartbeats.c.generation == holder.generation,
            heartbeats.c.nonce == holder.nonce,
        )
        answers.append(connection.execute(select(heartbeats.c.last_seen_at).where(this)).scalar_one_or_none())
    return answers


def _forget(connection: Connection, items: Sequence[tuple[int, str, int]]) -> Sequence[None]:
    for repository_id, ticket, before_generation in items:
        old = and_(
            heartbeats.c.repository_id == repository_id,
            heartbeats.c.ticket == ticket,
            heartbeats.c.generation < before_generation,
        )
        connection.execute(delete(heartbeats).where(old))
    return [None] * len(items)
