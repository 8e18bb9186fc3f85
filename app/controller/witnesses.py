"""Witnesses: the highest point at which each ledger was seen, so that a rollback is noticed.

A witness is only ever raised (the ownership protocol, R20): sequence and generation never fall, and at an
equal sequence it is the same commit. What contradicts it is answered, not stored.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Connection, and_, delete, select, update

from app.controller.database import Database, insert_into
from app.controller.tables import witnesses


@dataclass(frozen=True, slots=True)
class LedgerPoint:
    """One commit of a ledger, as far as a rollback can be told from it."""

    sequence: int
    generation: int
    commit: str


class Verdict(StrEnum):
    """How what is seen now stands to what was seen before."""

    RAISED = "further than ever seen"
    SAME = "as last seen"
    BEHIND = "an earlier sequence or generation than seen before"
    FORKED = "another commit at the same sequence"


@dataclass(frozen=True, slots=True)
class Testimony:
    """The verdict, and the witness that stands after it."""

    verdict: Verdict
    highest: LedgerPoint


class Witnesses:
    """The witnesses in a database, by repository id and ledger ref."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def see(self, repository_id: int, ref: str, point: LedgerPoint) -> Testimony:
        """Compare what is seen now with the witness, and raise it if this is further. Durable on return."""
        return await self._database.run(_see, (repository_id, ref, point))

    async def highest(self, repository_id: int, ref: str) -> LedgerPoint | None:
        """The highest point ever seen; None when the ledger was never seen, or the table was lost."""
        return await self._database.run(_highest, (repository_id, ref))

    async def forget(self, repository_id: int) -> None:
        """Drop all witnesses of a repository, because its ledgers were removed on purpose."""
        await self._database.run(_forget, repository_id)


def _see(connection: Connection, items: Sequence[tuple[int, str, LedgerPoint]]) -> Sequence[Testimony]:
    return [_see_one(connection, *item) for item in items]


def _see_one(connection: Connection, repository_id: int, ref: str, point: LedgerPoint) -> Testimony:
    values = {"sequence": point.sequence, "generation": point.generation, "commit_sha": point.commit}
    insert = insert_into(connection, witnesses).values(repository_id=repository_id, ref=ref, **values)
    # RETURNING and not the row count, which a driver may leave unknown for an INSERT.
    first = insert.on_conflict_do_nothing().returning(witnesses.c.ref)
    if connection.execute(first).first() is not None:
        return Testimony(Verdict.RAISED, point)
    this = and_(witnesses.c.repository_id == repository_id, witnesses.c.ref == ref)
    row = connection.execute(select(witnesses).where(this).with_for_update()).one()
    highest = LedgerPoint(row.sequence, row.generation, row.commit_sha)
    verdict = _compare(point, highest)
    if verdict is not Verdict.RAISED:
        return Testimony(verdict, highest)
    connection.execute(update(witnesses).where(this).values(values))
    return Testimony(verdict, point)


def _compare(point: LedgerPoint, highest: LedgerPoint) -> Verdict:
    if point == highest:
        return Verdict.SAME
    if point.sequence < highest.sequence or point.generation < highest.generation:
        return Verdict.BEHIND
    return Verdict.FORKED if point.sequence == highest.sequence else Verdict.RAISED


def _highest(connection: Connection, items: Sequence[tuple[int, str]]) -> Sequence[LedgerPoint | None]:
    answers: list[LedgerPoint | None] = []
    for repository_id, ref in items:
        this = and_(witnesses.c.repository_id == repository_id, witnesses.c.ref == ref)
        row = connection.execute(select(witnesses).where(this)).first()
        answers.append(None if row is None else LedgerPoint(row.sequence, row.generation, row.commit_sha))
    return answers


def _forget(connection: Connection, items: Sequence[int]) -> Sequence[None]:
    for repository_id in items:
        connection.execute(delete(witnesses).where(witnesses.c.repository_id == repository_id))
    return [None] * len(items)
