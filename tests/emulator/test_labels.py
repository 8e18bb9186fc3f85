"""Labels, assignees and milestones: refusals and events."""

from __future__ import annotations

from typing import Any

import pytest
from emulated import REPO, World
from issue_world import Listener, listener

BASE = f"/repos/{REPO}"


@pytest.fixture
def app(world: World) -> Listener:
    return listener(world)


def problem(answer: Any) -> dict[str, Any]:
    assert answer.status_code == 422, answer.text
    assert answer.json()["message"] == "Validation Failed"
    return dict(answer.json()["errors"][0])


# Labels


@pytest.mark.parametrize(
    ("body", "entry"),
    [
        ({"name": "BUG"}, {"resource": "Label", "field": "name", "code": "already_exists"}),
        ({"name": ""}, {"resource": "Label", "field": "name", "code": "missing_field"}),
        ({}, {"resource": "Label", "field": "name", "code": "missing_field"}),
        ({"name": "x", "color": "#5319e7"}, {"resource": "Label", "field": "color", "code": "invalid"}),
        ({"name": "x", "color": "red"}, {"resource": "Label", "field": "color", "code": "invalid"}),
    ],
)
def test_an_unfit_label_is_refused(world: World, body: dict[str, Any], entry: dict[str, Any]) -> None:
    assert problem(world.bot.post(f"{BASE}/labels", json=body)) == entry


@pytest.mark.parametrize(("field", "length"), [("name", 51), ("description", 101)])
def test_an_overlong_label_is_refused(world: World, field: str, length: int) -> None:
    entry = problem(world.bot.post(f"{BASE}/labels", json={"name": "x"} | {field: "y" * length}))
    assert entry["message"] == f"{field} is too long (maximum is {length - 1} characters)"


def test_a_label_is_made_renamed_and_deleted_with_its_events(world: World, app: Listener) -> None:
    made = app.client.post(f"{BASE}/labels", json={"name": "agent state", "color": "ABCDEF", "description": "d"})
    assert (made.status_code, made.json()["color"], made.json()["default"]) == (201, "abcdef", False)
    issue = world.emulator.issue(REPO, "One", labels=["agent state"])
    changed = app.client.patch(f"{BASE}/labels/agent%20state", json={"new_name": "state", "color": "000000"}).json()
    assert (changed["id"], changed["name"]) == (made.json()["id"], "state")
    assert app.client.get(f"{BASE}/labels/agent%20state").status_code == 404
    shown = world.bot.get(f"{BASE}/issues/{issue['number']}").json()
    assert [x["name"] for x in shown["labels"]] == ["state"]
    assert app.client.delete(f"{BASE}/labels/STATE").status_code == 204
    assert world.bot.get(f"{BASE}/issues/{issue['number']}").json()["labels"] == []
    told = app.heard("label")
    assert [p["action"] for p in told] == ["created", "edited", "deleted"]
    assert told[1]["changes"] == {"name": {"from": "agent state"}, "color": {"from": "abcdef"}}


def test_a_label_may_not_take_anothers_name(world: World) -> None:
    entry = problem(world.bot.patch(f"{BASE}/labels/bug", json={"new_name": "Question"}))
    assert entry == {"resource": "Label", "field": "name", "code": "already_exists"}


def test_unknown_labels_on_an_issue_are_made_and_each_is_told_once(world: World, app: Listener) -> None:
    issue = world.emulator.issue(REPO, "One")
    url = f"{BASE}/issues/{issue['number']}/labels"
    assert [x["name"] for x in app.client.post(url, json={"labels": ["new", "bug"]}).json()] == ["new", "bug"]
    app.client.post(url, json={"labels": ["NEW"]})
    assert world.bot.get(f"{BASE}/labels/new").json()["color"] == "ededed"
    assert [world.bot.get(f"{BASE}/labels/{n}").json()["default"] for n in ("bug", "new")] == [True, False]
    app.client.put(url, json={"labels": ["bug"]})
    assert app.client.delete(f"{url}/bug").json() == []
    missing = app.client.delete(f"{url}/bug")
    assert (missing.status_code, missing.json()["message"]) == (404, "Label does not exist")
    app.client.post(url, json=[{"name": "a"}, {"name": "b"}])
    assert app.client.delete(url).status_code == 204
    told = [(p["action"], p["label"]["name"]) for p in app.heard("issues") if "label" in p]
    assert told[:4] == [("labeled", "new"), ("labeled", "bug"), ("unlabeled", "new"), ("unlabeled", "bug")]
    assert len(told) == 8
    assert [(p["action"], p["label"]["name"]) for p in app.heard("label")] == [
        ("created", "new"),
        ("created", "a"),
        ("created", "b"),
    ]


def test_an_unfit_label_on_an_issue_makes_none(world: World, app: Listener) -> None:
    url = f"{BASE}/issues/{world.emulator.issue(REPO, 'One')['number']}"
    for names in (["fine", "x" * 51], ["fine", " "]):
        refused = (
            app.client.post(f"{url}/labels", json={"labels": names}),
            app.client.patch(url, json={"labels": names}),
            app.client.post(f"{BASE}/issues", json={"title": "t", "labels": names}),
        )
        assert [r.status_code for r in refused] == [422, 422, 422]
    assert world.bot.get(f"{BASE}/labels/fine").status_code == 404
    assert app.heard("label") == []


def test_an_opened_issue_is_told_of_with_its_labels_and_people(world: World, app: Listener) -> None:
    app.client.post(f"{BASE}/issues", json={"title": "t", "labels": ["a", "A", "bug"], "assignees": ["dev"]})
    told = app.heard("issues")
    assert [p["action"] for p in told] == ["opened", "labeled", "labeled", "assigned"]
    assert [x["name"] for x in told[0]["issue"]["labels"]] == ["a", "bug"]
    assert [a["login"] for a in told[0]["issue"]["assignees"]] == ["dev"]


def test_graphql_takes_labels_of_the_repository_only(world: World) -> None:
    world.emulator.repo("octo", "second")
    issue = world.emulator.issue(REPO, "One")
    add = """mutation($i:ID!,$l:[ID!]!){addLabelsToLabelable(input:{labelableId:$i,labelIds:$l}){
      labelable{labels(first:5){nodes{name}}}}}"""
    own = world.bot.get(f"{BASE}/labels/bug").json()["node_id"]
    foreign = world.bot.get("/repos/octo/second/labels/bug").json()["node_id"]
    shown = world.graphql(add, i=issue["node_id"], l=[own])["data"]["addLabelsToLabelable"]["labelable"]
    assert shown["labels"]["nodes"] == [{"name": "bug"}]
    assert world.graphql(add, i=issue["node_id"], l=[foreign])["errors"][0]["type"] == "UNPROCESSABLE"
    assert world.graphql(add, i=issue["node_id"], l=["LA_x"])["errors"][0]["type"] == "NOT_FOUND"
    clear = "mutation($i:ID!){clearLabelsFromLabelable(input:{labelableId:$i}){labelable{labels(first:5){totalCount}}}}"
    cleared = world.graphql(clear, i=issue["node_id"])["data"]["clearLabelsFromLabelable"]["labelable"]
    assert cleared == {"labels": {"totalCount": 0}}


def test_readers_set_no_labels(world: World) -> None:
    own = world.reader.post(f"{BASE}/issues", json={"title": "Mine", "labels": ["bug"], "assignees": ["dev"]}).json()
    assert (own["labels"], own["assignees"]) == ([], [])
    url = f"{BASE}/issues/{own['number']}"
    changed = world.reader.patch(url, json={"title": "Still mine", "labels": ["bug"], "assignees": ["dev"]}).json()
    assert (changed["title"], changed["labels"], changed["assignees"]) == ("Still mine", [], [])
    assert world.reader.post(f"{url}/labels", json={"labels": ["bug"]}).status_code == 403
    assert world.reader.post(f"{BASE}/labels", json={"name": "x"}).status_code == 403


# Assignees


def test_who_can_be_assigned_is_answered_by_status(world: World) -> None:
    issue = world.emulator.issue(REPO, "One")
    for base in (f"{BASE}/assignees", f"{BASE}/issues/{issue['number']}/assignees"):
        assert [world.bot.get(f"{base}/{who}").status_code for who in ("dev", "stranger", "nobody")] == [204, 404, 404]
    assert {a["login"] for a in world.bot.get(f"{BASE}/assignees").json()} == {"dev", "reader"}


def test_a_create_or_an_update_with_somebody_unassignable_is_refused_whole(world: World) -> None:
    entry = {"value": "stranger", "resource": "Issue", "field": "assignees", "code": "invalid"}
    order = {"title": "One", "assignees": ["dev", "stranger"]}
    assert problem(world.bot.post(f"{BASE}/issues", json=order)) == entry
    assert world.bot.get(f"{BASE}/issues").json() == []
    issue = world.emulator.issue(REPO, "One")
    url = f"{BASE}/issues/{issue['number']}"
    assert problem(world.bot.patch(url, json={"title": "Two", "assignees": ["stranger"]})) == entry
    assert world.bot.get(url).json()["title"] == "One"


def test_the_list_of_assignees_ignores_them_and_ends_at_ten(world: World, app: Listener) -> None:
    issue = world.emulator.issue(REPO, "One")
    url = f"{BASE}/issues/{issue['number']}/assignees"
    answer = app.client.post(url, json={"assignees": ["stranger", "planner[bot]", "dev"]})
    assert (answer.status_code, [a["login"] for a in answer.json()["assignees"]]) == (201, ["dev"])
    people = [f"p{n}" for n in range(11)]
    for person in people:
        world.emulator.user(person)
    world.emulator.change_repo(REPO, collaborators=dict.fromkeys(people, "read"))
    assert len(app.client.post(url, json={"assignees": people}).json()["assignees"]) == 10
    left = app.client.request("DELETE", url, json={"assignees": ["dev", "p0", "nobody"]}).json()
    assert [a["login"] for a in left["assignees"]] == people[1:9]
    assert [p["assignee"]["login"] for p in app.heard("issues", "unassigned")] == ["dev", "p0"]


# Milestones


def test_milestones_hold_issues_and_go_with_their_events(world: World, app: Listener) -> None:
    made = app.client.post(f"{BASE}/milestones", json={"title": "First", "description": "d"}).json()
    assert problem(app.client.post(f"{BASE}/milestones", json={"title": "First"}))["code"] == "already_exists"
    issue = world.emulator.issue(REPO, "One")
    url = f"{BASE}/issues/{issue['number']}"
    assert app.client.patch(url, json={"milestone": made["number"]}).json()["milestone"]["title"] == "First"
    assert problem(app.client.patch(url, json={"milestone": 9}))["field"] == "milestone"
    assert [i["number"] for i in app.client.get(f"{BASE}/issues?milestone=1").json()] == [issue["number"]]
    assert app.client.get(f"{BASE}/issues?milestone=none").json() == []
    app.client.patch(url, json={"state": "closed"})
    shown = app.client.patch(f"{BASE}/milestones/1", json={"description": "e", "state": "closed"}).json()
    assert shown["description"] == "e"
    assert (shown["open_issues"], shown["closed_issues"], shown["state"]) == (0, 1, "closed")
    assert app.client.delete(f"{BASE}/milestones/1").status_code == 204
    assert app.client.get(url).json()["milestone"] is None
    assert [p["action"] for p in app.heard("milestone")] == ["created", "edited", "closed", "deleted"]
    assert [p["action"] for p in app.heard("issues") if "milestone" in p] == ["milestoned", "demilestoned"]
