"""Permits whose answers were lost: what stands after the next rounds, whatever GitHub carries out, and when."""

import pytest
from loop_world import REPO, LoopWorld

from app.controller.controller import Controller
from app.domain.keys import TicketKey

OURS = "app:agent-recovery"
REPLICAS = pytest.mark.parametrize("replica", ["the same process", "another replica"])


async def _other(world: LoopWorld, controller: Controller, replica: str) -> Controller:
    """Who looks next: a restarted or second service must first let the permits' time go by."""
    if replica == "the same process":
        return controller
    world.emulator.advance(61)
    return world.controller()


def _spend(world: LoopWorld, requests: int) -> None:
    """Lets requests go by, so that what GitHub carries out late comes now."""
    for _ in range(requests):
        world.head("main")


@REPLICAS
async def test_comment_sent_answer_lost_read_finds_nothing_github_runs_both(world: LoopWorld, replica: str) -> None:
    """Trace: comment sent, answer lost, read finds nothing, GitHub runs both: the oldest of our App stays."""
    controller = world.controller()
    agent = world.agent(await world.claim(controller))
    agent.push("one")
    match = {"method": "POST", "path_regex": "/issues/[0-9]+/comments$", "identity": OURS}
    world.emulator.fault("late", match=match, after=60)
    ended = await controller.round(TicketKey(REPO, world.ticket))
    assert ended.reason == "GitHub did not answer a write"
    (pull,) = world.get("pulls?state=all")
    assert world.comments(pull["number"], "agent-recovery:handoff") == []
    controller = await _other(world, controller, replica)
    await world.settle(controller)
    (first,) = world.comments(pull["number"], "agent-recovery:handoff")
    _spend(world, 60)
    assert len(world.comments(pull["number"], "agent-recovery:handoff")) == 2
    ended = (await world.settle(controller))[-1]
    assert ended.reason == "as it should be"
    assert [c["id"] for c in world.comments(pull["number"], "agent-recovery:handoff")] == [first["id"]]


@REPLICAS
async def test_check_run_sent_answer_lost_read_finds_nothing_github_runs_both(world: LoopWorld, replica: str) -> None:
    """Trace: comment sent, answer lost, read finds nothing, GitHub runs both: none can be removed, so both say the
    same.
    """
    controller = world.controller()
    agent = world.agent(await world.claim(controller))
    sha = agent.push("one").code_sha
    match = {"method": "POST", "path_regex": "/check-runs$", "identity": OURS}
    world.emulator.fault("late", match=match, after=60)
    await controller.round(TicketKey(REPO, world.ticket))
    assert world.check_runs(sha) == []
    controller = await _other(world, controller, replica)
    await world.settle(controller)
    assert [run["conclusion"] for run in world.check_runs(sha)] == ["success"]
    _spend(world, 60)
    assert [run["conclusion"] for run in world.check_runs(sha)] == ["success", None]
    ended = (await world.settle(controller))[-1]
    assert ended.reason == "as it should be"
    assert [run["conclusion"] for run in world.check_runs(sha)] == ["success", "success"]
    (latest,) = world.get(f"commits/{sha}/check-runs")["check_runs"]
    assert latest["conclusion"] == "success"


@pytest.mark.parametrize("after", [3, 12, 20, 30])
@pytest.mark.parametrize("path", ["/pulls$", "/comments$", "/check-runs$"])
async def test_a_create_whose_answer_was_lost_stands_once_whenever_github_runs_it(
    world: LoopWorld, path: str, after: int
) -> None:
    """Trace: comment sent, answer lost, read finds nothing, GitHub runs both, and the same for PR and check-run."""
    controller = world.controller()
    agent = world.agent(await world.claim(controller))
    sha = agent.push("one").code_sha
    world.emulator.fault("late", match={"method": "POST", "path_regex": path, "identity": OURS}, after=after)
    await world.settle(controller)
    _spend(world, after)
    ended = (await world.settle(controller))[-1]
    assert ended.reason == "as it should be"
    (pull,) = world.get("pulls?state=all")
    assert len(world.comments(pull["number"], "agent-recovery:handoff")) == 1
    assert {run["conclusion"] for run in world.check_runs(sha)} == {"success"}
    last = world.emulator.requests()[-1]["n"]
    await world.settle(controller)
    assert world.writes(last) == []


@pytest.mark.parametrize("refusal", [(422, "Validation Failed"), (403, "Resource not accessible by integration")])
async def test_permit_sent_twice_first_refusal_second_still_under_way(
    world: LoopWorld, refusal: tuple[int, str]
) -> None:
    """Trace: permit sent twice, first refusal, second still under way: what comes at last is the ticket's."""
    controller = world.controller()
    agent = world.agent(await world.claim(controller))
    agent.push("one")
    match = {"method": "POST", "path_regex": "/pulls$", "identity": OURS}
    code, message = refusal
    world.emulator.fault("late", match=match, after=60)
    world.emulator.fault("status", match=match, code=code, body={"message": message}, times=2)
    await world.settle(controller)
    assert world.get("pulls?state=all") == []
    _spend(world, 60)
    world.emulator.advance(3600)
    ended = (await world.settle(controller))[-1]
    assert ended.reason == "as it should be"
    (pull,) = world.get("pulls?state=all")
    assert len(world.comments(pull["number"], "agent-recovery:handoff")) == 1
    view = await controller._views.look("acme", "shop", world.ticket)
    assert view.record is not None
    assert (view.record.projections.pr_number, view.record.open) == (pull["number"], ())
