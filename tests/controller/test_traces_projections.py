"""Projections that come late, or that several tickets share: what stands at last is what the ledger says."""

import secrets
from typing import Any

import forging
import pytest
from loop_world import REPO, Agent, LoopWorld

from app.controller.controller import Controller
from app.domain.agent_api import ClaimRequest
from app.domain.external_id import parse
from app.domain.keys import TicketKey
from app.domain.outcome import Code, Refused
from app.github.errors import Unanswered
from app.ledger.git_outcomes import Pushed

OURS = "app:agent-recovery"
PATCH = {"method": "PATCH", "path_regex": "/check-runs/[0-9]+$", "identity": OURS}


def _spend(world: LoopWorld, requests: int) -> None:
    """Lets requests go by, so that what GitHub carries out late comes now."""
    for _ in range(requests):
        world.head("main")


def _newest(world: LoopWorld, sha: str) -> dict[str, Any]:
    """The one check-run that GitHub shows and that a rule looks at."""
    (run,) = world.get(f"commits/{sha}/check-runs")["check_runs"]
    return dict(run)


async def _taken_over(world: LoopWorld, controller: Controller) -> None:
    """A claim of the next generation, whose agent has shown no evidence yet."""
    world.emulator.advance(17 * 60)
    request = ClaimRequest(claim_id=secrets.token_hex(8), observed_generation=1, holder="second")
    assert (await controller.claim("acme", "shop", world.ticket, request, "wanda")).generation == 2


@pytest.mark.parametrize("next_look", ["the same process", "another replica"])
async def test_green_check_projected_late_after_a_takeover(world: LoopWorld, next_look: str) -> None:
    """Trace: green check projected late after a takeover: the new generation is not green without evidence."""
    controller = world.controller()
    agent = world.agent(await world.claim(controller))
    sha = agent.push("one").code_sha
    world.emulator.fault("late", match=PATCH, after=60)
    with pytest.raises(Unanswered):
        await controller.round(TicketKey(REPO, world.ticket))
    assert [run["conclusion"] for run in world.check_runs(sha)] == [None]
    await _taken_over(world, controller)
    _spend(world, 60)
    assert [run["conclusion"] for run in world.check_runs(sha)] == ["success", None]
    for _ in range(2):
        replica = controller if next_look == "the same process" else world.controller()
        await world.settle(replica)
        newest = _newest(world, sha)
        assert (newest["status"], newest["conclusion"]) == ("in_progress", None)
        assert [p.generation for p in parse(newest["external_id"])] == [2]


async def test_handoff_comment_edited_late_after_a_takeover(world: LoopWorld) -> None:
    """Trace: green check projected late after a takeover, and the same for the handoff comment: rewritten when seen."""
    controller, agent, _ = await world.published()
    (pull,) = world.get("pulls?state=all")
    match = {"method": "PATCH", "path_regex": "/issues/comments/[0-9]+$", "identity": OURS}
    world.emulator.fault("late", match=match, after=60)
    agent.push("two")
    with pytest.raises(Unanswered):
        await controller.round(TicketKey(REPO, world.ticket))
    await _taken_over(world, controller)
    await world.settle(controller)
    (right,) = world.comments(pull["number"], "agent-recovery:handoff")
    _spend(world, 60)
    (late,) = world.comments(pull["number"], "agent-recovery:handoff")
    assert late["body"] != right["body"]
    await world.settle(world.controller())
    (shown,) = world.comments(pull["number"], "agent-recovery:handoff")
    assert (shown["id"], shown["body"]) == (right["id"], right["body"])


async def test_check_run_of_an_old_generation_created_late_hides_nothing(world: LoopWorld) -> None:
    """Trace: green check projected late after a takeover: here its run is born only then, and is the newest."""
    controller = world.controller()
    agent = world.agent(await world.claim(controller))
    sha = agent.push("one").code_sha
    world.emulator.fault("late", match={"method": "POST", "path_regex": "/check-runs$", "identity": OURS}, after=60)
    await controller.round(TicketKey(REPO, world.ticket))
    world.emulator.advance(17 * 60)
    await world.claim(controller, 1)
    await world.settle(controller)
    assert _newest(world, sha)["conclusion"] == "success"
    _spend(world, 60)
    assert _newest(world, sha)["conclusion"] is None
    await world.settle(controller)
    newest = _newest(world, sha)
    assert (newest["conclusion"], [p.generation for p in parse(newest["external_id"])]) == ("success", [2])


async def _second_ticket(world: LoopWorld, controller: Controller, first: Agent, sha: str) -> int:
    """Another ticket whose holder publishes the very same commit."""
    world.ticket = world.emulator.issue(REPO, "Ripen the pears", author="wanda")["number"]
    other = world.agent(await world.claim(controller))
    world.git(other.folder, "fetch", "-q", "origin", first.grant.branch)
    assert isinstance(other.push_commit(sha, "same"), Pushed)
    return world.ticket


async def test_two_tickets_on_one_sha(world: LoopWorld) -> None:
    """Trace: two tickets on one SHA: the worst verdict, the same from both, listing both, and then nothing more."""
    controller, first, sha = await world.published()
    numbers = [world.ticket]
    numbers.append(await _second_ticket(world, controller, first, sha))
    for _ in range(2):
        for number in numbers:
            world.ticket = number
            await world.settle(controller)
    runs = world.check_runs(sha)
    assert len(runs) == 2
    assert [run["conclusion"] for run in runs] == ["action_required", "action_required"]
    assert {run["output"]["title"] for run in runs} == {
        f"Several tickets share this commit: #{numbers[0]}, #{numbers[1]}"
    }
    for run in runs:
        assert sorted(p.ticket for p in parse(run["external_id"])) == numbers
    last = world.emulator.requests()[-1]["n"]
    for replica in (controller, world.controller()):
        for number in numbers:
            world.ticket = number
            assert (await world.settle(replica))[-1].again_at is None
    assert world.writes(last) == []


async def test_two_tickets_on_one_sha_with_the_first_ones_green_late(world: LoopWorld) -> None:
    """Trace: two tickets on one SHA, and a green of before that GitHub carries out after the red."""
    controller = world.controller()
    first = world.agent(await world.claim(controller))
    sha = first.push("one").code_sha
    world.emulator.fault("late", match=PATCH, after=150)
    numbers = [world.ticket]
    with pytest.raises(Unanswered):
        await controller.round(TicketKey(REPO, world.ticket))
    numbers.append(await _second_ticket(world, controller, first, sha))
    for number in (*numbers, *numbers):
        world.ticket = number
        await world.settle(controller)
    assert [run["conclusion"] for run in world.check_runs(sha)] == ["action_required", "action_required"]
    _spend(world, 150)
    assert "success" in [run["conclusion"] for run in world.check_runs(sha)]
    for number in numbers:
        world.ticket = number
        await world.settle(controller)
    assert [run["conclusion"] for run in world.check_runs(sha)] == ["action_required", "action_required"]


@pytest.mark.parametrize("database", ["kept", "lost"])
async def test_ledger_rolled_back_between_two_projections(world: LoopWorld, database: str) -> None:
    """Trace: ledger rolled back, with and without the database; between two projections only the table knows (R20)."""
    kept = world.folder / "kept.db"
    controller = world.controller(database_file=kept)
    agent = world.agent(await world.claim(controller))
    sha = agent.push("one").code_sha
    await world.settle(controller)
    projected, _ = forging.fetched(agent)
    later = agent.push("two").code_sha
    await controller.brief("acme", "shop", world.ticket)
    forging.point(agent, projected)
    replica = world.controller(database_file=kept if database == "kept" else None)
    with pytest.raises(Refused) as refused:
        await world.claim(replica, 1)
    if database == "kept":
        assert refused.value.blocked.code is Code.FROZEN
        return
    # Nobody remembers the later commit: the ledger is believed. But the branch shows work that it does not name, and
    # that is never green.
    assert refused.value.blocked.code is Code.LEASE_LIVE
    await world.settle(replica)
    assert world.head(agent.grant.branch) == later
    assert [run["conclusion"] for run in world.check_runs(later)] == ["action_required"]
    assert [run["conclusion"] for run in world.check_runs(sha)] == ["success"]
