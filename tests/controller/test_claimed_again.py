"""A claim that is asked for again after the process that granted it died: the grant is the same, and what had to stand
before it was answered stands.
"""

import pytest
from loop_world import REPO, LoopWorld

from app.controller.controller import Controller
from app.domain.agent_api import ClaimRequest, Grant
from app.domain.keys import TicketKey

LEASE_S = 17 * 60


async def _claim_second(world: LoopWorld, controller: Controller) -> Grant:
    request = ClaimRequest(claim_id="claim-second", observed_generation=1, holder="agent")
    return await controller.claim("acme", "shop", world.ticket, request, "wanda")


async def _taken_over(world: LoopWorld, lost: str, times: int = 2) -> Grant:
    """The second claim, whose check-run GitHub did not get (`drop_before`) or not answer (`drop_after`), twice."""
    await world.published()
    world.emulator.advance(LEASE_S)
    world.emulator.fault(lost, match={"method": "POST", "path_regex": "/check-runs$"}, times=times)
    return await _claim_second(world, world.controller())


def _runs(world: LoopWorld, sha: str) -> list[tuple[int, str, str | None]]:
    runs = world.get(f"commits/{sha}/check-runs?filter=all")["check_runs"]
    return sorted((int(r["external_id"].split(":")[1]), r["status"], r["conclusion"]) for r in runs)


@pytest.mark.parametrize("lost", ["drop_before", "drop_after"])
async def test_the_check_run_of_the_new_generation_stands_before_the_answer(world: LoopWorld, lost: str) -> None:
    first = await _taken_over(world, lost)
    again = await _claim_second(world, world.controller())
    assert (again.generation, again.nonce) == (2, first.nonce)
    assert _runs(world, again.head_sha) == [(1, "completed", "success"), (2, "in_progress", None)]
    before = world.requested()
    await _claim_second(world, world.controller())
    assert world.writes(before) == []


@pytest.mark.parametrize("lost", ["drop_before", "drop_after"])
async def test_what_github_did_not_answer_is_looked_for_and_made_once_more(world: LoopWorld, lost: str) -> None:
    grant = await _taken_over(world, lost, times=1)
    assert _runs(world, grant.head_sha) == [(1, "completed", "success"), (2, "in_progress", None)]


async def test_what_was_left_unfinished_on_an_older_head_is_ended(world: LoopWorld) -> None:
    grant = await _taken_over(world, "drop_after")
    world.agent(grant).push("two")
    controller = world.controller()
    for _ in range(8):
        ended = await controller.round(TicketKey(REPO, world.ticket))
        if ended.again_at is None:
            break
        world.emulator.advance(max(ended.again_at.timestamp() - world.emulator.now(), 0) + 1)
    assert _runs(world, grant.head_sha) == [(1, "completed", "success"), (2, "completed", "cancelled")]
    assert [run[:2] for run in _runs(world, str(world.head(grant.branch)))] == [(2, "completed")]


async def test_an_older_head_that_is_gone_stops_nothing(world: LoopWorld) -> None:
    controller, agent, _ = await world.published()
    agent.push("two")
    world.emulator.fault("status", match={"method": "GET", "path_regex": "/check-runs"}, code=404, times=1)
    await world.settle(controller)
    assert _runs(world, str(world.head(agent.grant.branch))) == [(1, "completed", "success")]
