"""Answers about what surrounds a ticket that GitHub gives only in part: what that hides, and what it must not hide."""

import json
from typing import Any

import pytest
import respx
from graphql import parse

from app.domain.surroundings import MOST_DECISIONS, Asked
from app.emulator.graphql.costs import measure
from app.emulator.graphql.execute import schema
from app.github.errors import GraphQLFailed
from app.github.project_fields import FieldRefusal, FieldRefused
from app.github.queries import document
from app.github.repository import Repository

DATE = {"date": "Mon, 30 Nov 2026 12:00:00 GMT"}
SUBJECT = {"__typename": "Issue", "number": 42, "title": "t", "body": "b", "state": "OPEN"}
HEAD = "b" * 40


def answer(*errors: dict[str, Any], **repository: Any) -> dict[str, Any]:
    found = {
        "databaseId": 3_000_000_001,
        "isPrivate": True,
        "defaultBranchRef": {"name": "main"},
        "subject": SUBJECT,
        "named": {"nodes": []},
        **repository,
    }
    return {"data": {"repository": found}, **({"errors": list(errors)} if errors else {})}


def error(kind: str, *path: str) -> dict[str, Any]:
    return {"type": kind, "path": ["repository", *path], "message": "no"}


async def test_a_project_that_may_not_be_read_hides_only_itself(repository: Repository, wire: respx.MockRouter) -> None:
    refused = answer(error("FORBIDDEN", "subject", "projectItems"), subject=None)
    asked = wire.post("/graphql")
    asked.side_effect = [
        respx.MockResponse(200, json=refused, headers=DATE),
        respx.MockResponse(200, json=answer(), headers=DATE),
    ]
    seen = await repository.observe(42, None, None, asked=Asked(project=True))
    assert seen.issue is not None
    assert (seen.around.project_items, seen.around.asked.project) == (None, False)
    sent = [json.loads(call.request.content)["variables"]["withProject"] for call in asked.calls]
    assert sent == [True, False]


async def test_what_an_agent_named_and_nobody_has_is_missing_and_the_rest_is_read(
    repository: Repository, wire: respx.MockRouter
) -> None:
    errors = [
        error("NOT_FOUND", "number0"),
        error("NOT_FOUND", "predecessor"),
        error("NOT_FOUND", "trunk", "toPredecessor"),
    ]
    trunk = {
        "name": "release-1",
        "target": {"oid": HEAD},
        "toWork": {"aheadBy": 1, "behindBy": 4},
        "toPredecessor": None,
    }
    body = answer(*errors, number0=None, number1={"__typename": "Issue"}, object0={"oid": HEAD}, trunk=trunk)
    wire.post("/graphql").respond(json=body, headers=DATE)
    asked = Asked(work=HEAD, predecessor=9999, predecessor_sha="c" * 40, objects=(f"{HEAD}:a.md",), numbers=(9998, 12))
    seen = (await repository.observe(42, None, "release-1", asked=asked)).around
    assert (dict(seen.numbers), dict(seen.objects)) == ({9998: False, 12: True}, {f"{HEAD}:a.md": HEAD})
    assert (seen.predecessor, seen.trunk_over_predecessor) == (None, None)
    assert seen.trunk_over_work is not None
    assert (seen.trunk_over_work.ahead, seen.trunk_over_work.behind) == (4, 1)


@pytest.mark.parametrize("path", [("named",), ("trunk",), ("subject", "blockedBy"), ("number0", "x"), ()])
async def test_any_other_gap_is_no_answer(
    repository: Repository, wire: respx.MockRouter, path: tuple[str, ...]
) -> None:
    wire.post("/graphql").respond(json=answer(error("NOT_FOUND", *path)), headers=DATE)
    with pytest.raises(GraphQLFailed):
        await repository.observe(42, None, None, asked=Asked(numbers=(1,)))


def test_a_look_costs_one_point_however_much_it_asks_for() -> None:
    for objects, numbers in ((0, 0), (MOST_DECISIONS, 0), (0, MOST_DECISIONS)):
        measured = measure(schema(), parse(document(objects, numbers)), "Observe", {})
        assert (measured.cost, measured.refusal) == (1, None)


async def test_a_project_of_somebody_else_says_nothing(repository: Repository, wire: respx.MockRouter) -> None:
    """Anybody may put a public Issue into a public Project of their own that has the same number."""

    def line(owner: dict[str, Any], release: str) -> dict[str, Any]:
        field = {"name": "Target release"}
        value = {"__typename": "ProjectV2ItemFieldTextValue", "text": release, "field": field}
        return {"project": {"number": 1, "title": "Plan", "owner": owner}, "fieldValues": {"nodes": [value]}}

    home = repository.owner
    lines = [line({"login": "mallory"}, "6.6.6"), line({}, "9.9.9"), line({"login": home.upper()}, "1.2.0")]
    subject = {**SUBJECT, "projectItems": {"nodes": lines}}
    wire.post("/graphql").respond(200, json=answer(subject=subject), headers=DATE)
    seen = await repository.observe(42, None, None, asked=Asked(project=True))
    assert seen.around.project_items is not None
    assert [item.fields for item in seen.around.project_items] == [{"Target release": "1.2.0"}]


async def test_a_project_of_somebody_else_is_not_written_to(repository: Repository, wire: respx.MockRouter) -> None:
    item = {"id": "I", "project": {"id": "P", "number": 1, "owner": {"login": "mallory"}, "field": None}}
    issue = {"projectItems": {"nodes": [item]}}
    found = {"data": {"repository": {"databaseId": 3_000_000_001, "issue": issue}}}
    wire.post("/graphql").respond(200, json=found, headers=DATE)
    reply = await repository.set_project_field(42, 1, "Status", "Done")
    assert isinstance(reply, FieldRefused)
    assert reply.kind is FieldRefusal.NO_ITEM
