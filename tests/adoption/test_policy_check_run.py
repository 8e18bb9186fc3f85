"""The check-run `Agent Recovery / policy`: where the file is looked at, what it says, and who is written to at all."""

from typing import Any

import pytest
from loop_world import REPO, LoopWorld

from app.controller.controller import Controller
from app.github.errors import Unanswered

PATH = ".github/agent-recovery.yml"
VALID = "mode: repair\ntrunks: [release-*]\n"
BROKEN = "mode: repair\nmode: full\n"


def policy(world: LoopWorld, text: str | None, branch: str = "main") -> str:
    return world.emulator.commit(REPO, {PATH: text}, branch=branch)


def branch(world: LoopWorld, name: str, base: str = "main") -> None:
    made = {"ref": f"refs/heads/{name}", "sha": world.head(base)}
    world.http.post(f"/repos/{REPO}/git/refs", json=made).raise_for_status()


def pull(world: LoopWorld, head: str) -> int:
    made = {"head": head, "base": "main", "title": "A wish"}
    return int(world.http.post(f"/repos/{REPO}/pulls", json=made).raise_for_status().json()["number"])


def runs(world: LoopWorld, sha: str) -> list[dict[str, Any]]:
    return [run for run in world.check_runs(sha) if run["name"] == "Agent Recovery / policy"]


async def look(controller: Controller) -> None:
    await controller.look_at_repository("acme", "shop")


async def test_a_mistake_fails_on_the_default_branch_until_it_is_mended(world: LoopWorld) -> None:
    controller = world.controller()
    broken = policy(world, BROKEN)
    await look(controller)
    [run] = runs(world, broken)
    assert (run["status"], run["conclusion"]) == ("completed", "failure")
    assert "Line 2: mode is given twice" in run["output"]["summary"]
    assert "stays in force (mode repair)" in run["output"]["summary"]
    later = world.emulator.commit(REPO, {"notes": "1"}, branch="main")
    await look(controller)
    assert [run["conclusion"] for run in runs(world, later)] == ["failure"]
    mended = policy(world, VALID)
    await look(controller)
    assert [run["conclusion"] for run in runs(world, mended)] == ["success"]
    quiet = world.emulator.commit(REPO, {"notes": "2"}, branch="main")
    await look(controller)
    assert runs(world, quiet) == []


async def test_a_second_look_writes_nothing(world: LoopWorld) -> None:
    controller = world.controller()
    policy(world, BROKEN)
    branch(world, "wish")
    policy(world, VALID, "wish")
    pull(world, "wish")
    await look(controller)
    for again in (controller, world.controller()):
        since = world.requested()
        await look(again)
        assert world.writes(since) == []


async def test_a_pull_request_that_changes_the_policy_is_told_what_it_would_do(world: LoopWorld) -> None:
    branch(world, "wish")
    wrong = policy(world, BROKEN, "wish")
    branch(world, "better")
    right = policy(world, "mode: full\n", "better")
    branch(world, "other")
    other = world.emulator.commit(REPO, {"a": "1"}, branch="other")
    for head in ("wish", "better", "other"):
        pull(world, head)
    before = policy(world, "mode: repair\ntrunks: [release-*]\nretention: 60d\n")
    await look(world.controller())
    assert [run["conclusion"] for run in runs(world, wrong)] == ["failure"]
    assert [run["output"]["title"] for run in runs(world, right)] == ["Valid: mode full"]
    # Its branch is behind the policy on the default branch, and changes nothing of it.
    assert runs(world, other) == []
    assert [run["conclusion"] for run in runs(world, before)] == ["success"]


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param([None], id="no file"),
        pytest.param([None, BROKEN], id="a first file that is wrong"),
        pytest.param(["mode: observe\n"], id="observe"),
        pytest.param(["mode: observe\n", BROKEN], id="observe in force"),
    ],
)
async def test_where_nothing_may_be_written_nothing_is_said(world: LoopWorld, texts: list[str | None]) -> None:
    for text in texts:
        policy(world, text)
    branch(world, "wish")
    policy(world, "mode: full\n", "wish")
    pull(world, "wish")
    await look(world.controller())
    assert world.writes() == []


async def test_a_lost_answer_makes_no_second_run(world: LoopWorld) -> None:
    broken = policy(world, BROKEN)
    world.emulator.fault("drop_after", match={"method": "POST", "kind": "rest"})
    controller = world.controller()
    with pytest.raises(Unanswered):
        await look(controller)
    await look(controller)
    assert len(runs(world, broken)) == 1


async def test_a_sweep_finds_a_change_that_no_event_told(world: LoopWorld) -> None:
    controller = world.controller()
    await controller.start_up()
    await world.poked()
    policy(world, BROKEN)
    await controller.start_up()
    assert REPO in await world.poked()
