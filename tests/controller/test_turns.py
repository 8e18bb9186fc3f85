"""Turns on trunks as the database keeps them: one at a time for each trunk, given back, and lost without harm."""

from datetime import UTC, datetime, timedelta

from app.controller.database import Database
from app.controller.turns import Row, _ask, _leave
from app.domain.landing_turns import TURN, Turn, Waits

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
TRUNK, OTHER = Row(5_000_000_000, "release-1"), Row(5_000_000_000, "release-2")


async def test_one_ticket_of_a_trunk_has_its_turn_and_gives_it_to_the_next(database: Database) -> None:
    async def ask(ticket: str, row: Row = TRUNK, priority: int = 2, minutes: int = 0) -> Turn | Waits:
        return await database.run(_ask, (row, ticket, priority, NOW + timedelta(minutes=minutes)))

    assert await ask("1") == Turn(NOW + TURN)
    assert await ask("2") == Waits("1", NOW + TURN)
    assert await ask("3", priority=0, minutes=1) == Waits("1", NOW + TURN)
    assert await ask("2", row=OTHER) == Turn(NOW + TURN), "each trunk has its own"
    assert await ask("1", minutes=2) == Turn(NOW + timedelta(minutes=2) + TURN)
    assert await database.run(_leave, (TRUNK, "2", NOW)) is None, "who only waits frees nothing"
    assert await ask("2", minutes=3) == Waits("1", NOW + timedelta(minutes=2) + TURN)
    assert await database.run(_leave, (TRUNK, "1", NOW + timedelta(minutes=4))) == "3"
    assert isinstance(await ask("3", priority=0, minutes=5), Turn)
    assert await database.run(_leave, (TRUNK, "1", NOW + timedelta(minutes=5))) is None
