"""Projects through REST: lists, fields, items, values, and who may touch them."""

from __future__ import annotations

from typing import Any

import pytest
from emulated import REPO, World
from issue_world import Listener, listener

BASE = "/orgs/octo/projectsV2"


class Board:
    def __init__(self, world: World) -> None:
        self.app: Listener = listener(world)
        self.project = world.emulator.project(
            "octo",
            "Plan",
            fields=[
                {"name": "Stage", "type": "SINGLE_SELECT", "options": ["Ready", "Done"]},
                {"name": "Points", "type": "NUMBER"},
                {"name": "Note", "type": "TEXT"},
            ],
        )
        self.url = f"{BASE}/{self.project['number']}"
        self.issue = world.emulator.issue(REPO, "One")

    def field(self, name: str) -> dict[str, Any]:
        return dict(next(f for f in self.project["fields"] if f["name"] == name))

    def add(self) -> dict[str, Any]:
        made = self.app.client.post(f"{self.url}/items", json={"type": "Issue", "id": self.issue["id"]})
        assert made.status_code == 201, made.text
        return dict(made.json())


@pytest.fixture
def board(world: World) -> Board:
    return Board(world)


def test_projects_and_fields_are_listed(board: Board) -> None:
    listed = board.app.client.get(BASE).json()
    assert [(p["title"], p["number"], p["state"], p["owner"]["login"]) for p in listed] == [("Plan", 1, "open", "octo")]
    assert board.app.client.get(board.url).json()["node_id"] == board.project["node_id"]
    fields = {f["name"]: f for f in board.app.client.get(f"{board.url}/fields").json()}
    assert fields["Title"]["data_type"] == "title"
    assert [o["name"]["raw"] for o in fields["Stage"]["options"]] == ["Ready", "Done"]
    one = board.app.client.get(f"{board.url}/fields/{fields['Points']['id']}").json()
    assert one["data_type"] == "number"


def test_an_item_shows_its_title_alone_unless_fields_are_named(board: Board) -> None:
    item = board.add()
    listed = board.app.client.get(f"{board.url}/items").json()
    assert [f["data_type"] for f in listed[0]["fields"]] == ["title"]
    assert listed[0]["content"]["number"] == board.issue["number"]
    note = board.field("Note")["id"]
    shown = board.app.client.get(f"{board.url}/items/{item['id']}?fields={note}").json()
    assert [(f["name"], f["value"]) for f in shown["fields"]] == [("Note", None)]
    assert board.app.client.get(f"{board.url}/items?fields=99").json()[0]["fields"] == []


def test_values_are_changed_by_field_id_and_null_clears(board: Board) -> None:
    item = board.add()
    stage, option = board.field("Stage"), board.field("Stage")["options"][1]["id"]
    url = f"{board.url}/items/{item['id']}"
    order = [
        {"id": stage["id"], "value": option},
        {"id": board.field("Points")["id"], "value": 3},
        {"id": board.field("Note")["id"], "value": "look"},
    ]
    changed = board.app.client.patch(url, json={"fields": order}).json()
    values = {f["name"]: f["value"] for f in changed["fields"]}
    assert values["Stage"]["name"] == {"raw": "Done", "html": "Done"}
    assert values["Points"] == 3
    assert values["Note"]["raw"] == "look"
    board.app.client.patch(url, json={"fields": [{"id": stage["id"], "value": None}]})
    shown = board.app.client.get(f"{url}?fields={stage['id']}").json()
    assert shown["fields"][0]["value"] is None
    edits = [p["changes"]["field_value"]["field_name"] for p in board.app.heard("projects_v2_item", "edited")]
    assert edits == ["Stage", "Points", "Note", "Stage"]


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("Stage", "00000000", "The single select option Id does not belong to the field"),
        ("Title", "Other", "The field of type title is currently not supported."),
        ("Points", "many", "The value is not a number"),
    ],
)
def test_a_wrong_value_is_refused(board: Board, field: str, value: Any, message: str) -> None:
    item = board.add()
    order = {"fields": [{"id": board.field(field)["id"], "value": value}]}
    refused = board.app.client.patch(f"{board.url}/items/{item['id']}", json=order)
    assert (refused.status_code, refused.json()["message"]) == (422, message)


def test_adding_by_rest_is_not_idempotent(board: Board) -> None:
    board.add()
    again = {"type": "Issue", "owner": "octo", "repo": "demo", "number": board.issue["number"]}
    refused = board.app.client.post(f"{board.url}/items", json=again)
    assert (refused.status_code, refused.json()["message"]) == (422, "Content already exists in this project")
    missing = board.app.client.post(f"{board.url}/items", json={"type": "PullRequest", "id": board.issue["id"]})
    assert missing.status_code == 404


def test_an_item_is_deleted(board: Board) -> None:
    item = board.add()
    assert board.app.client.delete(f"{board.url}/items/{item['id']}").status_code == 204
    assert board.app.client.get(f"{board.url}/items/{item['id']}").status_code == 404


def test_lists_go_on_by_cursor(world: World, board: Board) -> None:
    board.add()
    for title in ("Two", "Three"):
        issue = world.emulator.issue(REPO, title)
        board.app.client.post(f"{board.url}/items", json={"type": "Issue", "id": issue["id"]})
    first = board.app.client.get(f"{board.url}/items?per_page=2")
    titles = [i["content"]["title"] for i in first.json()]
    following = first.links["next"]["url"]
    second = board.app.client.get(following)
    assert titles + [i["content"]["title"] for i in second.json()] == ["One", "Two", "Three"]
    assert "next" not in second.links
    assert "prev" in second.links


def test_the_permission_is_asked_for_and_a_persons_list_is_empty(world: World, board: Board) -> None:
    blind = listener(world, "blind", {"issues": "write"})
    refused = blind.client.get(BASE)
    assert (refused.status_code, refused.json()["message"]) == (403, "Resource not accessible by integration")
    reading = listener(world, "reading", {"issues": "write", "organization_projects": "read"})
    assert reading.client.get(board.url).status_code == 200
    posted = reading.client.post(f"{board.url}/items", json={"type": "Issue", "id": board.issue["id"]})
    assert posted.status_code == 403
    world.emulator.project("dev", "Own")
    assert board.app.client.get("/users/dev/projectsV2").json() == []
    assert board.app.client.get("/users/dev/projectsV2/1").status_code == 404
    assert [p["title"] for p in world.dev.get("/users/dev/projectsV2").json()] == ["Own"]
