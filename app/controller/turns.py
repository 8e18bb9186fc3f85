"""Turns on trunks, in the database: whose ticket is brought up to date and merged next where rules want the newest
commit.

Losing the table loses the order: then two tickets may be brought up to date at once and one of them once more. Two
processes that ask at once are put in order by the database.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, RowMapping, delete, select

from app.controller.database import Database, insert_into
from app.controller.pokes import PokeStore
from app.controller.tables import landing_turns
from app.controller.view import View
from app.domain.keys import TicketKey
from app.domain.landing_actions import Merge, UpdateBranch
from app.domain.landing_steps import on_its_way
from app.domain.landing_turns import Asking, Turn, Waits, asked, following
from app.domain.plan import Plan, Wait
from app.domain.priority import rank_of
from app.domain.situation import Situation
from app.domain.ticket_id import ticket_id


@dataclass(frozen=True, slots=True)
class Row:
    """A trunk of a repository."""

    repository_id: int
    trunk: str


class Turns:
    """Gives turns out, and takes them back."""

    def __init__(self, database: Database, pokes: PokeStore) -> None:
        self._database = database
        self._pokes = pokes

    async def admitted(self, view: View, situation: Situation, plan: Plan) -> Plan:
        """The plan, with its merge or update only where it is the ticket's turn. A ticket that is not on its way any
        more gives its turn back.
        """
        row = _row(view)
        if row is None or (situation.landing is None and situation.after_merge is None):
            return plan
        if not on_its_way(situation):
            await self._give_back(view, row)
            return plan
        priority = rank_of(situation.observation, situation.policy)
        answer = await self._database.run(_ask, (row, str(view.ticket), priority, view.now))
        if isinstance(answer, Turn) or not any(isinstance(a, Merge | UpdateBranch) for a in plan):
            return plan
        others = (a for a in plan if not isinstance(a, Merge | UpdateBranch))
        return (*others, Wait(f"#{answer.ticket} is on its way to the same trunk", answer.until))

    async def ended(self, view: View) -> None:
        """The ticket is over: whoever is next is looked at."""
        row = _row(view)
        if row is not None:
            await self._give_back(view, row)

    async def _give_back(self, view: View, row: Row) -> None:
        successor = await self._database.run(_leave, (row, str(view.ticket), view.now))
        if successor is not None and (ticket := ticket_id(successor)) is not None:
            await self._pokes.poke(str(TicketKey(view.repo.full_name, ticket)))


def _row(view: View) -> Row | None:
    trunk = view.record.work.trunk if view.record is not None and view.record.work is not None else None
    return Row(view.repo.id, trunk) if trunk is not None and view.record is not None else None


def _read(connection: Connection, row: Row) -> list[Asking]:
    statement = select(landing_turns).where(
        landing_turns.c.repository_id == row.repository_id, landing_turns.c.trunk == row.trunk
    )
    return [_asking(found) for found in connection.execute(statement).mappings()]


def _asking(found: RowMapping) -> Asking:
    return Asking(
        ticket=found["ticket"],
        priority=found["priority"],
        since=found["since"],
        asked_at=found["asked_at"],
        began_at=found["began_at"],
        until=found["granted_until"],
    )


def _ask(connection: Connection, items: Sequence[tuple[Row, str, int, datetime]]) -> Sequence[Turn | Waits]:
    answers: list[Turn | Waits] = []
    for row, ticket, priority, now in items:
        mine, answer = asked(_read(connection, row), ticket, priority, now=now)
        insert = insert_into(connection, landing_turns)
        values = {
            "priority": mine.priority,
            "since": mine.since,
            "asked_at": mine.asked_at,
            "began_at": mine.began_at,
            "granted_until": mine.until,
        }
        statement = insert.on_conflict_do_update(index_elements=("repository_id", "trunk", "ticket"), set_=values)
        connection.execute(
            statement, {"repository_id": row.repository_id, "trunk": row.trunk, "ticket": ticket} | values
        )
        answers.append(answer)
    return answers


def _leave(connection: Connection, items: Sequence[tuple[Row, str, datetime]]) -> Sequence[str | None]:
    successors: list[str | None] = []
    for row, ticket, now in items:
        found = _read(connection, row)
        mine = next((a for a in found if a.ticket == ticket), None)
        if mine is None:
            successors.append(None)
            continue
        connection.execute(
            delete(landing_turns).where(
                landing_turns.c.repository_id == row.repository_id,
                landing_turns.c.trunk == row.trunk,
                landing_turns.c.ticket == ticket,
            )
        )
        others = [a for a in found if a.ticket != ticket]
        free = mine.has_turn(now) and not any(a.has_turn(now) for a in others)
        successor = following(others, now=now) if free else None
        successors.append(successor.ticket if successor is not None else None)
    return successors
