"""The rules of outages as the database keeps them: one answer for all processes, caps kept, and lost without harm."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.controller import resume_waits as waits
from app.controller.database import Database
from app.controller.resume_waits import Asked, Judged
from app.domain.outage import Limits, Passes, Started, Waits, Wish

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
BEAT = timedelta(minutes=1)
LIMITS = Limits(BEAT, timedelta(minutes=15), mass_limit=5, max_concurrent=3, max_per_hour=10)
REPO = 5_000_000_000


class Service:
    """Looks at tickets of one repository, over one database or several connections to it."""

    def __init__(self, *databases: Database) -> None:
        self.databases = databases
        self.now = NOON
        self.asked = 0

    async def look(self, ticket: int, wish: Wish | None = None, started: Started | None = None) -> Judged:
        self.asked += 1
        database = self.databases[self.asked % len(self.databases)]
        return await database.run(
            waits.judge, Asked(REPO, "acme/shop", str(ticket), wish, started, LIMITS, self.now, 0.0)
        )

    async def dispatch(self, ticket: int, *, by_person: bool = False, subject: str = "1.1") -> Judged:
        return await self.look(ticket, Wish(str(ticket), "dispatch", subject, f"T{ticket}", 0, by_person))

    async def forward(self, time: timedelta) -> None:
        """Time goes by while the service lives."""
        until = self.now + time
        while self.now < until:
            self.now = min(self.now + BEAT, until)
            await self.databases[0].run(waits.live, ("lived", self.now))


@pytest.fixture
async def service(database: Database) -> Service:
    made = Service(database)
    await database.run(waits.live, ("begun", NOON))
    return made


async def test_one_ticket_alone_goes_through_window_and_settling(service: Service) -> None:
    assert (await service.dispatch(1)).verdict.until == NOON + 2 * BEAT
    await service.forward(2 * BEAT)
    assert isinstance((await service.dispatch(1)).verdict, Passes)
    assert isinstance((await service.dispatch(1)).verdict, Passes), "a commit that was lost is made again, in its place"
    begun = Started("1", "a" * 16, service.now)
    await service.look(1, None, begun)
    assert (await service.look(1, None, replace(begun, is_over=True))).verdict is None


async def test_a_mass_is_held_until_a_person_lets_it_go_on_and_then_caps_hold(service: Service) -> None:
    for ticket in range(1, 31):
        await service.dispatch(ticket)
    await service.forward(3 * BEAT)
    verdicts = [(await service.dispatch(ticket)).verdict for ticket in range(1, 31)]
    assert all(isinstance(v, Waits) and v.held for v in verdicts)
    (held,) = await service.databases[0].run(waits.holds_of, None)
    assert (held.since, held.most, len(held.rows)) == (service.now, 5, 30)
    released = await service.databases[0].run(waits.release, REPO)
    assert len(released) == 30
    verdicts = [(await service.dispatch(ticket)).verdict for ticket in range(1, 31)]
    assert [isinstance(v, Passes) for v in verdicts] == [True] * 3 + [False] * 27


async def test_the_place_of_an_agent_that_ended_goes_to_the_next_in_line(service: Service) -> None:
    for ticket in range(1, 6):
        await service.dispatch(ticket)
    await service.forward(3 * BEAT)
    passed = [t for t in range(1, 6) if isinstance((await service.dispatch(t)).verdict, Passes)]
    assert passed == [1, 2, 3]
    for ticket in passed:
        await service.look(ticket, None, Started(str(ticket), f"{ticket}" * 16, service.now))
    ended = await service.look(2, None, Started("2", "2" * 16, service.now, is_over=True))
    assert ended.look == ("4",)
    assert isinstance((await service.dispatch(5)).verdict, Waits), "whoever waits longer goes first"
    assert isinstance((await service.dispatch(4)).verdict, Passes)


async def test_two_processes_share_one_count(database_url: str) -> None:
    first, second = Database(database_url), Database(database_url)
    try:
        service = Service(first, second)
        await first.run(waits.live, ("begun", NOON))
        for ticket in range(1, 6):
            await service.dispatch(ticket)
        await service.forward(3 * BEAT)
        verdicts = [(await service.dispatch(ticket)).verdict for ticket in range(1, 6)]
        assert sum(isinstance(v, Passes) for v in verdicts) == 3
        taken = [await d.run(waits.take_telling, (REPO, NOON, NOON + BEAT)) for d in (first, second)]
        assert [t is not None for t in taken] == [True, False], "one of them tells"
        behind = NOON - timedelta(seconds=20)
        assert await second.run(waits.take_telling, (REPO, behind, behind + BEAT)) is None, "though its clock is behind"
        later = NOON + 2 * BEAT
        assert await second.run(waits.take_telling, (REPO, later, later + BEAT)) is not None, "the first one died"
    finally:
        first.close()
        second.close()


async def test_of_many_that_ask_at_once_none_takes_a_place_that_another_has(database_url: str) -> None:
    databases = [Database(database_url) for _ in range(3)]
    try:
        service = Service(*databases)
        await databases[0].run(waits.live, ("begun", NOON))
        for ticket in range(1, 6):
            await service.dispatch(ticket)
        await service.forward(3 * BEAT)
        judged = await asyncio.gather(*(service.dispatch(ticket) for ticket in (1, 2, 3, 4, 5) * 4))
        passed = {ticket for ticket, one in zip((1, 2, 3, 4, 5) * 4, judged, strict=True) if _passes(one)}
        assert passed == {1, 2, 3}
    finally:
        for database in databases:
            database.close()


def _passes(judged: Judged) -> bool:
    return isinstance(judged.verdict, Passes)


async def test_a_gap_of_the_services_life_opens_a_window_again(service: Service) -> None:
    await service.dispatch(1)
    await service.forward(3 * BEAT)
    service.now += timedelta(hours=5)
    verdict = (await service.dispatch(1)).verdict
    assert isinstance(verdict, Waits)
    assert verdict.until == service.now + 2 * BEAT


async def test_github_away_for_longer_than_a_gap_opens_a_window(service: Service) -> None:
    database = service.databases[0]
    await service.dispatch(1)
    await service.forward(3 * BEAT)
    await database.run(waits.live, ("unanswered", service.now))
    await service.forward(3 * BEAT)
    verdict = (await service.dispatch(1)).verdict
    assert isinstance(verdict, Waits)
    assert verdict.until == service.now + 2 * BEAT


async def test_tickets_that_want_nothing_any_more_end_the_hold(service: Service) -> None:
    for ticket in range(1, 8):
        await service.dispatch(ticket)
    await service.forward(3 * BEAT)
    assert (await service.dispatch(7)).verdict.held
    assert (await service.databases[0].run(waits.forget, (REPO, "1"))) == ("2",)
    assert set((await service.look(2)).look) == {"3", "4", "5", "6", "7"}
    (held,) = await service.databases[0].run(waits.holds_of, REPO)
    assert held.since is None
    assert isinstance((await service.dispatch(3)).verdict, Passes)


async def test_what_a_person_names_passes_a_hold_and_needs_no_settling(service: Service) -> None:
    for ticket in range(1, 8):
        await service.dispatch(ticket)
    await service.forward(3 * BEAT)
    assert (await service.dispatch(7)).verdict.held
    assert isinstance((await service.dispatch(7, by_person=True, subject="1.0")).verdict, Passes)
    assert (await service.dispatch(6)).verdict.held


async def test_a_fifth_of_the_tickets_in_progress_may_be_more(service: Service) -> None:
    await service.databases[0].run(waits.count, (REPO, "acme/shop", 100, NOON))
    for ticket in range(1, 21):
        await service.dispatch(ticket)
    await service.forward(3 * BEAT)
    assert isinstance((await service.dispatch(1)).verdict, Passes)
    for ticket in range(21, 24):
        await service.dispatch(ticket)
    assert (await service.dispatch(2)).verdict.held


async def test_a_repository_that_may_not_be_touched_forgets_its_wishes(service: Service) -> None:
    for ticket in range(1, 8):
        await service.dispatch(ticket)
    await service.databases[0].run(waits.withdraw, REPO)
    (held,) = await service.databases[0].run(waits.holds_of, REPO)
    assert held.rows == ()
    assert held.since is None


async def test_what_records_tell_counts_after_the_table_was_lost(service: Service) -> None:
    for ticket in range(10, 13):
        await service.look(ticket, None, Started(str(ticket), "b" * 16, NOON))
    await service.dispatch(1)
    await service.forward(3 * BEAT)
    assert "max_concurrent" in (await service.dispatch(1)).verdict.reason
    await service.databases[0].run(waits.forget, (REPO, "11"))
    assert isinstance((await service.dispatch(1)).verdict, Passes)


async def test_old_things_are_forgotten(service: Service) -> None:
    await service.dispatch(1)
    for ticket in range(10, 13):
        await service.look(ticket, None, Started(str(ticket), "b" * 16, NOON - timedelta(days=6)))
    await service.forward(3 * BEAT)
    assert isinstance((await service.dispatch(2)).verdict, Waits)
    await service.databases[0].run(waits.drop_forgotten, NOON + timedelta(days=2))
    (held,) = await service.databases[0].run(waits.holds_of, REPO)
    assert held.rows == ()
