"""A validation through the service: refused to whoever is not the holder, shown for its commit and for no other."""

import secrets
from typing import Any

import pytest

from app.controller.controller import Controller
from app.domain.agent_api import CheckpointRequest, Grant
from app.domain.outcome import Code, Refused
from app.domain.validation import Validation
from app.domain.validation_api import ValidationRequest
from tests.controller.loop_world import LoopWorld, claims_of


async def validated(world: LoopWorld, controller: Controller, grant: Grant, seq: int, **fields: Any) -> Any:
    made = Validation.model_validate({"profile": "unit", "version": "3", "completed": ("a",), **fields})
    request = ValidationRequest(key=secrets.token_hex(8), seq=seq, validation=made)
    return await controller.validation("acme", "shop", world.ticket, claims_of(grant), request)


def shown(world: LoopWorld, sha: str) -> tuple[str, str]:
    run = world.check_runs(sha)[-1]
    return run["conclusion"], run["output"]["summary"].partition("Validations of this commit:\n\n")[2]


async def test_a_result_is_shown_on_its_commit_and_says_not_run_on_the_next(world: LoopWorld) -> None:
    controller, agent, sha = await world.published()
    answer = await validated(world, controller, agent.grant, 200, validated_sha=sha, failed=("b",))
    assert (answer.generation, answer.status) == (1, "working")
    await world.settle(controller)
    assert shown(world, sha) == ("success", "- unit 3: failed")
    brief = await controller.brief("acme", "shop", world.ticket)
    assert [(v.profile, v.state, v.failed) for v in brief.validations] == [("unit", "failed", ("b",))]
    assert brief.criteria[11].met is False
    agent._seq = 300
    following = agent.push("two").code_sha
    await world.settle(controller)
    assert shown(world, following) == ("success", f"- unit 3: not run (it was made on {sha})")
    assert (await controller.brief("acme", "shop", world.ticket)).criteria[11].met is None
    before = world.requested()
    await world.settle(controller)
    assert world.writes(before) == []


async def test_a_predecessor_that_moves_voids_the_result_and_the_check_run_says_so(world: LoopWorld) -> None:
    controller, agent, sha = await world.published()
    other = world.http.post("/repos/acme/shop/issues", json={"title": "Before it"}).raise_for_status().json()["number"]
    git, branch = world.git, f"refs/heads/ticket/{other}-before"
    git(agent.folder, "push", "-q", "origin", f"{agent.grant.base_sha}:{branch}")
    body = {"predecessor_issue_or_pr": other, "predecessor_sha": agent.grant.base_sha}
    note = CheckpointRequest(key=secrets.token_hex(8), seq=200, checkpoint=body)
    await controller.checkpoint("acme", "shop", world.ticket, claims_of(agent.grant), note)
    await validated(world, controller, agent.grant, 201, validated_sha=sha)
    await world.settle(controller)
    assert shown(world, sha) == ("success", "- unit 3: passed")
    tree = git(agent.folder, "rev-parse", f"{agent.grant.base_sha}^{{tree}}")
    moved = git(agent.folder, "commit-tree", "-p", agent.grant.base_sha, "-m", "More before it", tree)
    git(agent.folder, "push", "-q", "origin", f"{moved}:{branch}")
    await world.settle(controller)
    assert shown(world, sha) == ("success", "- unit 3: not run (the predecessor has moved on, so it is void)")
    brief = await controller.brief("acme", "shop", world.ticket)
    assert (brief.criteria[5].met, brief.validations[0].state) == (False, "not run")


async def test_an_old_generation_records_nothing(world: LoopWorld) -> None:
    controller, agent, sha = await world.published()
    world.emulator.advance(20 * 60)
    await world.claim(controller, 1)
    ledger = world.ledger()
    with pytest.raises(Refused) as refused:
        await validated(world, controller, agent.grant, 200, validated_sha=sha)
    assert refused.value.blocked.code is Code.STALE_GENERATION
    assert world.ledger() == ledger


async def test_a_second_try_with_the_same_key_is_answered_and_records_nothing_again(world: LoopWorld) -> None:
    controller, agent, sha = await world.published()
    made = Validation(profile="unit", version="3", validated_sha=sha, completed=("a",))
    request = ValidationRequest(key="validation-1", seq=200, validation=made)
    place = ("acme", "shop", world.ticket, claims_of(agent.grant))
    first = await controller.validation(*place, request)
    again = await world.controller().validation(*place, request)
    assert (again.repeated, again.sequence) == (True, first.sequence)
    assert world.ledger() == first.ledger_commit
