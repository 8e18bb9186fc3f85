"""A repository with workflows, an App that may start them, and a command that tells what it was given."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from emulated import ALL, REPO, World, rest

BASE = f"/repos/{REPO}/actions"
PERMISSIONS = ALL | {"actions": "write", "administration": "write", "workflows": "write"}
RUN = """\
name: Recover
run-name: Recover ${{ inputs.ticket }} (${{ inputs.attempt || 'first' }})
on:
  workflow_dispatch:
    inputs:
      ticket: {description: which, required: true}
      attempt: {type: string}
      mode: {type: choice, options: [fast, careful], default: fast}
      dry: {type: boolean, default: false}
permissions: {contents: write, id-token: write}
jobs:
  recover: {runs-on: ubuntu-latest, steps: [{run: "true"}]}
"""
PUSH = "on: push\njobs: {build: {}}\n"
REPORT = "name: Report\non: {repository_dispatch: {types: [report, again]}}\njobs: {one: {}, two: {}}\n"
ANY = "on: [repository_dispatch, push]\n"
FILES = {
    ".github/workflows/run.yml": RUN,
    ".github/workflows/push.yaml": PUSH,
    ".github/workflows/report.yml": REPORT,
    ".github/workflows/any.yml": ANY,
    ".github/workflows/readme.md": "no workflow",
    ".github/workflows/deeper/x.yml": PUSH,
    ".github/workflows/broken.yml": "on: [",
}


@dataclass
class Stage:
    """The world with workflows; ``bot`` may use them."""

    world: World
    bot: httpx.Client
    folder: Path

    def dispatch(self, workflow: str = "run.yml", **body: Any) -> httpx.Response:
        given = {"ref": "main", "inputs": {"ticket": "42"}} | body
        return self.bot.post(f"{BASE}/workflows/{workflow}/dispatches", json=given)

    def start(self, **body: Any) -> int:
        """Dispatch the workflow; the run's id."""
        answer = self.dispatch(return_run_details=True, **body)
        assert answer.status_code == 200, answer.text
        return int(answer.json()["workflow_run_id"])

    def command(self, script: str, **more: Any) -> None:
        """Let the runs of run.yml run a Python script; it finds this test's folder as `out`."""
        text = f"import json, os, pathlib, sys, time\nout = pathlib.Path({str(self.folder)!r})\n{script}"
        self.world.emulator.workflow_command(REPO, "run.yml", [sys.executable, "-c", text], **more)

    def run(self, number: int) -> dict[str, Any]:
        return dict(self.bot.get(f"{BASE}/runs/{number}").json())

    def wait(self, number: int, status: str = "completed", attempt: int = 1) -> dict[str, Any]:
        def there(run: dict[str, Any]) -> bool:
            return bool(run["status"] == status and run["run_attempt"] == attempt)

        return dict(wait_until(lambda: self.run(number), there, f"run {status}"))

    def read(self, name: str) -> Any:
        return json.loads((self.folder / name).read_text())


def wait_until(look: Callable[[], Any], enough: Callable[[Any], bool], what: str) -> Any:
    """Look again until it is enough. Raises ``TimeoutError``."""
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        seen = look()
        if enough(seen):
            return seen
        time.sleep(0.02)
    raise TimeoutError(f"{what}: {seen}")


def stage_of(world: World, folder: Path) -> Stage:
    """Put the workflows on the default branch and let the App's installation start them."""
    world.emulator.commit(REPO, FILES)
    world.emulator.change_app("keeper", permissions=PERMISSIONS)
    world.emulator.accept_permissions(world.installation["id"])
    token = world.emulator.installation_token(world.app, world.installation["id"])
    return Stage(world, rest(world.emulator, token), folder)
