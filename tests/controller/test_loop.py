"""The loop against an emulated GitHub: what a push makes, what is put back, what is frozen, what a person ended."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from loop_world import Agent, LoopWorld, claims_of

from app.controller.controller import Controller
from app.domain.agent_api import CheckpointRequest, HeartbeatRequest
from app.domain.outcome import Code, Refused
from app.emulator.client import Emulator


@pytest.fixture(scope="module")
def emulator(tmp_path_factory) -> Iterator[Emulator]:
    with Emulator.start(tmp_path_factory.mktemp("github")) as started:
        yield started


@pytest.fixture
async def world(emulator: Emulator, tmp_path: Path) -> AsyncIterator[LoopWorld]:
    made = LoopWorld(emulator, tmp_path)
    yield made
    await made.close()


async def _published(world: LoopWorld) -> tuple[Controller, Agent, str]:
    controller = world.controller()
    agent = world.agent(await world.claim(controller))
    pushed = agent.push("one")
    await world.settle(controller)
    return controller, agent, pushed.code_sha


def _ours(world: LoopWorld, number: int, marker: str) -> list[str]:
    return [c["body"] for c in world.get(f"issues/{number}/comments") if marker in c["body"]]


def _checks(world: LoopWorld, sha: str) -> list[tuple[str, str | None]]:
    runs = world.get(f"commits/{sha}/check-runs?filter=all")["check_runs"]
    return [(run["external_id"].split(":")[1], run["conclusion"]) for run in runs]


async def test_a_first_push_makes_one_pr_one_comment_one_check_and_then_nothing(world: LoopWorld) -> None:
    controller, agent, sha = await _published(world)
    (pull,) = world.get("pulls?state=all")
    assert (pull["draft"], pull["head"]["ref"], pull["base"]["ref"]) == (True, agent.grant.branch, "release-1")
    assert pull["body"].splitlines()[0] == f"Ticket: #{world.ticket}"
    assert len(_ours(world, pull["number"], "agent-recovery:handoff")) == 1
    assert _checks(world, sha) == [("1", "success")]
    before = len(world.emulator.requests())
    ended = await world.settle(controller)
    assert [e.reason for e in ended] == ["as it should be"]
    assert world.writes(before) == []


async def test_an_orphan_history_forced_over_the_branch_is_undone(world: LoopWorld) -> None:
    controller, agent, sha = await _published(world)
    tree = world.git(agent.folder, "rev-parse", "HEAD^{tree}")
    orphan = world.git(agent.folder, "commit-tree", "-m", "x", tree)
    world.git(agent.folder, "push", "-q", "--force", "origin", f"{orphan}:refs/heads/{agent.grant.branch}")
    await world.settle(controller)
    assert world.head(agent.grant.branch) == sha
    kept = world.get(f"git/matching-refs/agent-recovery/recovered/{world.ticket}/")
    assert [ref["object"]["sha"] for ref in kept] == [orphan]


async def test_a_deleted_branch_comes_back_and_its_pr_is_reopened(world: LoopWorld) -> None:
    controller, agent, sha = await _published(world)
    world.git(agent.folder, "push", "-q", "origin", f":refs/heads/{agent.grant.branch}")
    (pull,) = world.get("pulls?state=all")
    assert pull["state"] == "closed"
    await world.settle(controller)
    assert world.head(agent.grant.branch) == sha
    assert [p["state"] for p in world.get("pulls?state=all")] == ["open"]


async def test_what_a_person_closed_stays_closed_and_deleted(world: LoopWorld) -> None:
    controller, agent, _ = await _published(world)
    (pull,) = world.get("pulls?state=all")
    world.http.patch(f"/repos/acme/shop/pulls/{pull['number']}", json={"state": "closed"}).raise_for_status()
    await world.settle(controller)
    world.git(agent.folder, "push", "-q", "origin", f":refs/heads/{agent.grant.branch}")
    await world.settle(controller)
    assert world.head(agent.grant.branch) is None
    assert [p["state"] for p in world.get("pulls?state=all")] == ["closed"]


async def test_a_pr_opened_by_hand_becomes_the_tickets(world: LoopWorld) -> None:
    controller = world.controller()
    agent = world.agent(await world.claim(controller))
    agent.push("one")
    body = {"title": "mine", "head": agent.grant.branch, "base": "release-1", "body": "by hand"}
    number = world.http.post("/repos/acme/shop/pulls", json=body).raise_for_status().json()["number"]
    ended = await world.settle(controller)
    assert ended[-1].reason == "as it should be"
    assert [p["number"] for p in world.get("pulls?state=all")] == [number]
    assert len(_ours(world, number, "agent-recovery:handoff")) == 1


@pytest.mark.parametrize("replica", ["same", "empty database"])
@pytest.mark.parametrize("deed", ["moved back", "deleted"])
async def test_a_ledger_that_went_backwards_freezes_the_ticket_with_one_report(
    world: LoopWorld, replica: str, deed: str
) -> None:
    controller, agent, sha = await _published(world)
    ledger = agent.grant.ledger_ref
    world.git(agent.folder, "fetch", "-q", "origin", ledger)
    older = world.git(agent.folder, "rev-parse", "FETCH_HEAD~3")
    target = f"+{older}:{ledger}" if deed == "moved back" else f":{ledger}"
    world.git(agent.folder, "push", "-q", "origin", target)
    if replica == "empty database":
        controller = world.controller()
    for generation in (0, 1):
        with pytest.raises(Refused) as refused:
            await world.claim(controller, generation)
        assert refused.value.blocked.code is Code.FROZEN
    await world.settle(controller)
    await world.settle(controller)
    (pull,) = world.get("pulls?state=all")
    assert len(_ours(world, pull["number"], "agent-recovery:report")) == 1
    assert _checks(world, sha) == [("1", "action_required")]
    assert world.ledger() == (older if deed == "moved back" else None)


async def test_mode_observe_stops_the_holder_too(world: LoopWorld) -> None:
    controller, agent, _ = await _published(world)
    policy = {".github/agent-recovery.yml": "version: 1\nmode: observe\n"}
    world.emulator.commit("acme/shop", branch="main", files=policy)
    before = world.ledger()
    request = CheckpointRequest(key="checkpoint-1", seq=200, checkpoint={"objective": "more"})
    with pytest.raises(Refused) as refused:
        await controller.checkpoint("acme", "shop", world.ticket, claims_of(agent.grant), request)
    assert refused.value.blocked.code is Code.MODE_OBSERVE
    assert world.ledger() == before


async def test_a_takeover_leaves_one_check_a_generation_and_the_zombie_outside(world: LoopWorld) -> None:
    controller, zombie, sha = await _published(world)
    world.emulator.advance(17 * 60)
    replica = world.controller()
    grant = await world.claim(replica, 1)
    assert (grant.generation, grant.head_sha) == (2, sha)
    await world.settle(replica)
    assert sorted(_checks(world, sha)) == [("1", "success"), ("2", "success")]
    request = CheckpointRequest(key="checkpoint-2", seq=300, checkpoint={"objective": "old"})
    with pytest.raises(Refused) as refused:
        await controller.checkpoint("acme", "shop", world.ticket, claims_of(zombie.grant), request)
    assert refused.value.blocked.code is Code.STALE_GENERATION
    assert type(zombie.push("late")).__name__ == "FencedOut"


async def test_a_fenced_push_runs_no_hook_of_the_repository(world: LoopWorld) -> None:
    controller = world.controller()
    agent = world.agent(await world.claim(controller))
    hooks = agent.folder / ".husky"
    hooks.mkdir()
    for name in ("pre-push", "post-checkout", "post-merge", "reference-transaction"):
        (hooks / name).write_text("#!/bin/sh\ntouch ran\n")
        (hooks / name).chmod(0o755)
    sha = agent.work("one")
    world.git(agent.folder, "config", "core.hooksPath", ".husky")
    pushed = agent.push_commit(sha, "one")
    assert type(pushed).__name__ == "Pushed"
    assert not (agent.folder / "ran").exists()


async def test_heartbeats_wake_the_loop_only_when_half_of_the_renewed_time_is_gone(world: LoopWorld) -> None:
    controller, agent, _ = await _published(world)
    claims, beat = claims_of(agent.grant), HeartbeatRequest()
    await world.poked()
    woken = []
    # Every two minutes for half an hour: a lease of 15 minutes is stamped about every 8, not at every beat.
    for _ in range(15):
        world.emulator.advance(120)
        await controller.heartbeat("acme", "shop", world.ticket, claims, beat)
        woken.append(bool(await world.poked()))
        if woken[-1]:
            await world.settle(controller)
    assert 2 <= sum(woken) <= 5


async def test_a_record_that_cannot_be_made_to_fit_is_refused_and_nothing_is_written(world: LoopWorld) -> None:
    controller, _, _ = await _published(world)
    view = await controller._views.look("acme", "shop", world.ticket)
    assert view.standing is not None
    before = world.ledger()
    full = view.standing.record.model_copy(update={"burned_shas": tuple(f"{n:040x}" for n in range(2000))})
    with pytest.raises(Refused) as refused:
        await controller._claiming._journal.write(view, view.standing, full, "too much", when=view.now)
    assert refused.value.blocked.code is Code.RECORD_FULL
    assert world.ledger() == before
