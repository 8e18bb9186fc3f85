"""gh about workflows and their runs."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest
from gh import Gh, every_gh
from outsiders import REPO, Outside

WORKFLOW = """name: CI
on:
  workflow_dispatch:
    inputs:
      who:
        type: string
jobs:
  build:
    runs-on: ubuntu-latest
    steps: []
"""


@pytest.fixture
def gh(outside: Outside, version: tuple[int, int], tmp_path: Path) -> Gh:
    outside.emulator.commit(REPO, {".github/workflows/ci.yml": WORKFLOW}, branch="main", author="dev")
    desk = Gh(outside, version, tmp_path / "home", tmp_path)
    desk.home.mkdir()
    desk("config", "set", "http_unix_socket", str(outside.socket))
    return desk


def runs(gh: Gh) -> list[dict[str, Any]]:
    return list(gh.json("run", "list", "-R", REPO, "--json", "databaseId,status,conclusion,workflowName,event"))


@every_gh
def test_a_workflow_is_run_watched_and_looked_at(gh: Gh, tmp_path: Path) -> None:
    note = tmp_path / "note"
    event = "json.load(open(os.environ['GITHUB_EVENT_PATH']))"
    work = f"import json, os; open({str(note)!r}, 'w').write({event}['inputs']['who'])"
    gh.outside.emulator.workflow_command(REPO, "ci.yml", [sys.executable, "-c", work])
    assert gh("workflow", "list", "-R", REPO).split("\t")[:2] == ["CI", "active"]
    gh("workflow", "run", "ci.yml", "-R", REPO, "-f", "who=me")
    number = str(runs(gh)[0]["databaseId"])
    deadline = time.monotonic() + 20
    while runs(gh)[0]["status"] != "completed" and time.monotonic() < deadline:
        time.sleep(0.1)
    (run,) = runs(gh)
    assert (run["workflowName"], run["event"], run["conclusion"]) == ("CI", "workflow_dispatch", "success")
    assert note.read_text() == "me"
    said = gh("run", "view", number, "-R", REPO)
    assert "build" in said
    assert "CI" in said
    assert gh.try_("run", "view", number, "-R", REPO, "--exit-status").returncode == 0


@every_gh
def test_a_run_is_cancelled_and_a_workflow_switched_off(gh: Gh) -> None:
    gh("workflow", "run", "ci.yml", "-R", REPO)
    number = str(runs(gh)[0]["databaseId"])
    gh("run", "cancel", number, "-R", REPO)
    assert runs(gh)[0]["conclusion"] == "cancelled"
    gh("workflow", "disable", "ci.yml", "-R", REPO)
    assert "Cannot trigger a 'workflow_dispatch' on a disabled workflow" in gh.refused(
        "workflow", "run", "ci.yml", "-R", REPO
    )
    gh("workflow", "enable", "ci.yml", "-R", REPO)
    assert "Unexpected inputs provided" in gh.refused("workflow", "run", "ci.yml", "-R", REPO, "-f", "nobody=x")
    gh("workflow", "run", "ci.yml", "-R", REPO)
    assert len(runs(gh)) == 2
