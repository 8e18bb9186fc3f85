"""`agent-recovery plan`: what each mode would do in a repository, by the real looks and decisions, and no write."""

from typing import Any

import pytest
from loop_world import REPO, LoopWorld
from operating import Operator, Said

from app.controller.planning import MOST_PAGES

PATH = ".github/agent-recovery.yml"


@pytest.fixture
def operator(world: LoopWorld, monkeypatch: pytest.MonkeyPatch) -> Operator:
    return Operator(world, monkeypatch)


def policy(world: LoopWorld, text: str | None) -> None:
    world.emulator.commit(REPO, {PATH: text}, branch="main")


def branch(world: LoopWorld, name: str, files: dict[str, str] | None = None) -> None:
    made = {"ref": f"refs/heads/{name}", "sha": world.head("release-1")}
    world.http.post(f"/repos/{REPO}/git/refs", json=made).raise_for_status()
    if files:
        world.emulator.commit(REPO, files, branch=name)


def pull(world: LoopWorld, head: str, base: str = "main") -> int:
    made = {"head": head, "base": base, "title": "Work"}
    return int(world.http.post(f"/repos/{REPO}/pulls", json=made).raise_for_status().json()["number"])


async def planned(world: LoopWorld, operator: Operator, *more: str) -> dict[str, Any]:
    since = world.requested()
    said = await operator.run("plan", "--repo", REPO, "--json", *more)
    assert said.code == 0, said.err
    assert world.writes(since) == []
    told: dict[str, Any] = said.json
    assert told["written"] is False
    return told


def of(told: dict[str, Any], mode: str, thing: str) -> dict[str, Any]:
    return next(one for one in told["modes"][mode] if one["thing"] == thing)


def acts(told: dict[str, Any], mode: str, thing: str) -> list[str]:
    return [step["action"] for step in of(told, mode, thing)["actions"]]


async def test_without_a_policy_the_defaults_are_shown_and_said_to_be(world: LoopWorld, operator: Operator) -> None:
    policy(world, None)
    branch(world, f"ticket/{world.ticket}-apples", {"a": "1"})
    branch(world, "feature", {"b": "1"})
    number = pull(world, "feature")
    told = await planned(world, operator)
    assert told["mode_now"] is None
    assert "defaults, because there is no" in told["policy"]
    assert told["found"] == {
        "open pull requests": 1,
        "branches": 4,
        "labelled Issues": 0,
        "ledgers in progress": 0,
    }
    assert acts(told, "observe", f"pull #{number}") == []
    assert acts(told, "repair", f"pull #{number}") == ["CreateCheckRun"]
    left = of(told, "full", f"branch ticket/{world.ticket}-apples")
    assert left["actions"] == []
    assert "the policy does not enroll it" in left["reason"]
    assert of(told, "full", "branch feature")["reason"] == "left alone: no ticket's branch"


async def test_an_enrolled_issue_is_decided_about_as_a_round_would(world: LoopWorld, operator: Operator) -> None:
    policy(world, "mode: observe\ntrunks: [release-*]\nenroll:\n  branch: true\n")
    branch(world, f"ticket/{world.ticket}-apples", {"a": "1"})
    told = await planned(world, operator)
    thing = f"ticket #{world.ticket}"
    assert told["mode_now"] == "observe"
    assert of(told, "observe", thing)["claim"].startswith("refused: mode_observe")
    assert of(told, "repair", thing)["claim"].startswith("granted")
    assert acts(told, "repair", thing) == ["BeginLedger", "CreatePull"]
    assert of(told, "repair", thing)["actions"][1]["base"] == "release-1"
    policy(world, "mode: repair\ntrunks: [release-*]\nenroll:\n  branch: true\n")
    since = world.requested()
    await world.settle(world.controller())
    written = [line for line in world.writes(since) if "/pulls" in line]
    assert len(written) == 1


async def test_a_ticket_in_progress_shows_its_next_acts_in_each_mode(world: LoopWorld, operator: Operator) -> None:
    controller = world.controller()
    agent = world.agent(await world.claim(controller))
    agent.push("one")
    told = await planned(world, operator)
    thing = f"ticket #{world.ticket}"
    assert acts(told, "observe", thing) == []
    for mode in ("repair", "full"):
        assert {"CreatePull", "CreateComment"} <= set(acts(told, mode, thing))
        assert of(told, mode, thing)["claim"].startswith("refused: lease_live")
    await world.settle(controller)
    told = await planned(world, operator, "--mode", "full")
    assert list(told["modes"]) == ["full"]
    assert acts(told, "full", thing) == []


async def test_what_it_plans_is_what_the_round_does(world: LoopWorld, operator: Operator) -> None:
    controller, agent, published = await world.published()
    overwritten = {"sha": world.head("main"), "force": True}
    world.http.patch(f"/repos/{REPO}/git/refs/heads/{agent.grant.branch}", json=overwritten).raise_for_status()
    told = await planned(world, operator, "--mode", "repair")
    [step] = of(told, "repair", f"ticket #{world.ticket}")["actions"]
    assert (step["action"], step["branch"], step["published"]) == ("RestoreBranch", agent.grant.branch, published)
    await world.settle(controller)
    assert world.head(agent.grant.branch) == published


async def test_a_policy_that_cannot_be_used_is_told_with_line_and_remedy(world: LoopWorld, operator: Operator) -> None:
    policy(world, "mode: everything\nlease:\n  ttl: 9h\n")
    told = await planned(world, operator)
    assert told["mode_now"] == "repair"
    assert "is in force" in told["policy"]
    assert told["problems"][0].startswith("line 1: mode:")
    [shown] = [one for one in told["modes"]["repair"] if one["thing"].startswith("policy at")]
    assert (shown["actions"][0]["action"], shown["actions"][0]["conclusion"]) == ("CreateCheckRun", "failure")
    policy(world, "mode: repair\ntrunks: [release-*]\nlease:\n  ttl: 9h\n")
    assert (await planned(world, operator))["clamps"][0].startswith("lease.ttl: 9h")


async def test_how_much_is_looked_at_is_bounded_and_said(world: LoopWorld, operator: Operator) -> None:
    assert MOST_PAGES * 100 == 2000
    policy(world, "mode: observe\nenroll:\n  label: agent\n")
    for n in range(3):
        world.emulator.issue(REPO, f"Issue {n}", author="wanda", labels=["agent"])
    told = await planned(world, operator, "--most", "2")
    assert told["unread"] == ["1 tickets were not looked at; --most N looks at more"]
    assert len([one for one in told["modes"]["full"] if one["thing"].startswith("ticket")]) == 2


async def test_a_policy_is_tried_before_anybody_sees_it(world: LoopWorld, operator: Operator) -> None:
    policy(world, None)
    branch(world, f"ticket/{world.ticket}-apples", {"a": "1"})
    file = world.folder / "tried.yml"
    file.write_text("trunks: [release-*]\nenroll:\n  branch: true\n")
    told = await planned(world, operator, "--policy", str(file))
    assert (told["mode_now"], told["policy"]) == (None, "a file that is being tried")
    assert acts(told, "repair", f"ticket #{world.ticket}") == ["BeginLedger", "CreatePull"]
    file.write_text("mode: everything\n")
    said = await operator.run("plan", "--repo", REPO, "--policy", str(file), "--json")
    assert (said.code, said.json["error"]["code"]) == (2, "usage")
    assert "line 1: mode" in said.json["error"]["message"]
    said = await operator.run("plan", "--repo", REPO, "--policy", str(file) + ".gone", "--json")
    assert (said.code, said.json["error"]["code"]) == (2, "usage")


async def test_it_says_that_nothing_is_written_now_where_the_operator_stopped_it(
    world: LoopWorld, operator: Operator
) -> None:
    await operator.run("stop", "--repo", REPO, "--by", "wanda", "--reason", "an incident")
    assert "an incident" in (await planned(world, operator, "--mode", "full"))["stopped"]
    said = await operator.run("plan", "--repo", REPO)
    assert any(line.startswith("Nothing is written now, whatever the mode") for line in said.out.splitlines())


async def test_a_stop_is_told_under_the_repositorys_new_name_too(world: LoopWorld, operator: Operator) -> None:
    await operator.run("stop", "--repo", REPO, "--by", "wanda", "--reason", "an incident")
    boss = world.emulator.user("boss")
    world.emulator.change_repo(REPO, collaborators={"wanda": "write", "boss": "admin"})
    headers = {"Authorization": f"Bearer {boss['token']}"}
    world.http.patch(f"/repos/{REPO}", json={"name": "store"}, headers=headers).raise_for_status()
    said = await operator.run("plan", "--repo", "acme/store", "--mode", "full", "--json")
    assert "an incident" in said.json["stopped"]


async def test_people_read_the_same_in_words(world: LoopWorld, operator: Operator) -> None:
    policy(world, None)
    branch(world, "feature", {"b": "1"})
    number = pull(world, "feature")
    said: Said = await operator.run("plan", "--repo", REPO)
    lines = said.out.splitlines()
    assert lines[0] == f"{REPO}: mode now: none, so nothing is written"
    assert "mode: observe – nothing is done" in lines
    assert "mode: repair – acts: 1" in lines
    assert f"  pull #{number}: other: nothing else of it is touched" in lines
    assert lines[-1] == "Nothing was written."


async def test_a_repository_without_the_app_is_said_to_be_none(world: LoopWorld, operator: Operator) -> None:
    said = await operator.run("plan", "--repo", "acme/elsewhere", "--json")
    assert (said.code, said.json["error"]["code"]) == (2, "not_found")


async def test_a_ticket_whose_holder_is_gone_shows_what_the_operators_settings_make_of_it(
    world: LoopWorld, operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.published()
    world.emulator.advance(3600)
    policy(world, "mode: full\ntrunks: [release-*]\nresume: {dispatch: command}\n")
    thing = f"ticket #{world.ticket}"

    told = of(await planned(world, operator, "--mode", "full"), "full", thing)
    assert [step["action"] for step in told["actions"]] == []
    assert "the operator of the service has none" in told["reason"]
    assert told["claim"].startswith("granted: ")

    monkeypatch.setenv("AGENT_RECOVERY_RESUME_COMMAND", "/opt/agent")
    told = of(await planned(world, operator, "--mode", "full"), "full", thing)
    assert [(step["action"], step["start"]) for step in told["actions"]] == [("Dispatch", "command")]

    monkeypatch.setenv("AGENT_RECOVERY_RESUME", "off")
    told = of(await planned(world, operator, "--mode", "full"), "full", thing)
    assert told["actions"] == []
    assert told["claim"].startswith("refused: resume_disabled (the operator of the service has switched resuming off")
