"""Releases: their tags, their drafts, their events."""

from __future__ import annotations

from typing import Any

import pytest
from emulated import ALL, EVENTS, REPO, World

RELEASES = f"/repos/{REPO}/releases"


@pytest.fixture
def told(world: World) -> World:
    world.emulator.app("watcher", permissions=ALL, events=[*EVENTS, "release"], webhook_url="http://127.0.0.1:9/hook")
    world.emulator.installation("watcher", "octo")
    return world


def events(world: World, event: str) -> list[str]:
    sent = [d["payload"] for d in world.emulator.deliveries() if d["event"] == event]
    return [payload.get("action") or payload["ref"] for payload in sent]


def create(world: World, **body: Any) -> Any:
    return world.dev.post(RELEASES, json=body)


def test_a_release_makes_its_tag_and_is_found_by_it(told: World) -> None:
    made = create(told, tag_name="v1.0", target_commitish="release-1", name="One")
    assert made.status_code == 201, made.text
    assert told.refs("tags/") == {"refs/tags/v1.0": told.head("release-1")}
    found = told.reader.get(f"{RELEASES}/tags/v1.0").json()
    assert (found["id"], found["draft"], found["author"]["login"]) == (made.json()["id"], False, "dev")
    assert told.reader.get(f"{RELEASES}/latest").json()["id"] == found["id"]
    assert events(told, "release") == ["created", "published", "released"]
    assert "v1.0" in events(told, "create")


def test_a_tag_that_stands_is_taken_as_it_is(world: World) -> None:
    old = world.head("42-x")
    world.bot.post(f"/repos/{REPO}/git/refs", json={"ref": "refs/tags/v2", "sha": old}).raise_for_status()
    assert create(world, tag_name="v2", target_commitish="nowhere").status_code == 201
    assert world.refs("tags/") == {"refs/tags/v2": old}


def test_a_second_release_of_a_tag_is_refused(world: World) -> None:
    create(world, tag_name="v1")
    refused = create(world, tag_name="v1")
    assert refused.status_code == 422
    assert refused.json()["errors"] == [{"resource": "Release", "code": "already_exists", "field": "tag_name"}]


def test_a_draft_has_no_tag_and_is_seen_by_who_pushes(told: World) -> None:
    draft = create(told, tag_name="v3", draft=True).json()
    assert (draft["published_at"], told.refs("tags/")) == (None, {})
    assert told.reader.get(RELEASES).json() == []
    assert told.reader.get(f"{RELEASES}/{draft['id']}").status_code == 404
    assert told.reader.get(f"{RELEASES}/tags/v3").status_code == 404
    assert [r["id"] for r in told.dev.get(RELEASES).json()] == [draft["id"]]
    published = told.dev.patch(f"{RELEASES}/{draft['id']}", json={"draft": False, "prerelease": True})
    assert published.json()["published_at"] is not None
    assert list(told.refs("tags/")) == ["refs/tags/v3"]
    assert events(told, "release") == ["created", "published", "prereleased"]
    assert told.reader.get(f"{RELEASES}/latest").status_code == 404


def test_a_removed_release_leaves_its_tag(told: World) -> None:
    made = create(told, tag_name="v4").json()
    told.dev.patch(f"{RELEASES}/{made['id']}", json={"body": "Notes"})
    assert told.dev.delete(f"{RELEASES}/{made['id']}").status_code == 204
    assert told.dev.get(f"{RELEASES}/tags/v4").status_code == 404
    assert list(told.refs("tags/")) == ["refs/tags/v4"]
    assert events(told, "release")[-2:] == ["edited", "deleted"]


@pytest.mark.parametrize(
    ("body", "field"),
    [({"tag_name": "v 5"}, "tag_name"), ({"tag_name": "v5", "target_commitish": "nowhere"}, "target_commitish")],
)
def test_what_is_no_release(world: World, body: dict[str, str], field: str) -> None:
    refused = create(world, **body)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == field
    assert world.dev.get(RELEASES).json() == []


def test_who_may_not_push_releases_nothing(world: World) -> None:
    assert world.reader.post(RELEASES, json={"tag_name": "v1"}).status_code == 403
    assert create(world).status_code == 422
