"""What becomes of runs when the emulator is started again with what it held before."""

from __future__ import annotations

import asyncio
import pickle
from pathlib import Path

import pytest

from app.emulator.actions_state import Command
from app.emulator.acts.refs import commit_files
from app.emulator.acts.workflow_runs import begin, start_run, take_up
from app.emulator.acts.workflows import read_file, workflows_of
from app.emulator.processes import CommandWork, Launch
from app.emulator.state import Actor
from app.emulator.world import World

FILE = "on: workflow_dispatch\njobs: {one: {}}\n"


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    owner = made.add_account("octo", "Organization")
    repo = made.add_repo(owner, "demo", private=False, default_branch="main")
    commit_files(made, repo, "main", {".github/workflows/x.yml": FILE}, Actor(owner))
    (workflow,) = workflows_of(made, repo)
    sha = repo.git.branch("main") or ""
    for _ in range(2):
        start_run(
            made,
            workflow,
            read_file(repo, sha, workflow.path),
            event="workflow_dispatch",
            ref="refs/heads/main",
            sha=sha,
            actor=owner,
            payload={},
            title="x",
        )
    made.background.drop()
    made.actions.commands[repo.id, workflow.path] = Command(("true",))
    return made


async def test_what_ran_has_failed_and_what_waited_is_started(world: World) -> None:
    lost, waiting = world.actions.runs.values()
    begin(world, lost)
    take_up(world)
    assert (lost.attempt.status, lost.attempt.conclusion) == ("completed", "failure")
    assert waiting.attempt.status == "queued"
    world.background.run_all()
    await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()}, timeout=10)
    assert waiting.attempt.conclusion == "success"


async def test_a_stored_world_wakes_without_processes(world: World, tmp_path: Path) -> None:
    launch = Launch(["sleep", "60"], {"PATH": "/usr/bin:/bin"}, str(tmp_path), tmp_path / "log", 60)
    ended: list[str] = []
    world.processes.start(1, CommandWork(launch), ended.append)
    await asyncio.sleep(0)
    woken = pickle.loads(pickle.dumps(world.processes))
    assert woken.cancel(1, force=True) is False
    await world.processes.stop_all()
    assert ended == []
