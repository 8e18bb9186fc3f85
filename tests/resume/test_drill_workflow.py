"""`docs/workflows/drill.yml` in a repository as it stands: its steps are carried out, and what it calls plays a story.

The stories themselves are played in tests/drill; here stands in their place what writes down how it was called.
"""

import asyncio
import os
import stat
from pathlib import Path
from typing import Any

import pytest
import typer.main
from loop_world import REPO
from resume_world import ResumeWorld
from typer.core import TyperGroup

from app.drill.cli import app
from app.drill.play import TALES

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = (ROOT / "docs" / "workflows" / "drill.yml").read_text("utf-8")
STAND_IN = """\
#!/bin/sh
echo "$@" >> "$OUT/called"
test "$*" != "$FAILING"
"""
DELIVERY, RESUMING = "An agent dies, a fresh one goes on", "Resumed, too old, used up"


async def played(world: ResumeWorld, failing: str = "") -> dict[str, Any]:
    """How the run of a person and each of its steps ended."""
    stand_in = world.folder / "agent-recovery"
    stand_in.write_text(STAND_IN)
    stand_in.chmod(stand_in.stat().st_mode | stat.S_IXUSR)
    world.emulator.commit(REPO, {".github/workflows/drill.yml": SHIPPED}, branch="main")
    env = {"PATH": f"{world.folder}:{os.environ['PATH']}", "OUT": str(world.folder), "FAILING": failing}
    world.emulator.workflow_machine(REPO, "drill.yml", env=env, pace=0.02)
    actions = f"/repos/{REPO}/actions"
    asked = {"ref": "main", "return_run_details": True}
    started = world.http.post(f"{actions}/workflows/drill.yml/dispatches", json=asked).raise_for_status()
    run = f"{actions}/runs/{started.json()['workflow_run_id']}"
    for _ in range(300):
        seen = world.http.get(run).raise_for_status().json()
        if seen["status"] == "completed":
            (job,) = world.http.get(f"{run}/jobs").raise_for_status().json()["jobs"]
            return {"run": seen["conclusion"], **{step["name"]: step["conclusion"] for step in job["steps"]}}
        await asyncio.sleep(0.05)
    raise AssertionError(seen)


def called(world: ResumeWorld) -> list[str]:
    return (world.folder / "called").read_text().splitlines()


async def test_it_plays_both_stories_with_words_that_the_command_takes(world: ResumeWorld) -> None:
    ended = await played(world)
    assert (ended["run"], ended[DELIVERY], ended[RESUMING]) == ("success", "success", "success")
    assert ended["Install agent-recovery"] == "skipped"
    assert called(world) == ["demo", "demo --story resume"]
    room = typer.main.get_command(app)
    assert isinstance(room, TyperGroup)
    demo = room.commands["demo"]
    stories = [demo.make_context("demo", line.split()[1:]).params["story"] for line in called(world)]
    assert stories == ["delivery", "resume"] == list(TALES)


@pytest.mark.parametrize(
    ("failing", "delivery", "resuming"),
    [("demo", "failure", "success"), ("demo --story resume", "success", "failure")],
)
async def test_one_story_that_fails_fails_the_run_and_hides_not_the_other(
    world: ResumeWorld, failing: str, delivery: str, resuming: str
) -> None:
    ended = await played(world, failing)
    assert (ended["run"], ended[DELIVERY], ended[RESUMING]) == ("failure", delivery, resuming)
    assert called(world) == ["demo", "demo --story resume"]
