"""Workflows and what starts them: recognising files, dispatching, and GitHub's refusals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from actions_world import BASE, RUN, Stage, stage_of
from emulated import REPO, World, rest


@pytest.fixture
def stage(world: World, tmp_path: Path) -> Iterator[Stage]:
    made = stage_of(world, tmp_path)
    yield made
    made.bot.close()


def refusal(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["message"]


def test_workflows_are_the_files_of_the_default_branch(stage: Stage) -> None:
    shown = stage.bot.get(f"{BASE}/workflows").json()
    assert {w["path"]: (w["name"], w["state"]) for w in shown["workflows"]} == {
        ".github/workflows/any.yml": (".github/workflows/any.yml", "active"),
        ".github/workflows/broken.yml": (".github/workflows/broken.yml", "active"),
        ".github/workflows/push.yaml": (".github/workflows/push.yaml", "active"),
        ".github/workflows/report.yml": ("Report", "active"),
        ".github/workflows/run.yml": ("Recover", "active"),
    }
    by_file = stage.bot.get(f"{BASE}/workflows/run.yml").json()
    assert stage.bot.get(f"{BASE}/workflows/{by_file['id']}").json() == by_file
    stage.world.emulator.commit(REPO, {".github/workflows/run.yml": None})
    assert stage.bot.get(f"{BASE}/workflows/run.yml").status_code == 404
    stage.world.emulator.commit(REPO, {".github/workflows/new.yml": RUN}, branch="release-1")
    assert stage.bot.get(f"{BASE}/workflows/new.yml").status_code == 404
    stage.world.emulator.commit(REPO, {".github/workflows/run.yml": RUN})
    assert stage.bot.get(f"{BASE}/workflows/run.yml").json()["id"] == by_file["id"]


def test_a_dispatch_tells_nothing_or_the_run(stage: Stage) -> None:
    silent = stage.dispatch()
    assert (silent.status_code, silent.content) == (204, b"")
    told = stage.dispatch(return_run_details=True)
    assert told.status_code == 200
    number = told.json()["workflow_run_id"]
    run = stage.run(number)
    assert told.json() == {"workflow_run_id": number, "run_url": run["url"], "html_url": run["html_url"]}
    newer = {"x-github-api-version": "2026-03-10"}
    body = {"ref": "main", "inputs": {"ticket": "1"}}
    assert stage.bot.post(f"{BASE}/workflows/run.yml/dispatches", json=body, headers=newer).status_code == 200
    listed = stage.bot.get(f"{BASE}/runs").json()
    assert (listed["total_count"], listed["workflow_runs"][1]["id"]) == (3, number)


@pytest.mark.parametrize(
    ("workflow", "body", "words"),
    [
        ("run.yml", {"ref": None}, 'Invalid request.\n\n"ref" wasn\'t supplied.'),
        ("run.yml", {"ref": "nowhere"}, "No ref found for: nowhere"),
        ("run.yml", {"inputs": {"ticket": "1", "more": "x", "x": "y"}}, 'Unexpected inputs provided: ["more", "x"]'),
        ("run.yml", {"inputs": {}}, "Required input 'ticket' not provided"),
        (
            "run.yml",
            {"inputs": {"ticket": "1", "mode": "loud"}},
            "Provided value 'loud' for input 'mode' not in the list of allowed values",
        ),
        (
            "run.yml",
            {"inputs": {"ticket": "1", "dry": ""}},
            "Provided value '' for input 'dry' not in the list of allowed values",
        ),
        (
            "run.yml",
            {"inputs": {str(n): "" for n in range(26)}},
            "Invalid request.\n\nNo more than 25 properties are allowed; 26 were supplied.",
        ),
        ("run.yml", {"inputs": {"ticket": "t" * 65_536}}, "inputs are too large."),
        ("run.yml", {"inputs": {"ticket": 42}}, "Invalid value for input 'ticket'"),
        ("run.yml", {"inputs": {"ticket": "1", "dry": True}}, "Invalid value for input 'dry'"),
        ("run.yml", {"inputs": {"ticket": {"a": "b"}}}, "Invalid value for input 'ticket'"),
        ("push.yaml", {}, "Workflow does not have 'workflow_dispatch' trigger"),
        ("broken.yml", {}, "Workflow does not have 'workflow_dispatch' trigger"),
        ("run.yml", {"ref": "42-x"}, "Workflow does not have 'workflow_dispatch' trigger"),
    ],
)
def test_refused_dispatches(stage: Stage, workflow: str, body: dict[str, Any], words: str) -> None:
    assert refusal(stage.dispatch(workflow, **body)) == (422, words)
    assert stage.bot.get(f"{BASE}/runs").json()["total_count"] == 0


def test_a_disabled_workflow(stage: Stage) -> None:
    assert stage.bot.put(f"{BASE}/workflows/run.yml/disable").status_code == 204
    assert stage.bot.get(f"{BASE}/workflows/run.yml").json()["state"] == "disabled_manually"
    assert refusal(stage.dispatch()) == (422, "Cannot trigger a 'workflow_dispatch' on a disabled workflow")
    assert stage.bot.put(f"{BASE}/workflows/run.yml/enable").status_code == 204
    assert stage.dispatch().status_code == 204


def test_who_may_dispatch(stage: Stage) -> None:
    world = stage.world
    body = {"ref": "main", "inputs": {"ticket": "1"}}
    url = f"{BASE}/workflows/run.yml/dispatches"
    refused = world.bot.post(url, json=body)
    assert refusal(refused) == (403, "Resource not accessible by integration")
    assert refused.headers["x-accepted-github-permissions"] == "actions=write"
    assert world.reader.post(url, json=body).status_code == 403
    assert world.dev.post(url, json=body).status_code == 204
    assert refusal(stage.dispatch("nothing.yml")) == (404, "Not Found")
    narrow = world.emulator.installation_token(world.app, world.installation["id"], permissions={"issues": "read"})
    answer = rest(world.emulator, narrow).post(f"/repos/{REPO}/dispatches", json={"event_type": "x"})
    assert refusal(answer) == (403, "Resource not accessible by integration")
    assert answer.headers["x-accepted-github-permissions"] == "contents=write"


def test_a_run_carries_its_dispatch(stage: Stage) -> None:
    sha = stage.world.emulator.commit(REPO, {".github/workflows/run.yml": RUN}, branch="release-1")
    run = stage.run(stage.start(ref="release-1", inputs={"ticket": "42", "attempt": "7f3a"}))
    assert run["display_title"] == "Recover 42 (7f3a)"
    assert (run["event"], run["head_branch"], run["head_sha"]) == ("workflow_dispatch", "release-1", sha)
    assert (run["status"], run["conclusion"], run["run_attempt"], run["run_number"]) == ("queued", None, 1, 1)
    assert run["actor"]["login"] == run["triggering_actor"]["login"] == "keeper[bot]"
    assert run["path"] == ".github/workflows/run.yml"
    assert run["repository"]["full_name"] == REPO
    assert stage.run(stage.start())["display_title"] == "Recover 42 (first)"
    tag = {"ref": "refs/tags/v1", "sha": sha}
    assert stage.bot.post(f"/repos/{REPO}/git/refs", json=tag).status_code == 201
    assert stage.run(stage.start(ref="v1"))["head_branch"] == "v1"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, 'Invalid request.\n\n"event_type" wasn\'t supplied.'),
        (
            {"event_type": ""},
            "Invalid request.\n\nAt least 1 characters are required; only 0 were supplied.",
        ),
        ({"event_type": "e" * 101}, "Invalid request.\n\nOnly 100 characters are allowed; 101 were supplied."),
        (
            {"event_type": "e", "client_payload": {str(n): n for n in range(14)}},
            "Invalid request.\n\nNo more than 10 properties are allowed; 14 were supplied.",
        ),
        ({"event_type": "e", "client_payload": {"x": "y" * 65_536}}, "client_payload is too large."),
    ],
)
def test_refused_repository_dispatches(stage: Stage, body: dict[str, Any], words: str) -> None:
    assert refusal(stage.bot.post(f"/repos/{REPO}/dispatches", json=body)) == (422, words)


def test_a_repository_dispatch_starts_who_listens(stage: Stage) -> None:
    def started(event_type: str) -> set[str]:
        before = {r["id"] for r in stage.bot.get(f"{BASE}/runs").json()["workflow_runs"]}
        body = {"event_type": event_type, "client_payload": {"a": {"b": 1}}}
        assert stage.bot.post(f"/repos/{REPO}/dispatches", json=body).status_code == 204
        listed = stage.bot.get(f"{BASE}/runs").json()["workflow_runs"]
        new = [r for r in listed if r["id"] not in before]
        assert {r["event"] for r in new} == {"repository_dispatch"}
        assert {r["display_title"] for r in new} == {event_type}
        return {r["path"].rpartition("/")[2] for r in new}

    assert started("report") == {"report.yml", "any.yml"}
    assert started("else") == {"any.yml"}
    stage.bot.put(f"{BASE}/workflows/any.yml/disable")
    assert stage.bot.post(f"/repos/{REPO}/dispatches", json={"event_type": "else"}).status_code == 204
    assert stage.bot.get(f"{BASE}/runs?event=repository_dispatch").json()["total_count"] == 3
