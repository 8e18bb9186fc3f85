"""What a sweep costs: it follows what changed, not what there is. And what it finds, whatever events were lost."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from crowd import REPO, Crowd

from app.controller.sweep import APART, AT_ONCE, THEN
from app.domain.glance import AT_ONCE as SPREAD
from app.domain.glance import EVERY
from app.emulator.acts.dependencies import add_blocked_by

CHANGED = 10


async def test_a_thousand_tickets_of_which_ten_changed(tmp_path: Path) -> None:
    async with Crowd(tmp_path, real=CHANGED, others=990) as crowd:
        await crowd.later(600)
        assert await crowd.sweep() == 1000
        crowd.forget()
        await crowd.later(600)

        crowd.retitle(crowd.real)
        requests, points = crowd.requests(), crowd.points()
        assert await crowd.sweep() == CHANGED
        ran = await crowd.drain()
        assert sorted(ran) == sorted((f"{REPO}#{number}", False) for number in crowd.real)
        assert crowd.requests() - requests <= 30
        assert crowd.points() - points <= 25


@pytest.fixture
async def few(tmp_path: Path) -> AsyncIterator[Crowd]:
    async with Crowd(tmp_path, real=0, others=6) as crowd:
        await crowd.later(600)
        await crowd.sweep()
        crowd.forget()
        await crowd.later(600)
        yield crowd


async def test_an_unchanged_repository_is_not_looked_at_again(few: Crowd) -> None:
    for _ in range(3):
        assert await few.sweep() == 0
        await few.later(600)


async def test_what_was_lost_with_the_database_is_looked_at_once(few: Crowd) -> None:
    few.forget_everything()
    assert await few.sweep() == 6
    few.forget()
    assert await few.sweep() == 0


async def test_a_blocker_that_is_closed_wakes_who_waits_for_it(few: Crowd) -> None:
    world, repo = few.emulated.server.world, few.emulated.repository(REPO)
    waiting, blocker = (repo.issues[number] for number in (few.others[0], few.plain_issue("Fix the press")))
    add_blocked_by(world, waiting, blocker, few.wanda)
    await few.later(600)
    await few.sweep()
    few.forget()
    await few.later(600)
    few.close_issue(blocker.number)
    assert await few.poked() == [f"{REPO}#{waiting.number}"]


async def test_an_issue_that_is_touched_is_looked_at(few: Crowd) -> None:
    few.close_issue(few.others[2])
    assert await few.poked() == [f"{REPO}#{few.others[2]}"]
    # Its touch is listed twice, for GitHub's lists lag; it is news once.
    await few.later(60)
    assert await few.poked() == []


async def test_a_ticket_that_ended_is_looked_at_when_its_open_issue_is_touched(few: Crowd) -> None:
    number = few.plain_issue("Ripen the quinces")
    few.ref(f"refs/agent-recovery/done/{number}")
    few.touch(number)
    assert await few.poked() == [f"{REPO}#{number}"]


async def test_a_new_branch_of_nobodys_ticket_is_found(few: Crowd) -> None:
    number = few.plain_issue("Ripen the medlars")
    await few.poked()
    await few.later(600)
    few.commit(f"ticket/{number}-medlars")
    assert f"{REPO}#{number}" in await few.poked()


async def test_another_policy_has_every_ticket_looked_at(few: Crowd) -> None:
    few.commit_policy("version: 1\nmode: repair\ntrunks: [release-*]\n")
    assert await few.poked() == [f"{REPO}#{number}" for number in sorted(few.others)]


async def test_everybody_has_a_turn_now_and_then(few: Crowd) -> None:
    await few.later(EVERY.total_seconds())
    turns = [await few.poked() for _ in range(3)]
    assert [len(turn) for turn in turns] == [SPREAD, 6 - SPREAD, 0]
    assert sorted([*turns[0], *turns[1]]) == [f"{REPO}#{number}" for number in sorted(few.others)]


async def test_the_tickets_of_a_start_are_spread(tmp_path: Path) -> None:
    async with Crowd(tmp_path, real=0, others=AT_ONCE + 3 * THEN) as crowd:
        await crowd.controller._loop._sweeper.start_up()
        tickets = {f"{REPO}#{number}" for number in crowd.others}
        spread = [len(tickets & set(await crowd.due()))]
        for _ in range(4):
            await crowd.later((APART + timedelta(seconds=1)).total_seconds())
            spread.append(len(tickets & set(await crowd.due())))
        assert spread == [AT_ONCE, THEN, THEN, THEN, 0]


async def test_a_low_number_among_many_branches_is_found(tmp_path: Path) -> None:
    async with Crowd(tmp_path, real=0, others=150) as crowd:
        number = crowd.others[0]
        assert number < 10
        observation = await (await crowd.repository()).observe(number, None, None)
        assert f"ticket/{number}" in {branch.name for branch in observation.branches}
        clues = await (await crowd.repository()).ticket_branches(number)
        assert [b.pulls[0].names for b in clues.own if b.name == f"ticket/{number}"] == [number]
