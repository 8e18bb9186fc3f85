"""Faults, the request log, and the control path itself."""

from __future__ import annotations

import time
from pathlib import Path

import httpx
import pytest
from emulated import REPO, ZERO, World, git, new_commit

from app.emulator.client import Emulator

BASE = f"/repos/{REPO}"
LEDGER = "refs/agent-recovery/active/1"


def comments(world: World) -> list[str]:
    return [c["body"] for c in world.dev.get(f"{BASE}/issues/1/comments").json()]


@pytest.fixture
def issue(world: World) -> int:
    return int(world.emulator.issue(REPO, "One")["number"])


@pytest.mark.parametrize(("kind", "stored"), [("drop_before", []), ("drop_after", ["x"])])
def test_cut_connections(world: World, issue: int, kind: str, stored: list[str]) -> None:
    world.emulator.fault(kind, match={"method": "POST", "path_regex": "/comments$", "identity": "app:keeper"})
    with pytest.raises(httpx.RemoteProtocolError):
        world.bot.post(f"{BASE}/issues/{issue}/comments", json={"body": "x"})
    assert comments(world) == stored
    assert world.bot.post(f"{BASE}/issues/{issue}/comments", json={"body": "y"}).status_code == 201
    assert world.emulator.requests()[-3]["status"] == -1


@pytest.mark.parametrize(("kind", "stored"), [("status", []), ("status_after", ["x"])])
def test_forced_answers(world: World, issue: int, kind: str, stored: list[str]) -> None:
    world.emulator.fault(kind, match={"method": "POST"}, code=503, body={"message": "no"}, headers={"retry-after": 7})
    answer = world.bot.post(f"{BASE}/issues/{issue}/comments", json={"body": "x"})
    assert (answer.status_code, answer.json(), answer.headers["retry-after"]) == (503, {"message": "no"}, "7")
    assert comments(world) == stored


def test_an_order_may_look_into_the_body(world: World, issue: int) -> None:
    world.emulator.fault("status", match={"method": "POST", "body_regex": "the second\\b"}, code=503)
    said = [world.bot.post(f"{BASE}/issues/{issue}/comments", json={"body": f"the {n}"}) for n in ("first", "second")]
    assert [answer.status_code for answer in said] == [201, 503]
    assert comments(world) == ["the first"]


def test_a_late_effect_comes_after_later_requests(world: World, issue: int) -> None:
    world.emulator.fault("late", match={"method": "POST", "path_regex": "/comments$"}, after=2)
    with pytest.raises(httpx.RemoteProtocolError):
        world.bot.post(f"{BASE}/issues/{issue}/comments", json={"body": "x"})
    assert comments(world) == []
    assert comments(world) == []
    assert comments(world) == ["x"]


def test_delay(world: World) -> None:
    world.emulator.fault("delay", match={"kind": "rest"}, seconds=0.3)
    begun = time.monotonic()
    assert world.bot.get(BASE).status_code == 200
    assert time.monotonic() - begun >= 0.3


def test_graphql_faults_match_operations(world: World) -> None:
    change = {"name": LEDGER, "beforeOid": ZERO, "afterOid": world.head("main")}
    world.emulator.fault("drop_after", match={"operation": "updateRefs", "kind": "graphql"})
    assert world.graphql("{viewer{login}}")["data"]["viewer"]["login"] == "keeper[bot]"
    with pytest.raises(httpx.RemoteProtocolError):
        world.update_refs(change)
    assert LEDGER in world.refs("agent-recovery/")
    world.emulator.fault("graphql_error", match={"kind": "graphql"})
    assert "errors" in world.graphql("{viewer{login}}")
    world.emulator.fault("partial", match={"kind": "graphql"})
    answer = world.graphql('{viewer{login} repository(owner:"octo",name:"demo"){id}}')
    assert answer["data"]["viewer"] is not None
    assert answer["data"]["repository"] is None
    assert answer["errors"][0]["path"] == ["repository"]


def test_a_push_that_landed_but_was_not_answered(world: World, tmp_path: Path) -> None:
    clone = world.clone(tmp_path / "c", "dev")
    sha = new_commit(clone, "x")
    world.emulator.fault("drop_after", match={"kind": "git", "method": "POST"})
    assert git(clone, "push", "origin", "HEAD:refs/heads/new", check=False).returncode != 0
    assert world.head("new") == sha


def test_token_requests_are_a_kind_of_their_own(world: World) -> None:
    world.emulator.fault("status", match={"kind": "token"}, code=500)
    with pytest.raises(httpx.HTTPStatusError):
        world.emulator.installation_token(world.app, world.installation["id"])
    assert [(f["kind"], f["left"], f["hits"]) for f in world.emulator.faults()] == [("status", 0, 1)]
    world.emulator.clear_faults()
    assert world.emulator.faults() == []


def test_unknown_orders_are_refused(world: World) -> None:
    for order in ({"kind": "explode"}, {"kind": "status", "match": {"colour": "red"}}):
        with pytest.raises(httpx.HTTPStatusError, match="422"):
            world.emulator.fault(**order)


def test_the_request_log(world: World) -> None:
    last = world.emulator.forget_requests()
    world.bot.get(BASE)
    world.graphql("query Who{viewer{login}}")
    world.dev.get(f"{BASE}/git/ref/heads/nothing")
    seen = [(r["kind"], r["identity"], r["status"], r["operation"]) for r in world.emulator.requests(last)]
    assert seen == [
        ("rest", "app:keeper", 200, None),
        ("graphql", "app:keeper", 200, "Who"),
        ("rest", "user:dev", 404, None),
    ]
    counters = world.emulator.counters()
    assert counters["route"]["GET /repos/{owner}/{repo}/git/ref/{ref*}"] == 1


def test_the_log_tells_what_refs_a_request_asks_to_move(world: World, tmp_path: Path) -> None:
    clone = world.clone(tmp_path / "c", "dev")
    sha, main = new_commit(clone, "x"), world.head("main")
    last = world.emulator.forget_requests()
    world.emulator.fault("drop_before", match={"operation": "updateRefs"})
    with pytest.raises(httpx.RemoteProtocolError):
        world.update_refs({"name": LEDGER, "beforeOid": ZERO, "afterOid": main})
    git(clone, "push", "origin", "HEAD:refs/heads/new", "HEAD:refs/heads/second")
    seen = [command for r in world.emulator.requests(last) for command in r["refs"]]
    assert seen == [f"{ZERO} {main} {LEDGER}", f"{ZERO} {sha} refs/heads/new", f"{ZERO} {sha} refs/heads/second"]


def test_the_clock_moves_stamps(world: World) -> None:
    world.emulator.set_clock("2030-01-02T03:04:05Z")
    made = world.emulator.issue(REPO, "Later")
    assert made["created_at"].startswith("2030-01-02T03:04:0")
    assert world.emulator.advance(86_400) - world.emulator.now() < 1
    assert world.emulator.issue(REPO, "Next")["created_at"].startswith("2030-01-03T")


def test_starting_is_quick_and_stopping_is_clean(tmp_path: Path) -> None:
    begun = time.monotonic()
    with Emulator.start(tmp_path / "data") as started:
        took = time.monotonic() - begun
        process = started.process
    assert took < 5
    assert process is not None
    assert process.poll() is not None
