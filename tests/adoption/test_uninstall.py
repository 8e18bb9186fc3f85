"""`agent-recovery uninstall`: what the App made goes, in an order that may break off anywhere; people's things stay."""

import secrets
from collections.abc import Callable
from typing import Any

import pytest
from loop_world import PERMISSIONS, REPO, LoopWorld
from operating import Operator, Said

from app.domain.agent_api import ClaimRequest
from app.domain.keys import TrunkKey
from app.github.removal import RETIRED_TITLE, OwnComment, Removals

UNINSTALL = ("uninstall", "--repo", REPO, "--by", "wanda")


@pytest.fixture
def operator(world: LoopWorld, monkeypatch: pytest.MonkeyPatch) -> Operator:
    monkeypatch.setattr("app.controller.uninstalling.KNOWN_FOR_S", 0.0)
    return Operator(world, monkeypatch)


async def worked_on(world: LoopWorld) -> tuple[str, int]:
    """A ticket with a PR, a comment, a check-run and a ledger, whose holder fell silent; its head and PR."""
    _, _, published = await world.published()
    world.emulator.advance(3600)
    [pull] = world.get("pulls")
    return published, int(pull["number"])


def refs(world: LoopWorld) -> list[str]:
    return [one["ref"] for one in world.get("git/matching-refs/agent-recovery/")]


def comments(world: LoopWorld) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = world.get("issues/comments")
    return listed


async def removed(operator: Operator, *more: str) -> dict[str, Any]:
    said = await operator.run(*UNINSTALL, "--yes", "--json", *more)
    assert said.code == 0, said.out
    told: dict[str, Any] = said.json
    return told


async def test_all_that_the_app_made_goes_once_and_the_work_stays(world: LoopWorld, operator: Operator) -> None:
    head, number = await worked_on(world)
    world.emulator.comment(REPO, number, "wanda", "<!-- agent-recovery:handoff:1 --> by hand")
    branches = {one["name"] for one in world.get("branches")}
    told = await removed(operator)
    assert (told["state"], told["comments"], told["check_runs"]) == ("removed", 1, 1)
    assert refs(world) == []
    assert [one["user"]["login"] for one in comments(world)] == ["wanda"]
    [run] = world.check_runs(head)
    assert (run["status"], run["conclusion"], run["output"]["title"]) == ("completed", "neutral", RETIRED_TITLE)
    assert {one["name"] for one in world.get("branches")} == branches
    assert world.get(f"pulls/{number}")["state"] == "open"
    assert any(f"pull request #{number}" in words and "people's work" in words for words in told["left"])
    assert any(words.startswith(".github/agent-recovery.yml") for words in told["left"])
    assert any(words.startswith("branch protection rules") for words in told["left"])
    since = world.requested()
    assert (await removed(operator))["state"] == "nothing"
    assert world.writes(since) == []


async def test_who_only_looks_or_does_not_agree_loses_nothing(world: LoopWorld, operator: Operator) -> None:
    await worked_on(world)
    since = world.requested()
    said = await operator.run(*UNINSTALL, "--dry-run")
    assert (said.code, said.out.splitlines()[0]) == (0, f"To be removed from {REPO}:")
    for answer, code in (("n\n", 0), ("", 2)):
        assert (await operator.run(*UNINSTALL, answer=answer)).code == code
    assert world.writes(since) == []
    assert await world.stops.listed() == ()


async def test_a_living_lease_stands_against_it(world: LoopWorld, operator: Operator) -> None:
    await world.published()
    since = world.requested()
    said: Said = await operator.run(*UNINSTALL, "--yes", "--json")
    assert (said.code, said.json["error"]["code"]) == (5, "lease_live")
    assert "#1 is held by wanda" in said.json["error"]["message"]
    assert world.writes(since) == []
    assert (await removed(operator, "--force"))["state"] == "removed"
    assert refs(world) == []


async def test_the_repository_is_stopped_first_so_that_nothing_is_made_anew(
    world: LoopWorld, operator: Operator
) -> None:
    controller = world.controller(database_file=operator.database)
    await removed_from_a_running_service(world, operator)
    assert await world.stops.listed() == (REPO,)
    blocked = await world.stops.blocked(REPO)
    assert blocked is not None
    since = world.requested()
    await controller.start_up()
    assert world.writes(since) == []


async def removed_from_a_running_service(world: LoopWorld, operator: Operator) -> None:
    controller = world.controller(database_file=operator.database)
    agent = world.agent(await world.claim(controller))
    agent.push("one")
    await world.settle(controller)
    world.emulator.advance(3600)
    await removed(operator)


async def test_a_ticket_begins_anew_after_the_app_came_back(world: LoopWorld, operator: Operator) -> None:
    await removed_from_a_running_service(world, operator)
    assert (await operator.run("start", "--repo", REPO)).code == 0
    controller = world.controller(database_file=operator.database)
    request = ClaimRequest(claim_id=secrets.token_hex(8), observed_generation=0, holder="agent")
    grant = await controller.claim("acme", "shop", world.ticket, request, "wanda")
    assert grant.generation == 1


def rules(world: LoopWorld, name: str, app: bool) -> int:
    check = {"context": "Agent Recovery / release"} | ({"integration_id": world.app["id"]} if app else {})
    body = {
        "name": name,
        "target": "branch",
        "enforcement": "active",
        "conditions": {"ref_name": {"include": ["~DEFAULT_BRANCH"], "exclude": []}},
        "rules": [
            {
                "type": "required_status_checks",
                "parameters": {"required_status_checks": [check], "strict_required_status_checks_policy": False},
            }
        ],
    }
    world.emulator.change_repo(REPO, collaborators={"wanda": "admin"})
    return int(world.http.post(f"/repos/{REPO}/rulesets", json=body).raise_for_status().json()["id"])


def rulesets(world: LoopWorld) -> list[str]:
    return [one["name"] for one in world.get("rulesets")]


async def test_our_ruleset_goes_first_and_without_leave_nothing_goes(world: LoopWorld, operator: Operator) -> None:
    await worked_on(world)
    rules(world, "Agent Recovery release guard", app=True)
    rules(world, "Quality", app=False)
    before = refs(world)
    said = await operator.run(*UNINSTALL, "--yes", "--json")
    assert (said.code, said.json["error"]["code"]) == (4, "forbidden")
    assert "nothing else was removed" in said.json["error"]["message"]
    assert (refs(world), len(comments(world))) == (before, 1)
    granted = {**PERMISSIONS, "administration": "write"}
    world.emulator.change_app("agent-recovery", permissions=granted)
    world.emulator.change_installation(world.installation, permissions=granted)
    since = world.requested()
    told = await removed(operator)
    assert told["rulesets"] == ["Agent Recovery release guard"]
    assert world.writes(since)[0].startswith("DELETE /repos/acme/shop/rulesets/")
    assert rulesets(world) == ["Quality"]


async def test_a_ruleset_of_others_that_asks_for_our_check_stands_against_it(
    world: LoopWorld, operator: Operator
) -> None:
    await worked_on(world)
    rules(world, "Release train", app=True)
    said = await operator.run(*UNINSTALL, "--yes", "--json")
    assert (said.code, said.json["error"]["code"]) == (4, "forbidden")
    assert "Release train" in said.json["error"]["message"]
    told = await removed(operator, "--force")
    assert told["in_the_way"] == ["Release train (acme/shop)"]
    assert (refs(world), rulesets(world)) == ([], ["Release train"])


async def test_the_guard_of_a_release_lets_nothing_pass_when_it_goes(world: LoopWorld, operator: Operator) -> None:
    world.emulator.commit(REPO, {"pears.txt": "x"}, branch="release-1")
    await world.controller(database_file=operator.database).round(TrunkKey(REPO, "release-1"))
    head = str(world.head("release-1"))
    assert [run["conclusion"] for run in world.check_runs(head)] == ["action_required"]
    told = await removed(operator)
    assert (told["check_runs"], refs(world)) == (1, [])
    [run] = world.check_runs(head)
    assert (run["conclusion"], run["output"]["title"]) == ("cancelled", RETIRED_TITLE)


class _Crash(Exception):
    """The process ends here."""


CRASHES = [
    pytest.param("delete_comment", True, id="after the first comment"),
    pytest.param("retire_check_run", False, id="before the first check-run"),
    pytest.param("update_refs", False, id="before the ledgers"),
    pytest.param("update_refs", True, id="after the ledgers"),
]


@pytest.mark.parametrize(("step", "done"), CRASHES)
async def test_it_goes_on_after_a_crash(
    world: LoopWorld, operator: Operator, monkeypatch: pytest.MonkeyPatch, step: str, done: bool
) -> None:
    head, _ = await worked_on(world)

    def crashing(real: Callable[..., Any]) -> Callable[..., Any]:
        async def ended(*given: Any, **named: Any) -> None:
            if done:
                await real(*given, **named)
            raise _Crash

        return ended

    from app.github.repository import Repository

    with monkeypatch.context() as broken:
        broken.setattr(Repository, step, crashing(getattr(Repository, step)))
        with pytest.raises(_Crash):
            await operator.run(*UNINSTALL, "--yes")
    if (step, done) != ("update_refs", True):
        assert refs(world) != []
        await removed(operator)
    assert (refs(world), comments(world)) == ([], [])
    assert [run["external_id"] for run in world.check_runs(head)] == ["removed"]
    assert (await removed(operator))["state"] == "nothing"


async def test_a_removal_of_refs_whose_answer_is_lost_is_decided_by_the_refs(
    world: LoopWorld, operator: Operator
) -> None:
    await worked_on(world)
    world.emulator.fault("drop_after", match={"operation": "UpdateRefs"})
    assert (await removed(operator))["state"] == "removed"
    assert refs(world) == []


async def test_set_aside_work_is_named_before_it_goes(world: LoopWorld, operator: Operator) -> None:
    controller, agent, _ = await world.published()
    foreign = world.emulator.commit(REPO, {"foreign": "1"}, branch="main")
    overwritten = {"sha": foreign, "force": True}
    world.http.patch(f"/repos/{REPO}/git/refs/heads/{agent.grant.branch}", json=overwritten).raise_for_status()
    await world.settle(controller)
    world.emulator.advance(3600)
    assert (await removed(operator))["kept_work"] == [foreign]


async def test_a_comment_whose_app_github_does_not_name_is_asked_about(
    world: LoopWorld, operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, number = await worked_on(world)
    world.emulator.comment(REPO, number, "wanda", "<!-- agent-recovery:handoff:1 --> by hand")

    async def unnamed(self: Removals) -> tuple[list[OwnComment], set[int]]:
        return [], {number}

    monkeypatch.setattr(Removals, "own_comments", unnamed)
    assert (await removed(operator))["comments"] == 1
    assert [one["user"]["login"] for one in comments(world)] == ["wanda"]


async def test_ledgers_kept_as_branches_and_ended_ones_go_too(world: LoopWorld, operator: Operator) -> None:
    policy = "mode: repair\ntrunks: [release-*]\nledger:\n  namespace: refs/heads/agent-recovery\n"
    world.emulator.commit(REPO, {".github/agent-recovery.yml": policy}, branch="main")
    controller, _, _ = await world.published()
    world.http.patch(f"/repos/{REPO}/issues/{world.ticket}", json={"state": "closed"}).raise_for_status()
    await world.settle(controller)
    kept = [one["ref"] for one in world.get("git/matching-refs/heads/agent-recovery/")]
    assert kept == [f"refs/heads/agent-recovery/done/{world.ticket}"]
    told = await removed(operator)
    assert told["refs"] == 1
    assert world.get("git/matching-refs/heads/agent-recovery/") == []
