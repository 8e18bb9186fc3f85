"""A validation through the service: refused to whoever is not the holder, shown for its commit and for no other."""

import secrets
from typing import Any

import pytest

from app.controller.controller import Controller
from app.domain.agent_api import Grant
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
