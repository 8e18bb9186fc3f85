"""A policy file that cannot be used does not stop a repository: the last valid one of the default branch stays."""

import secrets

import pytest
from loop_world import REPO, LoopWorld

from app.controller.controller import Controller
from app.controller.policies import MAX_PAGES
from app.domain.agent_api import ClaimRequest, Grant
from app.domain.brief import Brief
from app.domain.outcome import Code, Refused

PATH = ".github/agent-recovery.yml"
REPAIR = "version: 1\nmode: repair\ntrunks: [release-*]\n"
BROKEN = "version: 1\nmode: repair\nmode: full\n"


def policy(world: LoopWorld, text: str | None, branch: str = "main") -> str:
    return world.emulator.commit(REPO, {PATH: text}, branch=branch)


def branch(world: LoopWorld, name: str) -> None:
    made = {"ref": f"refs/heads/{name}", "sha": world.head("main")}
    world.http.post(f"/repos/{REPO}/git/refs", json=made).raise_for_status()


async def claimed(world: LoopWorld, controller: Controller) -> Grant | Refused:
    request = ClaimRequest(claim_id=secrets.token_hex(8), observed_generation=0, holder="agent")
    try:
        return await controller.claim("acme", "shop", world.ticket, request, "wanda")
    except Refused as refused:
        return refused


async def brief(world: LoopWorld, controller: Controller) -> Brief:
    return await controller.brief("acme", "shop", world.ticket)


async def test_the_policy_before_the_mistake_is_in_force_and_said_to_be(world: LoopWorld) -> None:
    before = world.emulator.commit(REPO, {"notes": "1"}, branch="main")
    policy(world, BROKEN)
    controller = world.controller()
    found = [f.finding for f in (await brief(world, controller)).findings]
    assert any(f"that of commit {before[:12]} is in force" in finding for finding in found)
    assert any("line 3: mode is given twice" in finding for finding in found)
    assert isinstance(await claimed(world, controller), Grant)


async def test_what_comes_with_a_merge_never_was_in_force(world: LoopWorld) -> None:
    # A branch makes the policy permissive and then breaks it: merged, the file that cannot be used is all one sees.
    policy(world, "mode: observe\n")
    branch(world, "sneaky")
    policy(world, "mode: full\nlanding:\n  unguarded_base: accept\n", "sneaky")
    policy(world, BROKEN, "sneaky")
    merged = world.http.post(f"/repos/{REPO}/merges", json={"base": "main", "head": "sneaky"})
    assert merged.status_code == 201
    refused = await claimed(world, world.controller())
    assert isinstance(refused, Refused)
    assert refused.blocked.code is Code.MODE_OBSERVE
    assert "is in force" in refused.blocked.reason


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        pytest.param([BROKEN], "none before it is in force", id="never valid"),
        pytest.param([REPAIR, None, BROKEN], "none before it is in force", id="deleted since"),
        pytest.param([REPAIR, None], "has no policy file", id="deleted"),
    ],
)
async def test_without_a_valid_policy_nothing_is_granted(world: LoopWorld, texts: list[str | None], words: str) -> None:
    for text in [None, *texts]:
        policy(world, text)
    refused = await claimed(world, world.controller())
    assert isinstance(refused, Refused)
    assert refused.blocked.code is Code.NO_POLICY
    assert words in refused.blocked.reason
    assert world.writes() == []


async def test_a_branch_that_changes_the_policy_changes_nothing(world: LoopWorld) -> None:
    branch(world, "wish")
    policy(world, "mode: observe\n", "wish")
    assert isinstance(await claimed(world, world.controller()), Grant)


async def test_a_sweep_finds_enrolled_tickets_by_the_policy_in_force(world: LoopWorld) -> None:
    policy(world, f"{REPAIR}enroll:\n  branch: true\n")
    policy(world, BROKEN)
    controller = world.controller()
    await controller.start_up()
    await world.poked()
    branch(world, f"ticket/{world.ticket}-apples")
    world.emulator.commit(REPO, {"a": "1"}, branch=f"ticket/{world.ticket}-apples")
    await controller.start_up()
    assert f"{REPO}#{world.ticket}" in await world.poked()


async def test_looking_back_costs_two_requests_a_head_of_the_default_branch(world: LoopWorld) -> None:
    policy(world, BROKEN)
    controller = world.controller()
    await brief(world, controller)
    since = world.requested()
    await brief(world, controller)
    assert looks_back(world, since) == []
    world.emulator.commit(REPO, {"notes": "1"}, branch="main")
    await brief(world, controller)
    assert looks_back(world, since) == ["PolicyLine", "BlobTexts"]


async def test_how_far_back_is_looked_is_bounded(world: LoopWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_PAGES * 100 == 500
    monkeypatch.setattr("app.controller.policies.MAX_PAGES", 1)
    policy(world, BROKEN)
    for n in range(101):
        world.emulator.commit(REPO, {"notes": str(n)}, branch="main")
    refused = await claimed(world, world.controller())
    assert isinstance(refused, Refused)
    assert refused.blocked.code is Code.NO_POLICY
    monkeypatch.setattr("app.controller.policies.MAX_PAGES", 2)
    assert isinstance(await claimed(world, world.controller()), Grant)


def looks_back(world: LoopWorld, since: int) -> list[str]:
    seen = [str(r["operation"]) for r in world.emulator.requests(since)]
    return [name for name in seen if name in ("PolicyLine", "BlobTexts")]
