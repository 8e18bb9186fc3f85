"""Runs: a real command with GitHub's surroundings, events, cancelling, running again, lists."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from actions_world import BASE, RUN, Stage, stage_of, wait_until
from emulated import REPO, Inbox, World, rest

TELL = "(out / 'env.json').write_text(json.dumps(dict(os.environ)))"


@pytest.fixture
def stage(world: World, inbox: Inbox, tmp_path: Path) -> Iterator[Stage]:
    events = ["workflow_run", "workflow_job", "workflow_dispatch", "repository_dispatch", "check_run", "check_suite"]
    world.emulator.change_app("keeper", webhook_url=inbox.url, events=events)
    made = stage_of(world, tmp_path)
    yield made
    made.bot.close()


def heard(stage: Stage, event: str) -> list[tuple[str, dict[str, Any]]]:
    stage.world.emulator.flush()
    found = [d for d in stage.world.emulator.deliveries() if d["app"] == "keeper" and d["event"] == event]
    return [(d["action"], d["payload"]) for d in found]


def refusal(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["message"]


def test_a_command_runs_with_githubs_surroundings(stage: Stage) -> None:
    stage.command(f"{TELL}\nprint('hello from', os.getcwd())", env={"EXTRA": "1"})
    number = stage.start(inputs={"ticket": "42", "dry": "true"})
    run = stage.wait(number)
    assert run["conclusion"] == "success"
    env = stage.read("env.json")
    url, repo = stage.world.emulator.url, stage.world.repo
    expected = {
        "CI": "true",
        "EXTRA": "1",
        "GITHUB_ACTIONS": "true",
        "GITHUB_ACTOR": "keeper[bot]",
        "GITHUB_API_URL": url,
        "GITHUB_EVENT_NAME": "workflow_dispatch",
        "GITHUB_GRAPHQL_URL": f"{url}/graphql",
        "GITHUB_JOB": "recover",
        "GITHUB_REF": "refs/heads/main",
        "GITHUB_REF_NAME": "main",
        "GITHUB_REPOSITORY": REPO,
        "GITHUB_REPOSITORY_ID": str(repo["id"]),
        "GITHUB_REPOSITORY_OWNER": "octo",
        "GITHUB_RUN_ATTEMPT": "1",
        "GITHUB_RUN_ID": str(number),
        "GITHUB_SERVER_URL": url,
        "GITHUB_SHA": run["head_sha"],
        "GITHUB_WORKFLOW": "Recover",
        "GITHUB_WORKFLOW_REF": f"{REPO}/.github/workflows/run.yml@refs/heads/main",
        "RUNNER_ENVIRONMENT": "github-hosted",
    }
    assert {name: env.get(name) for name in expected} == expected
    event = json.loads(Path(env["GITHUB_EVENT_PATH"]).read_text())
    assert event["inputs"] == {"ticket": "42", "attempt": "", "mode": "fast", "dry": "true"}
    assert event["repository"]["full_name"] == REPO
    assert stage.world.emulator.run_log(number).startswith("hello from ")
    assert not {name for name in env if name.startswith(("PYTEST", "VIRTUAL_ENV"))}


def test_the_token_of_a_run(stage: Stage) -> None:
    stage.command(f"{TELL}\nwhile not (out / 'go').exists(): time.sleep(0.02)")
    stage.world.emulator.repo("octo", "other", private=True)
    number = stage.start()
    stage.wait(number, "in_progress")
    wait_until(lambda: (stage.folder / "env.json").exists(), bool, "the command's word")
    wait_until(lambda: (stage.folder / "env.json").read_text().endswith("}"), bool, "the command's word")
    value = stage.read("env.json")["GITHUB_TOKEN"]
    token = rest(stage.world.emulator, value)
    answer = token.get(f"/repos/{REPO}")
    assert (answer.status_code, answer.headers["x-ratelimit-limit"]) == (200, "1000")
    assert value.startswith("ghs_15368_")
    assert token.get("/repos/octo/other").status_code == 404
    ref = {"ref": "refs/heads/by-run", "sha": stage.world.head("main")}
    assert token.post(f"/repos/{REPO}/git/refs", json=ref).status_code == 201
    assert refusal(token.post(f"/repos/{REPO}/issues", json={"title": "t"}))[0] == 403
    (stage.folder / "go").touch()
    stage.wait(number)
    assert token.get(f"/repos/{REPO}").status_code == 401


def test_the_events_of_a_run(stage: Stage) -> None:
    stage.command("sys.exit(3)")
    number = stage.start()
    assert stage.wait(number)["conclusion"] == "failure"
    runs = heard(stage, "workflow_run")
    assert [(action, p["workflow_run"]["status"]) for action, p in runs] == [
        ("requested", "queued"),
        ("in_progress", "in_progress"),
        ("completed", "completed"),
    ]
    assert runs[-1][1]["workflow_run"]["conclusion"] == "failure"
    assert runs[0][1]["workflow"]["path"] == ".github/workflows/run.yml"
    jobs = heard(stage, "workflow_job")
    assert [action for action, _ in jobs] == ["queued", "in_progress", "completed"]
    assert {p["workflow_job"]["run_id"] for _, p in jobs} == {number}
    (dispatched,) = heard(stage, "workflow_dispatch")
    assert dispatched[1]["inputs"]["ticket"] == "42"
    checks = [(action, p["check_run"]["conclusion"]) for action, p in heard(stage, "check_run")]
    assert checks == [("created", None), ("completed", "failure")]
    run = stage.run(number)
    shown = stage.bot.get(f"/repos/{REPO}/check-suites/{run['check_suite_id']}/check-runs").json()["check_runs"]
    assert [(c["name"], c["conclusion"], c["app"]["slug"]) for c in shown] == [("recover", "failure", "github-actions")]
    again = stage.bot.post(f"/repos/{REPO}/check-runs/{shown[0]['id']}/rerequest")
    assert again.status_code == 403


def test_the_event_of_a_repository_dispatch(stage: Stage) -> None:
    body = {"event_type": "report", "client_payload": {"ticket": 42}}
    assert stage.bot.post(f"/repos/{REPO}/dispatches", json=body).status_code == 204
    ((action, told),) = heard(stage, "repository_dispatch")
    assert (action, told["branch"], told["client_payload"]) == ("report", "main", {"ticket": 42})


def test_without_a_command_a_run_waits_for_one(stage: Stage) -> None:
    number = stage.start()
    assert stage.run(number)["status"] == "queued"
    stage.command("pass")
    assert stage.wait(number)["conclusion"] == "success"


def test_a_command_that_cannot_be_started(stage: Stage) -> None:
    stage.world.emulator.workflow_command(REPO, "run.yml", ["/nonexistent/command"])
    assert stage.wait(stage.start())["conclusion"] == "startup_failure"


def test_a_command_that_takes_too_long(stage: Stage) -> None:
    stage.command("time.sleep(60)", timeout_s=0.3)
    assert stage.wait(stage.start())["conclusion"] == "timed_out"


def started(stage: Stage, script: str) -> tuple[int, int]:
    """A run whose command is alive: the run's id and the command's."""
    stage.command(f"{script}\n(out / 'pid').write_text(str(os.getpid()) + ';')\ntime.sleep(60)")
    number, file = stage.start(), stage.folder / "pid"
    wait_until(lambda: file.exists() and file.read_text().endswith(";"), bool, "the command's number")
    return number, int(file.read_text().rstrip(";"))


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_cancelling(stage: Stage) -> None:
    number, pid = started(stage, "")
    assert stage.bot.post(f"{BASE}/runs/{number}/cancel").status_code == 202
    assert stage.wait(number)["conclusion"] == "cancelled"
    assert not is_alive(pid)
    refused = (409, "Cannot cancel a workflow run that is completed.")
    assert refusal(stage.bot.post(f"{BASE}/runs/{number}/cancel")) == refused
    assert refusal(stage.bot.post(f"{BASE}/runs/{number}/force-cancel")) == refused


def test_a_command_that_ignores_the_request_is_killed_by_force(stage: Stage) -> None:
    number, pid = started(stage, "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)")
    assert stage.bot.post(f"{BASE}/runs/{number}/cancel").status_code == 202
    assert stage.run(number)["status"] == "in_progress"
    assert is_alive(pid)
    assert stage.bot.post(f"{BASE}/runs/{number}/force-cancel").status_code == 202
    assert stage.wait(number)["conclusion"] == "cancelled"
    assert not is_alive(pid)


def test_a_queued_run_is_cancelled_at_once(stage: Stage) -> None:
    number = stage.start()
    assert stage.bot.post(f"{BASE}/runs/{number}/cancel").status_code == 202
    assert stage.run(number)["conclusion"] == "cancelled"
    stage.command("(out / 'ran').touch()")
    stage.world.bot.get("/rate_limit")
    assert not (stage.folder / "ran").exists()


def test_a_reset_leaves_no_command_behind(stage: Stage) -> None:
    _, pid = started(stage, "")
    stage.world.emulator.reset()
    assert not is_alive(pid)


def test_running_again(stage: Stage) -> None:
    stage.command("sys.exit(0 if os.environ['GITHUB_RUN_ATTEMPT'] == '2' else 1)")
    number = stage.start()
    first = stage.wait(number)
    assert first["conclusion"] == "failure"
    assert stage.world.dev.post(f"{BASE}/runs/{number}/rerun").status_code == 201
    second = stage.wait(number, attempt=2)
    assert (second["id"], second["conclusion"], second["run_number"]) == (number, "success", first["run_number"])
    assert (second["actor"]["login"], second["triggering_actor"]["login"]) == ("keeper[bot]", "dev")
    assert second["head_sha"] == first["head_sha"]
    former = stage.bot.get(second["previous_attempt_url"]).json()
    assert (former["run_attempt"], former["conclusion"]) == (1, "failure")
    jobs = stage.bot.get(f"{BASE}/runs/{number}/jobs").json()["jobs"]
    assert [(j["name"], j["run_attempt"], j["conclusion"]) for j in jobs] == [("recover", 2, "success")]
    assert stage.bot.get(f"{BASE}/runs/{number}/jobs?filter=all").json()["total_count"] == 2
    old = stage.bot.get(f"{BASE}/runs/{number}/attempts/1/jobs").json()["jobs"][0]
    assert stage.bot.get(f"{BASE}/jobs/{old['id']}").json() == old
    assert stage.bot.get(f"{BASE}/runs/{number}/attempts/3").status_code == 404
    requested = [p["workflow_run"]["run_attempt"] for a, p in heard(stage, "workflow_run") if a == "requested"]
    assert requested == [1, 2]


def test_refused_reruns(stage: Stage) -> None:
    number = stage.start()
    assert refusal(stage.bot.post(f"{BASE}/runs/{number}/rerun")) == (403, "This workflow is already running")
    stage.bot.post(f"{BASE}/runs/{number}/cancel")
    stage.world.emulator.advance(31 * 86_400)
    old = stage.world.dev.post(f"{BASE}/runs/{number}/rerun")
    assert old.status_code == 403
    assert "over a month ago" in old.json()["message"]


def test_lists_of_runs(stage: Stage) -> None:
    sha = stage.world.emulator.commit(REPO, {".github/workflows/run.yml": RUN}, branch="release-1")
    first, second = stage.start(), stage.start(ref="release-1")
    stage.bot.post(f"/repos/{REPO}/dispatches", json={"event_type": "else"})
    stage.bot.post(f"{BASE}/runs/{first}/cancel")

    def ids(query: str, path: str = "runs") -> list[int]:
        return [r["id"] for r in stage.bot.get(f"{BASE}/{path}?{query}").json()["workflow_runs"]]

    assert ids("", "workflows/run.yml/runs") == [second, first]
    assert ids("branch=release-1") == ids(f"head_sha={sha}") == [second]
    assert ids("status=cancelled") == ids("status=completed") == [first]
    assert ids("event=workflow_dispatch&actor=keeper[bot]") == [second, first]
    assert ids("actor=dev") == []
    assert len(ids("event=repository_dispatch")) == 1
    assert ids("per_page=1&page=3") == [first]


def test_who_may_look(stage: Stage) -> None:
    number = stage.start()
    narrow = stage.world.emulator.installation_token(
        stage.world.app, stage.world.installation["id"], permissions={"contents": "read"}
    )
    refused = rest(stage.world.emulator, narrow).get(f"{BASE}/runs/{number}")
    assert refusal(refused) == (403, "Resource not accessible by integration")
    assert refused.headers["x-accepted-github-permissions"] == "actions=read"
    assert stage.world.reader.get(f"{BASE}/runs/{number}").status_code == 200
    assert stage.world.reader.post(f"{BASE}/runs/{number}/cancel").status_code == 403
    assert stage.bot.get(f"{BASE}/runs/1").status_code == 404


def test_graphql_shows_runs_beside_their_checks(stage: Stage) -> None:
    number = stage.start()
    run = stage.run(number)
    query = """query($id:ID!){node(id:$id){... on CheckSuite{workflowRun{id databaseId event runNumber url
      workflow{name state runs(first:5){totalCount}} checkSuite{id}} checkRuns(first:5){nodes{name}}}}}"""
    shown = stage.world.graphql(query, stage.bot, id=run["check_suite_node_id"])["data"]["node"]
    assert shown["checkRuns"]["nodes"] == [{"name": "recover"}]
    assert shown["workflowRun"] == {
        "id": run["node_id"],
        "databaseId": number,
        "event": "workflow_dispatch",
        "runNumber": 1,
        "url": run["html_url"],
        "workflow": {"name": "Recover", "state": "ACTIVE", "runs": {"totalCount": 1}},
        "checkSuite": {"id": run["check_suite_node_id"]},
    }
    node = stage.world.graphql("query($id:ID!){node(id:$id){__typename}}", stage.bot, id=run["node_id"])
    assert node["data"]["node"]["__typename"] == "WorkflowRun"
