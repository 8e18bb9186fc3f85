"""Published faults of deliveries: the same one twice, and events out of order. A poke carries no state, so neither can
do anything twice or bring an older state back.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from loop_world import REPO, Agent, LoopWorld

from app.controller.controller import Controller
from app.domain.keys import TicketKey
from app.service.events import Poked, keys_of

FIXTURES = Path(__file__).parents[1] / "fixtures"
TWICE = json.loads((FIXTURES / "repeated_deliveries.json").read_text())
SWAPPED = json.loads((FIXTURES / "deliveries_out_of_order.json").read_text())
REPEATED = [case for case in TWICE["input"]["cases"] if "deliveries" in case]
ARRIVALS = [case for case in SWAPPED["input"]["cases"] if "arrival" in case]


async def _published(world: LoopWorld) -> tuple[Controller, Agent]:
    controller = world.controller()
    agent = world.agent(await world.claim(controller))
    agent.push("one")
    await world.poked()
    return controller, agent


def _key(world: LoopWorld, event: str, payload: dict[str, Any]) -> str:
    repository = {"id": 1, "full_name": REPO, "default_branch": "main"}
    routing = keys_of(event, {"repository": repository, **payload}, own_app_id=world.app["id"])
    assert isinstance(routing, Poked)
    assert routing.keys == (str(TicketKey(REPO, world.ticket)),)
    return routing.keys[0]


def _effects(world: LoopWorld) -> tuple[int, int]:
    pulls = world.get("pulls?state=all")
    comments = [c for p in pulls for c in world.get(f"issues/{p['number']}/comments")]
    return len(pulls), sum("agent-recovery:handoff" in c["body"] for c in comments)


@pytest.mark.parametrize("case", REPEATED, ids=lambda case: case["name"])
async def test_a_delivery_that_comes_twice_has_one_effect(world: LoopWorld, case: dict[str, Any]) -> None:
    controller, _ = await _published(world)
    moment = 0
    for delivery in case["deliveries"]:
        if delivery["t"] > moment + 60:
            # The time between them, without the lease of the day before.
            await world.settle(controller)
            moment = delivery["t"]
        comment = {"id": delivery["comment_id"], "body": delivery["body"]}
        await world.pokes.poke(_key(world, "issue_comment", {"issue": {"number": world.ticket}, "comment": comment}))
    await asyncio.gather(world.settle(controller), world.settle(controller))
    await world.settle(controller)
    expected = TWICE["expected"]["cases"][case["name"]]["effects"]
    assert _effects(world) == (expected, expected)


@pytest.mark.parametrize("case", ARRIVALS, ids=lambda case: case["name"])
async def test_events_in_any_order_leave_what_github_shows(world: LoopWorld, case: dict[str, Any]) -> None:
    controller, agent = await _published(world)
    await world.settle(controller)
    (pull,) = world.get("pulls?state=all")
    if case["live"].get("merged"):
        _merge(world, pull["number"], pull["node_id"])
        await world.settle(controller)
    before = world.requested()
    for event in case["arrival"]:
        head = {"ref": agent.grant.branch, "repo": {"full_name": REPO}, **event["pull_request"]["head"]}
        payload = {**event, "pull_request": {**event["pull_request"], "body": pull["body"], "head": head}}
        await world.pokes.poke(_key(world, "pull_request", payload))
        await world.settle(controller)
    assert world.writes(before) == []
    (after,) = world.get("pulls?state=all")
    merged = SWAPPED["expected"]["cases"][case["name"]].get("final") == "merged"
    assert (after["merged_at"] is not None) == merged
    assert after["state"] == ("closed" if merged else "open")
    expected = SWAPPED["expected"]["cases"][case["name"]]
    attempts = [r for r in world.emulator.requests()[before:] if r["method"] == "PUT" and r["path"].endswith("/merge")]
    assert len(attempts) == expected.get("land_attempts", 0)
    if "head" in expected:
        # The newest head of the case is what GitHub shows, whatever came last.
        newest = max(case["arrival"], key=lambda event: event["pull_request"]["updated_at"])
        shown = {newest["pull_request"]["head"]["sha"]: world.head(agent.grant.branch)}
        assert shown[expected["head"]] == after["head"]["sha"]


async def test_parallel_workers_make_one_comment_and_one_check_a_head(world: LoopWorld) -> None:
    controller, agent = await _published(world)
    await asyncio.gather(*(world.settle(c) for c in (controller, world.controller())))
    await world.settle(controller)
    expected = SWAPPED["expected"]["cases"]["parallel_workers"]
    assert _effects(world)[1] == expected["state_comments"]
    head = world.head(agent.grant.branch)
    runs = world.get(f"commits/{head}/check-runs?filter=all")["check_runs"]
    assert len(runs) == expected["check_runs_per_head"]


async def test_a_new_head_gets_a_check_of_its_own(world: LoopWorld) -> None:
    heads = json.loads((FIXTURES / "check_results_of_old_heads.json").read_text())
    given = next(case for case in heads["input"]["cases"] if case["name"] == "own_check_after_push")
    controller, agent = await _published(world)
    await world.settle(controller)
    agent.push("two")
    head = world.head(agent.grant.branch)
    pull = {"number": 2, "head": {"ref": agent.grant.branch, "sha": head, "repo": {"full_name": REPO}}, "body": ""}
    await world.pokes.poke(_key(world, given["event"], {"action": given["action"], "pull_request": pull}))
    await world.settle(controller)
    (run,) = world.get(f"commits/{head}/check-runs?filter=all")["check_runs"]
    shown = {given["head"]: head}
    assert run["head_sha"] == shown[heads["expected"]["cases"]["own_check_after_push"]["own_check_run_on"]]


def _merge(world: LoopWorld, number: int, node_id: str) -> None:
    ready = 'mutation {{ markPullRequestReadyForReview(input: {{pullRequestId: "{}"}}) {{ clientMutationId }} }}'
    world.http.post("/graphql", json={"query": ready.format(node_id)}).raise_for_status()
    for _ in range(10):
        if world.get(f"pulls/{number}")["mergeable"]:
            break
    world.http.put(f"/repos/{REPO}/pulls/{number}/merge", json={}).raise_for_status()
