"""`agent-recovery init`: shown first, asked for, proposed in a pull request, and never over anything that stands."""

import pytest
from loop_world import REPO, LoopWorld
from operating import Operator

from app.domain.policy import Mode
from app.domain.policy_text import read_policy

PATH = ".github/agent-recovery.yml"
INIT = ("init", "--repo", REPO)


@pytest.fixture
def operator(world: LoopWorld, monkeypatch: pytest.MonkeyPatch) -> Operator:
    world.emulator.commit(REPO, {PATH: None}, branch="main")
    return Operator(world, monkeypatch)


def branches(world: LoopWorld) -> set[str]:
    return {one["name"] for one in world.get("branches")}


async def test_it_shows_the_file_first_and_writes_nothing_where_nobody_agrees(
    world: LoopWorld, operator: Operator
) -> None:
    for answer, code in (("n\n", 0), ("", 2)):
        said = await operator.run(*INIT, answer=answer)
        assert said.code == code
        assert "mode: observe" in said.out
        assert "Open a pull request into main?" in said.out
    assert world.writes() == []


async def test_it_opens_a_pull_request_with_the_file_and_leaves_the_default_branch_alone(
    world: LoopWorld, operator: Operator
) -> None:
    before, standing = world.head("main"), branches(world)
    said = await operator.run(*INIT, answer="y\n")
    assert said.code == 0
    [pull] = world.get("pulls")
    assert pull["html_url"] in said.out
    assert (pull["base"]["ref"], pull["head"]["ref"], pull["draft"]) == ("main", "agent-recovery/init", False)
    assert world.head("main") == before
    assert branches(world) - standing == {"agent-recovery/init"}
    [file] = world.get(f"pulls/{pull['number']}/files")
    assert (file["filename"], file["status"]) == (PATH, "added")
    world.http.put(f"/repos/{REPO}/pulls/{pull['number']}/merge", json={}).raise_for_status()
    text = world.http.get(f"/repos/{REPO}/contents/{PATH}", headers={"Accept": "application/vnd.github.raw"}).text
    assert text.startswith("# yaml-language-server: $schema=https://recovery.example.com/schema/policy.json\n")
    policy = read_policy(text).policy
    assert policy is not None
    assert (policy.mode, policy.trunks) == (Mode.OBSERVE, ("release-*",))


async def test_a_second_run_finds_what_the_first_did(world: LoopWorld, operator: Operator) -> None:
    first = (await operator.run(*INIT, "--yes", "--json")).json
    assert (first["state"], first["written"]) == ("opened", True)
    since = world.requested()
    second = (await operator.run(*INIT, "--yes", "--json")).json
    assert (second["state"], second["written"], second["pull"]) == ("proposed", False, first["pull"])
    assert world.writes(since) == []


async def test_it_goes_on_where_the_pull_request_is_missing(world: LoopWorld, operator: Operator) -> None:
    first = (await operator.run(*INIT, "--yes", "--json")).json["pull"]["number"]
    world.http.patch(f"/repos/{REPO}/pulls/{first}", json={"state": "closed"}).raise_for_status()
    since = world.requested()
    again = (await operator.run(*INIT, "--yes", "--json")).json
    assert again["state"] == "opened"
    assert again["pull"]["number"] != first
    assert [line.split()[0] for line in world.writes(since)] == ["POST"]


async def test_a_branch_that_holds_something_else_is_left_alone(world: LoopWorld, operator: Operator) -> None:
    made = {"ref": "refs/heads/agent-recovery/init", "sha": world.head("main")}
    world.http.post(f"/repos/{REPO}/git/refs", json=made).raise_for_status()
    said = await operator.run(*INIT, "--yes", "--json")
    assert (said.code, said.json["error"]["code"]) == (2, "usage")
    assert "holds something else" in said.json["error"]["message"]
    assert world.writes() == []


async def test_a_policy_that_stands_is_never_overwritten(world: LoopWorld, operator: Operator) -> None:
    world.emulator.commit(REPO, {PATH: "mode: repair\n"}, branch="main")
    said = await operator.run(*INIT, "--yes", "--diff")
    assert said.code == 0
    assert "has a policy already" in said.out
    assert "-mode: repair" in said.out.splitlines()
    assert "+mode: observe" in said.out.splitlines()
    assert world.writes() == []


async def test_print_only_prints_the_file(world: LoopWorld, operator: Operator) -> None:
    said = await operator.run(*INIT, "--print", "--mode", "full")
    policy = read_policy(said.out).policy
    assert policy is not None
    assert policy.mode is Mode.FULL
    assert world.writes() == []


async def test_a_label_has_to_be_there(world: LoopWorld, operator: Operator) -> None:
    said = await operator.run(*INIT, "--print", "--label", "agent ready", "--json")
    assert (said.code, said.json["error"]["code"]) == (2, "usage")
    world.emulator.issue(REPO, "Another", author="wanda", labels=["agent ready"])
    said = await operator.run(*INIT, "--print", "--label", "agent ready")
    policy = read_policy(said.out).policy
    assert policy is not None
    assert policy.enroll.label == "agent ready"


async def test_a_stopped_repository_gets_no_proposal(world: LoopWorld, operator: Operator) -> None:
    await operator.run("stop", "--repo", REPO, "--by", "wanda")
    said = await operator.run(*INIT, "--yes", "--json")
    assert (said.code, said.json["error"]["code"]) == (4, "writes_off")
    assert world.writes() == []


async def test_with_json_nobody_is_asked(world: LoopWorld, operator: Operator) -> None:
    said = await operator.run(*INIT, "--json")
    assert (said.code, said.json["error"]["code"]) == (2, "usage")
    assert world.writes() == []
