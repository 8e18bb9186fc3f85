"""The demo itself, and what its first proofs say where the service's writes are switched off."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from app.drill import proofs_of_work as proofs
from app.drill.proof import NotProved
from app.drill.scripted_agent import must_push, tasks_of
from app.drill.story import APART, PROOFS, Story
from app.drill.telling import Result, Telling
from app.drill.world import TICKET, World

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_the_demo_proves_every_step() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "app.cli", "demo", "--json", "--seed", "7"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    assert done.stdout, done.stderr[-2000:]
    told = json.loads(done.stdout)
    assert told["failed"] == {}
    assert done.returncode == 0
    assert set(told["proved"]) == set(PROOFS)
    assert all(told["proved"].values())
    assert told["generation"] == 2
    assert told["duplicates"] == 0
    assert told["seed"] == 7
    assert 0 < told["recovery_requests"] <= 17
    assert set(told["requests_apart"]) == set(APART)


@pytest.mark.slow
def test_with_writes_off_nothing_is_claimed(tmp_path: Path) -> None:
    world = World(tmp_path)
    try:
        story = Story(world, Telling(quiet=True), Result(seed=1))
        world.start_service(AGENT_RECOVERY_WRITES="off")
        world.install()
        workspace = tmp_path / "agent"
        workspace.mkdir()
        attempt = world.command(world.first, workspace, "recover", str(TICKET), "--json")
        assert attempt.exit_code == 4
        assert "writes_off" in attempt.said
        assert isinstance(proofs.claimed(world.observer, story.place, generation=1), NotProved)
        assert isinstance(proofs.pr_created(world.observer, story.place), NotProved)
    finally:
        world.stop()


def test_steps_are_the_issues_task_list() -> None:
    body = "Do this:\r\n\r\n- [ ] Water the roots\r\n- [x] Count `all` trees  \r\n* [ ] Rest\r\n- no task\r\n"
    assert [(t.id, t.text) for t in tasks_of(body.replace("\r\n", "\n"))] == [
        ("1", "Water the roots"),
        ("2", "Count `all` trees"),
        ("3", "Rest"),
    ]


@pytest.mark.parametrize(
    ("unpushed", "ever_pushed", "remaining", "pushes"),
    [(1, False, 5, True), (1, True, 4, False), (2, True, 3, True), (1, True, 0, True), (0, False, 3, False)],
)
def test_the_agents_habit_leaves_something_to_lose(
    unpushed: int, ever_pushed: bool, remaining: int, pushes: bool
) -> None:
    assert must_push(unpushed, ever_pushed, remaining) is pushes
