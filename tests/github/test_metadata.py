"""What is added to Issues and pull requests, and what GitHub refuses; nothing is ever invented."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from delivery_world import NAME, PERMISSIONS, DeliveryWorld

from app.domain.observation import Pull
from app.emulator.acts.projects import add_item
from app.emulator.state import Actor
from app.github.errors import NotFound
from app.github.metadata import Assigned, Labelled, ReviewRefusal, ReviewRefused, ReviewRequested
from app.github.project_fields import FieldRefusal, FieldRefused, FieldSet
from app.github.pull_edits import BaseRefusal, BaseRefused


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[DeliveryWorld]:
    async with DeliveryWorld(tmp_path) as made:
        yield made


async def issue(world: DeliveryWorld) -> int:
    made = await world.emulated.control("POST", "/issues", repo=NAME, title="Ripen", author="wanda")
    return int(made["number"])


async def test_an_issue_is_closed_as_completed_once(world: DeliveryWorld) -> None:
    number = await issue(world)
    for _ in range(2):
        await world.repository.close_issue(number)
    seen = (await world.wanda.get(f"/repos/{NAME}/issues/{number}")).json()
    assert (seen["state"], seen["state_reason"]) == ("closed", "completed")
    events = (await world.wanda.get(f"/repos/{NAME}/issues/{number}/events")).json()
    assert [e["event"] for e in events if e["event"] == "closed"] == ["closed"]


async def test_those_who_can_be_are_assigned(world: DeliveryWorld) -> None:
    number = await issue(world)
    assert await world.repository.assign(number, ["wanda", "nobody-here"]) == Assigned(("wanda",))
    assert await world.repository.assign(number, ["wanda"]) == Assigned(("wanda",))


@pytest.mark.parametrize(
    ("logins", "kind"),
    [(["wanda"], ReviewRefusal.AUTHOR), (["boss", "nobody-here"], ReviewRefusal.NO_COLLABORATOR)],
)
async def test_reviewers_are_asked_all_or_none(world: DeliveryWorld, logins: list[str], kind: ReviewRefusal) -> None:
    pull = await world.pull()
    refused = await world.repository.request_reviewers(pull["number"], logins)
    assert isinstance(refused, ReviewRefused)
    assert refused.kind is kind
    asked = f"/repos/{NAME}/pulls/{pull['number']}/requested_reviewers"
    assert (await world.wanda.get(asked)).json()["users"] == []
    assert await world.repository.request_reviewers(pull["number"], ["boss"]) == ReviewRequested()
    assert [u["login"] for u in (await world.wanda.get(asked)).json()["users"]] == ["boss"]


async def test_a_label_that_nobody_made_is_not_invented(world: DeliveryWorld) -> None:
    number = await issue(world)
    await world.boss.post(f"/repos/{NAME}/labels", json={"name": "ready", "color": "00ff00"})
    before = [one["name"] for one in (await world.wanda.get(f"/repos/{NAME}/labels")).json()]
    assert await world.repository.add_labels(number, ["ready", "no such label"]) == Labelled(
        ("ready",), ("no such label",)
    )
    assert await world.repository.add_labels(number, ["never made"]) == Labelled((), ("never made",))
    assert [one["name"] for one in (await world.wanda.get(f"/repos/{NAME}/labels")).json()] == before
    with pytest.raises(NotFound):
        await world.repository.add_labels(999, ["ready"])


async def test_base_and_text_of_a_pull_request(world: DeliveryWorld) -> None:
    pull = await world.pull()
    edited = await world.repository.edit_body(pull["number"], "Ticket: #1\n")
    assert edited.body == "Ticket: #1\n"
    missing = await world.repository.edit_base(pull["number"], "release-9")
    assert isinstance(missing, BaseRefused)
    assert missing.kind is BaseRefusal.BASE_MISSING
    moved = await world.repository.edit_base(pull["number"], "main")
    assert isinstance(moved, Pull)
    assert moved.base == "main"
    other = {"title": "T", "head": pull["head"]["ref"], "base": "release-1"}
    (await world.wanda.post(f"/repos/{NAME}/pulls", json=other)).raise_for_status()
    taken = await world.repository.edit_base(pull["number"], "release-1")
    assert isinstance(taken, BaseRefused)
    assert taken.kind is BaseRefusal.ALREADY_EXISTS
    await world.wanda.patch(f"/repos/{NAME}/pulls/{pull['number']}", json={"state": "closed"})
    closed = await world.repository.edit_base(pull["number"], "release-1")
    assert isinstance(closed, BaseRefused)
    assert closed.kind in (BaseRefusal.CLOSED, BaseRefusal.ALREADY_EXISTS)


FIELDS: list[dict[str, Any]] = [
    {"name": "Status", "type": "single_select", "options": ["Todo", "Done"]},
    {"name": "Notes", "type": "text"},
    {"name": "Points", "type": "number"},
]


async def board(world: DeliveryWorld) -> tuple[int, int]:
    """An Issue on the organization's Project; their numbers."""
    number = await issue(world)
    project = await world.emulated.control("POST", "/projects", owner="acme", title="Plan", fields=FIELDS)
    held, repo = world.emulated.server.world, world.emulated.repository(NAME)
    add_item(held, held.projects[project["id"]], repo.issues[number], Actor(repo.owner))
    return number, int(project["number"])


@pytest.mark.parametrize(
    ("field", "value", "outcome"),
    [
        ("Status", "Done", None),
        ("Notes", "by us", None),
        ("Points", 3.0, None),
        ("Status", "Shipped", FieldRefusal.NO_OPTION),
        ("Phase", "Done", FieldRefusal.NO_FIELD),
        ("Title", "new", FieldRefusal.NOT_WRITABLE),
        ("Points", "three", FieldRefusal.NOT_WRITABLE),
    ],
)
async def test_a_field_of_the_board(
    world: DeliveryWorld, field: str, value: str | float, outcome: FieldRefusal | None
) -> None:
    number, project = await board(world)
    answer = await world.repository.set_project_field(number, project, field, value)
    if outcome is None:
        assert answer == FieldSet()
    else:
        assert isinstance(answer, FieldRefused)
        assert answer.kind is outcome
    assert isinstance(await world.repository.set_project_field(number, 77, field, value), FieldRefused)


async def test_a_board_the_app_may_not_write(tmp_path: Path) -> None:
    async with DeliveryWorld(tmp_path, PERMISSIONS | {"organization_projects": "read"}) as world:
        number, project = await board(world)
        answer = await world.repository.set_project_field(number, project, "Notes", "x")
        assert isinstance(answer, FieldRefused)
        assert answer.kind is FieldRefusal.FORBIDDEN
