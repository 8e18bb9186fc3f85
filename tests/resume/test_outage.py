"""Many holders that fall silent at once: the App asks a person, once, and starts no more agents than it may.

Thirty leases that ran out while the service was away for five hours are the decisive play; the others are what stands
around it: one ticket alone, two processes, a lost database, a holder that shows itself, the switches.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from loop_world import REPO
from resume_world import HEARTBEAT_S, LEASE_OVER_S, ResumeWorld, alive, drain
from spoken_world import Replica

from app.domain import outage_notice
from app.domain.agent_api import Grant

MANY = 30
SOME = 7
"""More than the policy's limit of five, and cheaper."""
RESUMES_LATE = "resume: {dispatch: workflow_dispatch, max_age: 24h}\n"
AWAY_S = 5 * 3600
NOTICED_S = 6 * 60
"""Whoever closes a notice without an event waits so long at most."""


class Outage:
    """A world in which `grants` hold tickets, and the service that granted them."""

    def __init__(self, world: ResumeWorld, file: Path) -> None:
        self.world, self.file = world, file
        self.service = world.replica(file)
        self.grants: list[Grant] = []

    async def begin(self, number: int) -> None:
        """So many tickets are claimed, and everything about them is shown."""
        world = self.world
        tickets = [world.ticket]
        tickets += [world.emulator.issue(REPO, f"Ripen {n}", author="wanda")["number"] for n in range(1, number)]
        for ticket in tickets:
            grant = await world.claimed(self.service, ticket=ticket)
            assert isinstance(grant, Grant), grant
            self.grants.append(grant)
        await drain(self.service)
        await world.pass_time(HEARTBEAT_S, self.service)

    async def restart(self, file: Path | None = None, away_s: float = AWAY_S, *, resume: bool = True) -> Replica:
        """The service goes away, and another process comes back; on another database where one is named."""
        await self.world.close_replicas()
        self.world.emulator.advance(away_s)
        self.service = await self.another(file or self.file, resume=resume)
        await drain(self.service)
        return self.service

    async def another(self, file: Path, *, resume: bool = True) -> Replica:
        service = self.world.replica(file, resume=resume)
        await service.github.installations()
        await service.controller.resuming.start()
        await service.controller.start_up()
        return service

    def notices(self, state: str = "all") -> list[dict[str, Any]]:
        found = self.world.get(f"issues?state={state}")
        return [i for i in found if (i["body"] or "").startswith(outage_notice.MARKER)]

    def ledgers(self) -> list[str]:
        refs = self.world.get("git/matching-refs/agent-recovery/")
        return sorted(f"{ref['ref']} {ref['object']['sha']}" for ref in refs)

    def close(self, notice: dict[str, Any]) -> None:
        self.world.ask("wanda", "PATCH", f"issues/{notice['number']}", state="closed")

    async def told_by(self, *services: Replica) -> None:
        """What happens until a mass is told: the window, the time to settle, a tick."""
        await self.world.pass_time(5 * HEARTBEAT_S, *services)


@pytest.fixture
async def outage(world: ResumeWorld, tmp_path: Path) -> Outage:
    world.says(more=RESUMES_LATE)
    return Outage(world, tmp_path / "service.db")


@pytest.mark.timeout(300)
async def test_thirty_leases_that_ran_out_in_an_outage_of_five_hours(outage: Outage) -> None:
    world = outage.world
    await outage.begin(MANY)
    restarted = world.mark()
    service = await outage.restart()
    before = outage.ledgers()
    await outage.told_by(service)

    assert len(world.asked(restarted)) <= 5 * MANY + 60, "each ticket is looked at when it settled, and not more often"
    (notice,) = outage.notices()
    assert notice["state"] == "open"
    assert all(f"| #{grant.ticket} |" in notice["body"] for grant in outage.grants)
    assert (world.dispatches(), world.reports()) == (0, [])
    assert outage.ledgers() == before, "nothing was decided in silence"

    mark = world.mark()
    await world.pass_time(10 * HEARTBEAT_S, service)
    assert [(i["number"], i["comments"]) for i in outage.notices()] == [(notice["number"], 0)]
    assert world.writes(mark) == [], "what is held costs no write"
    assert len(world.asked(mark)) <= 45, "and few reads, however many are held"
    about_it = [route for _, route in world.asked(mark, f"issues/{notice['number']}")]
    assert len(about_it) <= 3, "the notice is looked at every five minutes"

    outage.close(notice)
    mark = world.mark()
    await world.pass_time(NOTICED_S, service)
    assert world.dispatches(mark) == 3, "max_concurrent"
    assert len(outage.notices()) == 1
    await world.pass_time(10 * HEARTBEAT_S, service)
    assert world.dispatches(mark) == 3

    run = world.runs()[0]
    # The others go on waiting for a machine.
    world.ended(run, "cancelled")
    # What the event of the run's end would do.
    await service.controller._pokes.poke(f"{REPO}#{str(run['display_title']).split()[2]}")
    await world.pass_time(10 * HEARTBEAT_S, service)
    assert world.dispatches(mark) == 4, "the place of an agent that is over goes to the next"
    assert (len(outage.notices()), world.reports()) == (1, [])


async def test_one_ticket_alone_is_not_held(outage: Outage) -> None:
    await outage.begin(1)
    service = await outage.restart()
    await outage.world.pass_time(2 * HEARTBEAT_S - 1, service)
    assert outage.world.dispatches() == 0
    await outage.world.pass_time(2 * HEARTBEAT_S, service)
    assert outage.world.dispatches() == 1
    assert outage.notices() == []


async def test_a_holder_that_shows_itself_in_the_window_is_left_alone(outage: Outage) -> None:
    await outage.begin(2)
    living, dead = outage.grants
    service = await outage.restart(away_s=LEASE_OVER_S)
    await outage.world.pass_time(6 * HEARTBEAT_S, service, beating=[living])
    assert (await outage.world.record(service, living.ticket)).dispatched is None
    assert outage.world.dispatches() == 1
    assert (await outage.world.record(service, dead.ticket)).dispatched is not None


async def test_two_processes_tell_once_and_keep_the_caps_together(outage: Outage) -> None:
    world = outage.world
    await outage.begin(SOME)
    first = await outage.restart()
    second = await outage.another(outage.file)
    services = (first, second)
    for _ in range(6):
        world.emulator.advance(HEARTBEAT_S)
        for service in services:
            await service.github.installations()
        await asyncio.gather(*(_turned(service) for service in services))
    (notice,) = outage.notices()
    assert world.dispatches() == 0
    outage.close(notice)
    for _ in range(8):
        world.emulator.advance(HEARTBEAT_S)
        for service in services:
            await service.github.installations()
        await asyncio.gather(*(_turned(service) for service in services))
    assert world.dispatches() == 3
    assert len(outage.notices()) == 1


async def _turned(service: Replica) -> None:
    await alive(service)
    await drain(service)


async def test_a_lost_database_finds_the_notice_again_and_holds_on(outage: Outage) -> None:
    world = outage.world
    await outage.begin(SOME)
    service = await outage.restart()
    await outage.told_by(service)
    (notice,) = outage.notices()
    mark = world.mark()
    service = await outage.restart(world.folder / "another.db", away_s=1)
    await outage.told_by(service)
    assert world.dispatches() == 0
    assert [i["number"] for i in outage.notices()] == [notice["number"]]
    listed = [route for _, route in world.asked(mark) if route.endswith("/issues")]
    assert len(listed) <= 2, "looked for once; the other one is the sweep's"
    outage.close(notice)
    await world.pass_time(NOTICED_S, service)
    assert world.dispatches() == 3
    service = await outage.restart(world.folder / "third.db", away_s=1)
    await outage.told_by(service)
    assert world.dispatches() == 3, "who was started is counted from the records"


async def test_a_single_ticket_that_a_person_names_goes_on(outage: Outage) -> None:
    world = outage.world
    await outage.begin(SOME)
    service = await outage.restart()
    await outage.told_by(service)
    named = outage.grants[3].ticket
    await world.say(service, int(named), "/recovery recover")
    await world.pass_time(2 * HEARTBEAT_S, service)
    assert world.dispatches() == 1
    assert (await world.record(service, named)).dispatched is not None
    (notice,) = outage.notices("open")
    assert f"| #{named} |" not in notice["body"]
    outage.close(notice)
    await service.controller._pokes.poke(f"{REPO}#{notice['number']}")
    await drain(service)
    assert world.dispatches() == 3, "the event of its closing is heard at once"
    assert "wanda closed" in outage.notices()[0]["body"]


async def test_when_few_are_left_the_app_closes_the_notice_itself(outage: Outage) -> None:
    world = outage.world
    await outage.begin(SOME)
    service = await outage.restart()
    await outage.told_by(service)
    for grant in outage.grants[:2]:
        world.ask("wanda", "PATCH", f"issues/{grant.ticket}", state="closed", state_reason="not_planned")
        await service.controller._pokes.poke(f"{REPO}#{grant.ticket}")
    await world.pass_time(3 * HEARTBEAT_S, service)
    (notice,) = outage.notices()
    assert notice["state"] == "closed"
    assert "few" in notice["body"]
    assert world.dispatches() == 3


@pytest.mark.drill
async def test_a_notice_that_no_person_closed_is_opened_again(outage: Outage) -> None:
    world = outage.world
    await outage.begin(SOME)
    service = await outage.restart()
    await outage.told_by(service)
    (notice,) = outage.notices()
    repo, _ = await service.controller._views.ledger("acme", "shop")
    await repo.edit_own_issue(notice["number"], notice["body"], "closed")
    await world.pass_time(NOTICED_S, service)
    assert [i["state"] for i in outage.notices()] == ["open"]
    assert world.dispatches() == 0


async def test_nothing_happens_while_the_operator_or_the_policy_says_so(outage: Outage) -> None:
    world = outage.world
    await outage.begin(SOME)
    before = outage.ledgers()
    service = await outage.restart(resume=False)
    await outage.told_by(service)
    assert (outage.notices(), world.dispatches(), outage.ledgers()) == ([], 0, before)
    service = await outage.restart(away_s=1)
    await world.stops.stop(REPO, None, by="olga", reason="an incident", now=world.now)
    await outage.told_by(service)
    assert (outage.notices(), world.dispatches(), outage.ledgers()) == ([], 0, before)
    await world.stops.start(REPO)
    await outage.told_by(service)
    (notice,) = outage.notices()
    world.says("observe", RESUMES_LATE)
    await world.pass_time(2 * NOTICED_S, service)
    mark = world.mark()
    outage.close(notice)
    await world.pass_time(NOTICED_S, service)
    assert world.writes(mark) == []
    assert world.dispatches() == 0


@pytest.mark.parametrize(
    "more",
    ["resume: {dispatch: workflow_dispatch}\n", pytest.param("", marks=pytest.mark.drill)],
    ids=["dispatching", "no dispatch"],
)
async def test_after_an_outage_longer_than_the_age_nothing_is_given_up_in_silence_either(
    outage: Outage, more: str
) -> None:
    world = outage.world
    world.says(more=more)
    await outage.begin(SOME)
    service = await outage.restart()
    before = outage.ledgers()
    await outage.told_by(service)
    (notice,) = outage.notices()
    assert notice["body"].count("it is ended") == SOME
    assert (world.dispatches(), world.reports(), outage.ledgers()) == (0, [], before)


async def test_a_notice_of_a_time_before_the_database_was_lost_is_closed_where_nothing_is_held(outage: Outage) -> None:
    world = outage.world
    await outage.begin(1)
    repo, _ = await outage.service.controller._views.ledger("acme", "shop")
    await repo.open_issue(outage_notice.TITLE, f"{outage_notice.MARKER}\nTold once.")
    await world.pass_time(10 * HEARTBEAT_S, outage.service)
    assert [i["state"] for i in outage.notices()] == ["open"]
    await world.pass_time(8 * HEARTBEAT_S, outage.service)
    assert [i["state"] for i in outage.notices()] == ["closed"]


@pytest.mark.drill
async def test_a_second_notice_that_came_late_is_closed(outage: Outage) -> None:
    world = outage.world
    await outage.begin(SOME)
    service = await outage.restart()
    await outage.told_by(service)
    (first,) = outage.notices()
    repo, _ = await service.controller._views.ledger("acme", "shop")
    await repo.open_issue(outage_notice.TITLE, f"{outage_notice.MARKER}\nThe same, by a request that was given up.")
    await world.pass_time(NOTICED_S, service)
    assert [i["number"] for i in outage.notices("open")] == [first["number"]]
    assert len(outage.notices()) == 2
