"""Check-runs, suites and statuses."""

from __future__ import annotations

from typing import Any

import pytest
from emulated import ALL, REPO, World, rest

BASE = f"/repos/{REPO}"


def run(world: World, **more: Any) -> Any:
    return world.bot.post(f"{BASE}/check-runs", json={"name": "gate", "head_sha": world.head("42-x")} | more)


def test_only_apps_write_and_only_their_own(world: World) -> None:
    body = {"name": "gate", "head_sha": world.head("42-x")}
    assert world.dev.post(f"{BASE}/check-runs", json=body).status_code == 403
    made = run(world).json()
    other = world.emulator.app("other", permissions=ALL)
    token = world.emulator.installation_token(other, world.emulator.installation("other", "octo")["id"])
    answer = rest(world.emulator, token).patch(f"{BASE}/check-runs/{made['id']}", json={"status": "in_progress"})
    assert answer.status_code == 403
    assert made["id"] > 2**31


@pytest.mark.parametrize(
    "body",
    [
        {"head_sha": "a" * 40},
        {"status": "completed"},
        {"conclusion": "great"},
        {"output": {"title": "t", "summary": "s" * 65_536}},
        {"output": {"title": "t", "summary": "s", "text": "t" * 65_536}},
        {"output": {"title": "t", "summary": "s", "annotations": [{}] * 51}},
        {"output": {"title": "no summary"}},
        {"actions": [{"label": "l" * 21, "description": "d", "identifier": "i"}]},
    ],
)
def test_refused_values(world: World, body: dict[str, Any]) -> None:
    assert run(world, **body).status_code == 422


def test_runs_are_listed_latest_or_all(world: World) -> None:
    first = run(world, conclusion="failure").json()
    second = run(world, external_id="42:1:1", output={"title": "t", "summary": "s" * 65_535}).json()
    run(world, name="else")
    url = f"{BASE}/commits/42-x/check-runs"

    def ids(**query: str) -> list[int]:
        return [r["id"] for r in world.bot.get(url, params=query).json()["check_runs"]]

    assert ids(check_name="gate") == [second["id"]]
    assert ids(check_name="gate", filter="all") == [second["id"], first["id"]]
    assert ids(app_id="1") == []
    assert len(ids(app_id=str(world.app["id"]))) == 2


def test_a_run_goes_back_to_work(world: World) -> None:
    made = run(world, conclusion="success").json()
    assert made["status"] == "completed"
    assert made["completed_at"].endswith("Z")
    again = world.bot.patch(f"{BASE}/check-runs/{made['id']}", json={"status": "in_progress"}).json()
    assert (again["status"], again["conclusion"], again["completed_at"]) == ("in_progress", None, None)


def test_graphql_shows_runs_of_one_app(world: World) -> None:
    run(world, external_id="42:1:1", conclusion="action_required", output={"title": "t", "summary": "s"})
    world.bot.post(f"{BASE}/statuses/{world.head('42-x')}", json={"state": "success", "context": "ci"})
    query = """query($app:Int){repository(owner:"octo",name:"demo"){object(expression:"42-x"){... on Commit{
      statusCheckRollup{state contexts(first:10){nodes{__typename}}}
      checkSuites(first:10,filterBy:{appId:$app,checkName:"gate"}){nodes{app{databaseId slug}
        checkRuns(first:10,filterBy:{checkName:"gate",appId:$app,checkType:LATEST}){nodes{
          databaseId name status conclusion externalId startedAt completedAt title summary text url}}}}}}}}"""
    found = world.graphql(query, app=world.app["id"])["data"]["repository"]["object"]
    assert found["statusCheckRollup"]["state"] == "FAILURE"
    assert [c["__typename"] for c in found["statusCheckRollup"]["contexts"]["nodes"]] == ["CheckRun", "StatusContext"]
    (suite,) = found["checkSuites"]["nodes"]
    assert suite["app"] == {"databaseId": world.app["id"], "slug": "keeper"}
    (shown,) = suite["checkRuns"]["nodes"]
    assert (shown["externalId"], shown["conclusion"], shown["title"]) == ("42:1:1", "ACTION_REQUIRED", "t")
    assert world.graphql(query, app=1)["data"]["repository"]["object"]["checkSuites"]["nodes"] == []


def test_combined_status(world: World) -> None:
    sha = world.head("42-x")
    assert world.bot.get(f"{BASE}/commits/42-x/status").json()["state"] == "pending"
    for state in ("failure", "success"):
        world.bot.post(f"{BASE}/statuses/{sha}", json={"state": state, "context": "ci"})
    shown = world.bot.get(f"{BASE}/commits/42-x/status").json()
    assert (shown["state"], shown["total_count"]) == ("success", 1)
