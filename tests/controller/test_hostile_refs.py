"""Refs that anybody with write access can make: they cost a look, and nobody hears of them who did not claim."""

from pathlib import Path

import pytest
from loop_world import REPO, LoopWorld, claims_of

from app.domain.agent_api import ClaimRequest
from app.domain.keys import TicketKey
from app.domain.outcome import Code, Refused
from app.ledger.reading import MOST_UNLISTED


def _clone(world: LoopWorld) -> Path:
    folder = world.folder / "stranger"
    world.git(world.folder, "clone", "-q", f"{world.emulator.url}/{REPO}.git", str(folder))
    return folder


async def _refusal(world: LoopWorld) -> Refused:
    request = ClaimRequest(claim_id="claim-of-a-stranger", observed_generation=0)
    with pytest.raises(Refused) as refused:
        await world.controller().claim("acme", "shop", world.ticket, request, "wanda")
    return refused.value


@pytest.mark.parametrize("place", ["active/{}", "done/{}", "active/{}/below", "done/{}/x/y"])
async def test_a_ref_in_a_ledgers_place_is_told_to_who_claims_and_to_nobody_else(world: LoopWorld, place: str) -> None:
    name = f"refs/agent-recovery/{place.format(world.ticket)}"
    world.git(_clone(world), "push", "-q", "origin", f"HEAD:{name}")
    before = world.requested()
    controller = world.controller()
    await controller.start_up()
    ended = await controller.round(TicketKey(REPO, world.ticket))
    assert ended.again_at is None
    assert world.writes(before) == []
    refused = await _refusal(world)
    assert refused.blocked.code is Code.FROZEN
    assert "below" not in place or f"{name} stands where the ledger belongs" in refused.blocked.reason
    assert world.writes(before) == []


@pytest.mark.parametrize("name", ["ticket", "ticket/{}-ripen-the-apples/mine"])
async def test_a_branch_that_leaves_no_room_is_named_before_anything_is_granted(world: LoopWorld, name: str) -> None:
    branch = name.format(world.ticket)
    world.git(_clone(world), "push", "-q", "origin", f"HEAD:refs/heads/{branch}")
    before = world.requested()
    refused = await _refusal(world)
    assert refused.blocked.code is Code.BRANCH_BLOCKED
    assert repr(branch) in refused.blocked.reason
    assert world.writes(before) == []


@pytest.mark.parametrize("place", ["active", "done"])
async def test_a_ref_above_all_ledgers_is_named_to_who_claims(world: LoopWorld, place: str) -> None:
    world.git(_clone(world), "push", "-q", "origin", f"HEAD:refs/agent-recovery/{place}")
    refused = await _refusal(world)
    assert refused.blocked.code is Code.UNKNOWN_OUTCOME
    assert f"refs/agent-recovery/{place} leaves no room" in refused.blocked.reason


@pytest.mark.parametrize("place", ["recovered", "recovered/{}"])
async def test_a_ref_where_foreign_heads_are_kept_does_not_keep_the_branch_from_coming_back(
    world: LoopWorld, place: str
) -> None:
    controller = world.controller()
    agent = world.agent(await world.claim(controller))
    sha = agent.push("one").code_sha
    await world.settle(controller)
    world.git(agent.folder, "push", "-q", "origin", f"HEAD:refs/agent-recovery/{place.format(world.ticket)}")
    foreign = world.git(agent.folder, "commit-tree", "-m", "foreign", "HEAD^{tree}")
    world.git(agent.folder, "push", "-q", "--force", "origin", f"{foreign}:refs/heads/{agent.grant.branch}")
    await world.settle(controller)
    assert world.head(agent.grant.branch) == sha


async def test_ledgers_of_children_that_nobody_listed_cost_a_few_requests_however_many_there_are(
    world: LoopWorld,
) -> None:
    controller = world.controller()
    grant = await world.claim(controller)
    agent = world.agent(grant)
    names = [f"refs/agent-recovery/active/{world.ticket}.made-up-{n:03}" for n in range(3 * MOST_UNLISTED)]
    world.git(agent.folder, "push", "-q", "origin", *(f"HEAD:{name}" for name in names))
    before = world.requested()
    shown = await controller.children("acme", "shop", world.ticket, claims_of(grant))
    assert [child.name for child in shown.children] == [f"made-up-{n:03}" for n in range(MOST_UNLISTED)]
    assert {child.state for child in shown.children} == {"orphaned"}
    assert world.requested() - before < 2 * MOST_UNLISTED
