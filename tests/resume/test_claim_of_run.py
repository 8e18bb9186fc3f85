"""Claims of the agents that the App started: the run that was started gets the ticket, once, and nobody by its name."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from typing import Any

import pytest
from loop_world import claims_of
from resume_world import AT, ResumeWorld
from run_scene import RunScene, outcome_of, refused

from app.domain.agent_api import ClaimRequest, Grant
from app.domain.dispatched import Run
from app.domain.outcome import Code, Exit, exit_code


@pytest.fixture
async def scene(world: ResumeWorld) -> AsyncIterator[RunScene]:
    made = RunScene(world)
    await made.begin()
    yield made
    made.close()


def request(attempt: str | None, claim_id: str | None = None, at: int = 1) -> ClaimRequest:
    return ClaimRequest(
        claim_id=claim_id or secrets.token_hex(8), observed_generation=at, holder="run", attempt=attempt
    )


async def test_the_run_that_was_started_shows_who_it_is_and_claims_once(scene: RunScene) -> None:
    attempt = secrets.token_hex(8)
    run = scene.start(attempt)
    await scene.opened(run=Run(id=run, attempt=1), attempt=attempt)
    counted = (await scene.record()).attempts.count
    identity = await scene.identity(run)

    brief = await scene.service.call("GET", "brief", identity.fresh())
    assert brief.status_code == 200, brief.text
    assert brief.json()["generation"] == 1

    token, claim_id = identity.fresh(), secrets.token_hex(8)
    answer = await scene.service.claim(token, attempt, claim_id)
    assert answer.status_code == 200, answer.text
    grant = Grant.model_validate(answer.json())
    record = await scene.record()
    assert record.lease is not None
    assert (record.lease.run, record.lease.login) == (Run(id=run, attempt=1), "agent-recovery[bot]")
    assert record.dispatched is not None
    assert (record.dispatched.state, record.generation) == ("claimed", 2)
    # The dispatch was counted when it was opened; its claim is that very attempt.
    assert record.attempts.count == counted
    # No account stands behind the lease, so none is asked about, neither by a push nor long after the claim.
    access = await scene.service.controller.git_access(*AT, claims_of(grant), to_push=True)
    assert access.id == grant.repository.id
    await scene.later(700)
    await scene.beat(grant)

    # The answer was lost: the same claim id with another token, at another replica.
    again = await scene.other.claim(identity.fresh(), attempt, claim_id)
    assert again.json()["lease_token"] == grant.lease_token
    # The same token again, at both.
    for service in (scene.service, scene.other):
        assert refused(await service.claim(token, attempt, claim_id)) == (401, "unauthenticated")
    # A second worker of the same run.
    assert refused(await scene.other.claim(identity.fresh(), attempt, at=2)) == (409, "attempt_over")
    assert refused(await scene.other.claim(identity.fresh(), None, at=2)) == (409, "attempt_over")
    # The run's token is for claim and brief alone.
    late = await scene.service.call("POST", "heartbeat", identity.fresh(), ledger_head=None)
    assert refused(late) == (401, "unauthenticated")
    assert (await scene.record()).identity == (grant.generation, grant.nonce)


async def test_a_run_that_is_not_the_one_that_was_started_gets_nothing(scene: RunScene) -> None:
    attempt = secrets.token_hex(8)
    run = scene.start(attempt)
    await scene.opened(run=Run(id=run, attempt=1), attempt=attempt)
    by_hand = await scene.token(scene.start(attempt, by="wanda"))
    assert refused(await scene.service.claim(by_hand, attempt)) == (409, "attempt_over")
    brief = await scene.service.call("GET", "brief", await scene.token(scene.start(attempt, by="wanda")))
    assert refused(brief) == (403, "forbidden")
    # Somebody runs the right one again.
    scene.end(run)
    scene.world.ask("wanda", "POST", f"actions/runs/{run}/rerun")
    again = await scene.token(run, attempt=2)
    assert refused(await scene.service.claim(again, attempt)) == (409, "attempt_over")
    assert (await scene.record()).generation == 1


async def test_where_githubs_answer_was_lost_the_runs_own_name_says_which_it_is(scene: RunScene) -> None:
    attempt = await scene.opened()
    for wrong, expected in ((scene.start("f" * 16), "forbidden"), (scene.start(attempt, by="wanda"), "forbidden")):
        assert refused(await scene.service.claim(await scene.token(wrong), attempt)) == (403, expected)
    assert (await scene.record()).generation == 1
    run = scene.start(attempt)
    answer = await scene.service.claim(await scene.token(run), attempt)
    assert answer.status_code == 200, answer.text
    record = await scene.record()
    assert record.dispatched is not None
    assert (record.dispatched.state, record.dispatched.run) == ("claimed", Run(id=run, attempt=1))
    assert not record.open or all(permit.kind != "dispatch" for permit in record.open)


WRONG: dict[str, tuple[dict[str, Any], Code]] = {
    "another branch": ({"ref": "refs/heads/evil"}, Code.FORBIDDEN),
    "another workflow": (
        {"workflow_ref": "acme/shop/.github/workflows/ci.yml@refs/heads/main"},
        Code.FORBIDDEN,
    ),
    "a reusable workflow": (
        {"job_workflow_ref": "eve/kit/.github/workflows/agent.yml@refs/heads/main"},
        Code.FORBIDDEN,
    ),
    "a pull request": ({"event": "pull_request"}, Code.FORBIDDEN),
    "another run": ({"run": Run(id=999, attempt=1)}, Code.ATTEMPT_OVER),
}


async def test_a_genuine_token_of_something_else_gets_nothing(scene: RunScene) -> None:
    attempt = await scene.opened(run=Run(id=77, attempt=1))
    controller = scene.service.controller
    before = scene.world.mark()
    for name, (more, code) in WRONG.items():
        said = scene.claims(77, **more)
        told = await outcome_of(controller.claim(*AT, scene.world.ticket, request(attempt), said.actor, said))
        assert told is code, name
        assert exit_code(code) == Exit.GATE_CLOSED
    assert [w for w in scene.world.writes(before) if "access_tokens" not in w] == []
    right = scene.claims(77)
    assert isinstance(
        await outcome_of(controller.claim(*AT, scene.world.ticket, request(attempt), right.actor, right)), Grant
    )


async def test_who_has_an_account_and_an_attempt(scene: RunScene) -> None:
    controller, ticket = scene.service.controller, scene.world.ticket
    attempt = await scene.opened(run=Run(id=77, attempt=1))
    # An attempt of a workflow is its run's alone, whoever knows it: it stands in the run's inputs.
    told = await outcome_of(controller.claim(*AT, ticket, request(attempt), "wanda"))
    assert told is Code.ATTEMPT_OVER
    started = await scene.opened("command")
    said = scene.claims(77)
    assert await outcome_of(controller.claim(*AT, ticket, request(started), said.actor, said)) is Code.FORBIDDEN
    grant = await outcome_of(controller.claim(*AT, ticket, request(started), "wanda"))
    assert isinstance(grant, Grant)
    record = await scene.record()
    assert record.lease is not None
    assert (record.lease.run, record.lease.login) == (None, "wanda")
    assert record.dispatched is not None
    assert record.dispatched.state == "claimed"


async def test_whoever_claims_first_takes_the_place_and_the_run_is_late(scene: RunScene) -> None:
    controller, ticket = scene.service.controller, scene.world.ticket
    attempt = await scene.opened(run=Run(id=77, attempt=1))
    counted = (await scene.record()).attempts.count
    assert isinstance(await outcome_of(controller.claim(*AT, ticket, request(None), "wanda")), Grant)
    record = await scene.record()
    assert record.dispatched is not None
    # One slot, not two.
    assert (record.dispatched.state, record.attempts.count) == ("over", counted)
    said = scene.claims(77)
    told = await outcome_of(controller.claim(*AT, ticket, request(attempt, at=2), said.actor, said))
    assert told is Code.ATTEMPT_OVER
    assert (await scene.record()).generation == 2


async def test_a_holder_that_came_back_to_life_keeps_the_ticket(scene: RunScene) -> None:
    attempt = await scene.opened(run=Run(id=77, attempt=1))
    await scene.beat(scene.grant)
    said = scene.claims(77)
    claiming = scene.service.controller.claim(*AT, scene.world.ticket, request(attempt), said.actor, said)
    assert await outcome_of(claiming) is Code.LEASE_LIVE
    record = await scene.record()
    assert record.identity == (scene.grant.generation, scene.grant.nonce)


async def test_a_claim_that_races_the_run_leaves_one_worker(scene: RunScene) -> None:
    attempt = await scene.opened(run=Run(id=77, attempt=1))
    counted = (await scene.record()).attempts.count
    said, ticket = scene.claims(77), scene.world.ticket
    outcomes = await asyncio.gather(
        outcome_of(scene.service.controller.claim(*AT, ticket, request(attempt), said.actor, said)),
        outcome_of(scene.other.controller.claim(*AT, ticket, request(None), "wanda")),
        outcome_of(scene.other.controller.claim(*AT, ticket, request(attempt), said.actor, said)),
        outcome_of(scene.service.controller.claim(*AT, ticket, request(None), "wanda")),
    )
    (grant,) = [outcome for outcome in outcomes if isinstance(outcome, Grant)]
    losers = {outcome for outcome in outcomes if isinstance(outcome, Code)}
    assert losers <= {Code.ATTEMPT_OVER, Code.LEASE_LIVE, Code.LOST_RACE}
    record = await scene.record()
    assert record.identity == (grant.generation, grant.nonce) == claims_of(grant).identity
    assert (record.generation, record.attempts.count) == (2, counted)


async def test_ten_late_claims_of_burned_attempts_change_nothing(scene: RunScene) -> None:
    attempt = await scene.opened(state="burned", because="nobody knows")
    runs = [scene.start(attempt if number % 2 else secrets.token_hex(8)) for number in range(2)]
    before, stands = scene.world.mark(), scene.world.ledger()
    for number in range(10):
        token = await scene.token(runs[number % 2])
        late = await scene.service.claim(token, attempt if number % 2 else secrets.token_hex(8))
        assert refused(late) == (409, "attempt_over")
    assert exit_code(Code.ATTEMPT_OVER) == Exit.GATE_CLOSED
    assert scene.world.ledger() == stands
    assert [w for w in scene.world.writes(before) if "access_tokens" not in w] == []
