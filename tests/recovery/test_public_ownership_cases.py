"""Published faults of ownership, played: a zombie after a takeover, refs moved without a guard, a busy holder robbed,
a dead one that keeps its lease for ever.
"""

import asyncio
import json
import secrets
from pathlib import Path
from typing import Any

import pytest
from git_world import until
from loop_world import POLICY, REPO, Agent, LoopWorld, claims_of
from pydantic import ValidationError

from app.controller.controller import Controller
from app.domain.agent_api import CheckpointRequest, ClaimRequest, Grant, HandoffRequest, HeartbeatRequest
from app.domain.outcome import Code, Refused
from app.domain.policy import Policy
from app.domain.policy_text import read_policy
from app.domain.record import Lease
from app.ledger.git import GitLedger
from app.ledger.git_outcomes import FencedOut, Pushed

CASE = json.loads((Path(__file__).parents[1] / "fixtures" / "zombie_workers.json").read_text())
UPDATE = {"operation": "UpdateRefs", "kind": "graphql"}


def case(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return next(c for c in CASE["input"]["cases"] if c["name"] == name), CASE["expected"]["cases"][name]


async def claimed(world: LoopWorld, controller: Controller, generation: int) -> Grant | Refused:
    request = ClaimRequest(claim_id=secrets.token_hex(8), observed_generation=generation, holder="taker")
    try:
        return await controller.claim("acme", "shop", world.ticket, request, "wanda")
    except Refused as refused:
        return refused


async def taken_over(world: LoopWorld) -> tuple[Controller, Agent, Agent]:
    """A controller, the zombie of generation 1, and the present holder of generation 2."""
    controller, zombie, _ = await world.published()
    world.emulator.advance(17 * 60)
    holder = world.agent(await world.claim(controller, 1))
    await world.settle(controller)
    return controller, zombie, holder


def handoff_comment(world: LoopWorld) -> str:
    (pull,) = world.get("pulls?state=all")
    (comment,) = world.comments(pull["number"], "agent-recovery:handoff")
    return str(comment["body"])


async def test_only_the_present_generation_pushes_comments_and_hands_off(world: LoopWorld) -> None:
    controller, zombie, holder = await taken_over(world)
    before = (world.head(holder.grant.branch), world.ledger(), handoff_comment(world))
    late = zombie.push("late")
    assert isinstance(late, Pushed) is case("stale_generation_push")[1]["allowed"]
    assert isinstance(late, FencedOut)
    assert (late.generation, case("stale_generation_push")[1]["exit"]) == (2, "superseded")
    claims = claims_of(zombie.grant)
    for call in (
        controller.checkpoint(
            "acme", "shop", world.ticket, claims, CheckpointRequest(key="checkpoint-1", seq=900, checkpoint={})
        ),
        controller.handoff("acme", "shop", world.ticket, claims, HandoffRequest(key="handoff-1", seq=901)),
    ):
        with pytest.raises(Refused) as refused:
            await call
        assert refused.value.blocked.code is Code.STALE_GENERATION
    await world.settle(controller)
    assert (world.head(holder.grant.branch), world.ledger(), handoff_comment(world)) == before
    assert isinstance(await claimed(world, controller, 2), Refused)
    assert not case("stale_generation_comment")[1]["allowed"]
    assert not case("stale_release")[1]["released"]
    assert isinstance(holder.push("two"), Pushed) == case("current_generation")[1]["allowed"]


async def test_a_takeover_between_the_check_and_the_push_refuses_it_by_the_expected_commit(
    world: LoopWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller, agent, code = await world.published()
    world.emulator.advance(17 * 60)
    loop, push = asyncio.get_running_loop(), GitLedger._push
    grants: list[Grant] = []

    def after_a_takeover(ledger: GitLedger, *arguments: Any) -> Any:
        if not grants:
            grants.append(asyncio.run_coroutine_threadsafe(world.claim(controller, 1), loop).result(30))
        return push(ledger, *arguments)

    monkeypatch.setattr(GitLedger, "_push", after_a_takeover)
    outcome = await asyncio.to_thread(agent.push, "two")
    assert isinstance(outcome, FencedOut), outcome
    assert case("takeover_between_check_and_push")[1]["push"] == "refused by expected SHA"
    assert (outcome.generation, world.head(agent.grant.branch)) == (2, code)


@pytest.mark.parametrize("name", ["two_takers", "create_race"])
async def test_of_two_who_take_the_same_one_wins_and_the_other_is_told_the_holder(world: LoopWorld, name: str) -> None:
    generation = 0
    if name == "two_takers":
        await world.published()
        world.emulator.advance(17 * 60)
        generation = 1
    takers = [claimed(world, world.controller(), generation) for _ in range(2)]
    answers = await asyncio.gather(*takers)
    (grant,) = [a for a in answers if isinstance(a, Grant)]
    (refused,) = [a for a in answers if isinstance(a, Refused)]
    assert grant.generation == generation + 1
    assert refused.blocked.code is Code.LEASE_LIVE
    assert "taker" in refused.blocked.reason
    assert f"generation {grant.generation}" in refused.blocked.reason
    given, expected = case(name)
    if name == "two_takers":
        # The first write stands; the other one is told so, having read again.
        assert (expected["winner"], expected["loser"]) == (given["first_writes"], "sees conflict, rereads")
    else:
        assert expected["then"] == "read holder; not an error"
        assert refused.blocked.holder == "taker"


@pytest.mark.parametrize("message", ["not_fast_forward", "create_race"])
@pytest.mark.parametrize("moved", [False, True], ids=["where we expect it", "moved by another"])
async def test_a_refused_update_is_decided_by_reading_the_ref_again(
    world: LoopWorld, monkeypatch: pytest.MonkeyPatch, message: str, moved: bool
) -> None:
    monkeypatch.setattr("app.ledger.moving.LONGEST_PAUSE_S", 0.05)
    await world.published()
    world.emulator.advance(17 * 60)
    first, second = world.controller(), world.controller()
    response = case(message)[0]["response"]
    world.emulator.fault("pause" if moved else "status", match=UPDATE, **({} if moved else _status(response)))
    claiming = asyncio.create_task(claimed(world, first, 1))
    if moved:
        await asyncio.to_thread(until, world.emulator.paused, "the update stands at GitHub's door")
        assert isinstance(await claimed(world, second, 1), Grant)
        world.emulator.release()
    answer = await claiming
    expected = case(message)[1]["then"]
    again, lost = "reread; if the ref is at our own expected old SHA wait and retry (slow replica), else lost", "lost"
    assert expected == {"not_fast_forward": again, "create_race": "read holder; not an error"}[message]
    assert again.endswith(lost)
    if moved:
        assert isinstance(answer, Refused)
        assert answer.blocked.code is Code.LEASE_LIVE
    else:
        assert isinstance(answer, Grant)
        assert answer.generation == 2


def _status(response: dict[str, Any]) -> dict[str, Any]:
    return {"code": response["status"], "body": {"message": response["message"]}}


async def test_no_ref_is_ever_moved_without_its_old_value(world: LoopWorld) -> None:
    """Over push, tampering, repair, takeover and handoff: no call that overwrites a ref, no update without a guard."""
    controller, _, holder = await taken_over(world)
    world.git(holder.folder, "push", "-q", "origin", f":refs/heads/{holder.grant.branch}")
    await world.settle(controller)
    handoff = HandoffRequest(key="handoff-1", seq=900)
    await controller.handoff("acme", "shop", world.ticket, claims_of(holder.grant), handoff)
    await world.settle(controller)
    ours = [r for r in world.emulator.requests() if str(r["identity"]).startswith("app:")]
    assert case("force_true_forbidden")[1]["must_never_be_sent"]
    assert [r["path"] for r in ours if r["method"] not in ("GET", "HEAD") and "/git/refs" in r["path"]] == []
    updates = [command.split(" ") for r in ours for command in r["refs"]]
    assert len(updates) > 5
    assert [u for u in updates if u[0] == "-"] == []


@pytest.mark.parametrize("name", ["busy_without_output", "expired"])
@pytest.mark.parametrize("beat_s", [5, 590, 610], ids=["at once", "before half a term", "after half a term"])
async def test_a_holder_keeps_its_lease_for_one_term_after_it_was_heard_of(
    world: LoopWorld, name: str, beat_s: int
) -> None:
    """Whenever it was last heard of: the ledger is stamped only where half of a term is gone."""
    given, expected = case(name)
    policy = f"{POLICY}lease: {{ttl: {given['ttl_s']}s}}\n"
    world.emulator.commit(REPO, {".github/agent-recovery.yml": policy}, branch="main")
    controller, agent, _ = await world.published()
    world.emulator.advance(beat_s)
    await controller.heartbeat("acme", "shop", world.ticket, claims_of(agent.grant), HeartbeatRequest())
    await world.settle(controller)
    world.emulator.advance(given["last_heartbeat_age_s"])
    await world.settle(controller)
    answer = await claimed(world, controller, 1)
    assert isinstance(answer, Grant) == expected["takeover"], answer
    assert getattr(answer, "generation", 2) == 1 + int(expected.get("generation", "+1"))


def test_no_lease_is_for_ever() -> None:
    given, expected = case("holder_never_expires")
    assert not expected["valid_lease"]
    fields = {"generation": 1, "nonce": "n", "holder": "h", "login": "l", "claim_id_hash": "c"}
    with pytest.raises(ValidationError, match="expires_at"):
        Lease.model_validate({**fields, "granted_at": "2026-11-30T12:00:00Z", "expires_at": given["ttl_s"]})
    policy = read_policy(f"{POLICY}lease: {{ttl: {json.dumps(given['ttl_s'])}}}\n").policy
    assert policy is not None
    assert policy.lease.ttl == Policy().lease.ttl


def test_every_published_case_is_played() -> None:
    played = Path(__file__).read_text()
    assert [c["name"] for c in CASE["input"]["cases"] if f'"{c["name"]}"' not in played] == []
