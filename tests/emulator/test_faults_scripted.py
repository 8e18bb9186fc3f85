"""Faults by occurrence and by luck, played a second time; pauses, lag, limits, refusals, tokens that end midway."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from emulated import REPO, ZERO, World, git, new_commit, rest

BASE = f"/repos/{REPO}"
LEDGER = "refs/agent-recovery/active/1"
COMMENTS = {"method": "POST", "path_regex": "/comments$"}


@pytest.fixture
def issue(world: World) -> int:
    return int(world.emulator.issue(REPO, "One")["number"])


def comment(world: World, body: str) -> int:
    """The status of posting a comment; 0 when the connection was cut."""
    try:
        return world.bot.post(f"{BASE}/issues/1/comments", json={"body": body}).status_code
    except httpx.RemoteProtocolError:
        return 0


def comments(world: World) -> list[str]:
    return [c["body"] for c in world.dev.get(f"{BASE}/issues/1/comments").json()]


def eventually(what: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        found = what()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError("it never came to be")


def test_the_nth_occurrence_is_hit_and_orders_count_on_their_own(world: World, issue: int) -> None:
    world.emulator.load_faults(
        [
            {"kind": "drop_before", "match": COMMENTS, "nth": 2},
            {"kind": "status", "match": COMMENTS, "nth": 2, "code": 503},
            {"kind": "drop_after", "match": COMMENTS, "nth": 4, "times": None},
        ]
    )
    assert [comment(world, str(n)) for n in range(1, 7)] == [201, 0, 503, 0, 0, 0]
    assert comments(world) == ["1", "4", "5", "6"]
    assert [(f["left"], f["hits"], f["seen"]) for f in world.emulator.faults()] == [(0, 1, 6), (0, 1, 6), (None, 3, 6)]


def test_a_list_of_orders_is_loaded_whole_or_not_at_all(world: World) -> None:
    bad: list[dict[str, Any]] = [
        {"kind": "explode"},
        {"kind": "status", "match": {"event": "push"}},
        {"kind": "delivery_drop", "match": {"method": "POST"}},
        {"kind": "status", "match": {"path_regex": "("}},
        {"kind": "status", "nth": "soon"},
        {"kind": "status", "colour": "red"},
        {"kind": "status", "nth": 0},
        {"kind": "status", "times": 0},
        {"kind": "status", "times": -1},
        {"kind": "status", "probability": 2},
        {"kind": "status", "probability": "NaN"},
        {"kind": "status", "code": 99},
        {"kind": "status", "match": "x"},
        {"kind": "status", "match": {"method": 5}},
        {"kind": "status", "headers": []},
        {"kind": "delay", "seconds": -1},
        {"kind": "delay", "seconds": "inf"},
        {"kind": "late", "after": -1},
    ]
    for order in bad:
        with pytest.raises(httpx.HTTPStatusError, match="422"):
            world.emulator.load_faults([{"kind": "drop_before"}, order])
    assert world.emulator.faults() == []
    assert world.bot.get(BASE).status_code == 200


def test_luck_has_a_seed_and_a_run_can_be_played_again(world: World, issue: int) -> None:
    def play(orders: list[dict[str, Any]]) -> tuple[list[int], dict[str, Any]]:
        world.emulator.load_faults(orders)
        seen = [comment(world, "x") for _ in range(20)]
        world.emulator.clear_faults()
        return seen, world.emulator.fault_log()

    chance = [{"kind": "status", "match": COMMENTS, "times": None, "probability": 0.4, "seed": 7, "code": 500}]
    first, log = play(chance)
    assert 0 < first.count(500) < 20
    assert [s["nth"] for s in log["strikes"]] == [n for n, status in enumerate(first, 1) if status == 500]
    assert all(s["hit"]["path"].endswith("/comments") for s in log["strikes"])
    again, _ = play(chance)
    other, _ = play([chance[0] | {"seed": 8}])
    replayed, _ = play(log["orders"])
    assert again == first == replayed != other


def test_orders_of_several_moments_are_replayed_each_at_its_own(world: World, issue: int) -> None:
    def played(*parts: list[dict[str, Any]]) -> tuple[list[int], list[list[dict[str, Any]]]]:
        seen, scripts = [], []
        for orders in parts:
            loaded = world.emulator.load_faults(orders)
            seen += [comment(world, "x") for _ in range(4)]
            scripts.append(world.emulator.fault_log(since=min(loaded) - 1)["orders"])
            world.emulator.clear_faults()
        return seen, scripts

    first, scripts = played(
        [{"kind": "status", "match": COMMENTS, "code": 500, "nth": 2}],
        [{"kind": "status", "match": COMMENTS, "code": 503, "nth": 3}],
    )
    assert first == [201, 500, 201, 201, 201, 201, 503, 201]
    assert [len(script) for script in scripts] == [1, 1]
    assert played(*scripts)[0] == first
    assert httpx.get(f"{world.emulator.url}/_emulator/faults/log?since=x").status_code == 422


def test_a_paused_request_waits_for_its_release(world: World, issue: int) -> None:
    before, after = world.emulator.load_faults([{"kind": "pause", "match": COMMENTS, "nth": n} for n in (1, 2)])
    world.emulator.load_faults([{"kind": "pause_after", "match": COMMENTS, "nth": 3}])
    with ThreadPoolExecutor() as pool:
        clients = [rest(world.emulator, world.tokens["bot"]) for _ in range(3)]

        def post(index: int) -> Future[httpx.Response]:
            body = {"body": str(index)}
            future = pool.submit(clients[index].post, f"{BASE}/issues/1/comments", json=body)
            eventually(lambda: len(world.emulator.paused()) == index + 1)
            return future

        first, second, third = post(0), post(1), post(2)
        assert comments(world) == ["2"]
        assert not any(f.done() for f in (first, second, third))
        assert world.emulator.release(after) == 1
        assert second.result(10).status_code == 201
        assert world.emulator.paused()[0]["fault"] == before
        assert comments(world) == ["2", "1"]
        world.emulator.clear_faults()
        assert {first.result(10).status_code, third.result(10).status_code} == {201}
        for client in clients:
            client.close()
    assert comments(world) == ["2", "1", "0"]


def test_a_reset_lets_paused_requests_go(world: World, issue: int) -> None:
    world.emulator.fault("pause", match={"path_regex": "^/rate_limit$"})
    statuses: list[int] = []
    waiting = threading.Thread(target=lambda: statuses.append(world.bot.get("/rate_limit").status_code))
    waiting.start()
    eventually(world.emulator.paused)
    world.emulator.reset()
    waiting.join(10)
    assert len(statuses) == 1


def test_lists_lag_behind_by_requests(world: World, issue: int) -> None:
    world.emulator.fault("lag", match={"method": "GET"}, times=None, after=2)
    made = world.bot.post(f"{BASE}/issues/1/comments", json={"body": "new"}).json()
    world.update_refs({"name": LEDGER, "beforeOid": ZERO, "afterOid": world.emulator.commit(REPO, {"a": "b"})})
    assert comments(world) == []
    assert world.refs("agent-recovery/") == {}
    assert world.bot.get(f"{BASE}/issues/comments/{made['id']}").json()["body"] == "new"
    assert comments(world) == ["new"]
    assert list(world.refs("agent-recovery/")) == [LEDGER]


def test_lists_lag_behind_by_seconds_also_in_graphql(world: World, issue: int) -> None:
    query = '{repository(owner:"octo",name:"demo"){issues(first:9){nodes{title}}}}'

    def titles() -> list[str]:
        return [n["title"] for n in world.graphql(query)["data"]["repository"]["issues"]["nodes"]]

    world.emulator.freeze_clock()
    world.emulator.fault("lag", times=None, seconds=30)
    assert world.bot.post(f"{BASE}/issues", json={"title": "Two"}).status_code == 201
    assert titles() == ["One"]
    assert [i["title"] for i in world.bot.get(f"{BASE}/issues").json()] == ["One"]
    world.emulator.advance(31)
    assert titles() == ["One", "Two"]
    assert [i["title"] for i in world.bot.get(f"{BASE}/issues").json()] == ["Two", "One"]


def test_a_late_list_has_a_validator_of_its_own(world: World, issue: int) -> None:
    world.emulator.fault("lag", times=1, after=9)  # counts reads alone
    world.bot.post(f"{BASE}/issues", json={"title": "Two"})
    late, present = world.bot.get(f"{BASE}/issues"), world.bot.get(f"{BASE}/issues")
    assert (len(late.json()), len(present.json())) == (1, 2)
    assert late.headers["etag"] != present.headers["etag"]


def test_a_rate_limit_is_reached_now(world: World) -> None:
    identity = f"installation:{world.installation['id']}"
    world.emulator.fault("rate_limit", match={"path_regex": "/issues$"})
    refused = world.bot.get(f"{BASE}/issues")
    assert (refused.status_code, refused.headers["x-ratelimit-remaining"]) == (403, "0")
    assert refused.json()["message"].startswith("API rate limit exceeded for installation ID")
    assert world.bot.get(BASE).status_code == 403
    assert world.dev.get(BASE).status_code == 200
    world.emulator.advance(3601)
    assert (
        rest(world.emulator, world.emulator.installation_token(world.app, world.installation["id"]))
        .get(BASE)
        .is_success
    )
    assert world.emulator.exhaust_rate("user:dev", "core")["core"]["remaining"] == 0
    assert world.dev.get(BASE).status_code == 403
    assert set(world.emulator.exhaust_rate(identity)) == {"core", "graphql"}


def test_a_secondary_limit_says_when_to_come_back(world: World) -> None:
    world.emulator.fault("secondary_limit", seconds=17)
    refused = world.bot.get(BASE)
    assert (refused.status_code, refused.headers["retry-after"]) == (403, "17")
    assert "secondary rate limit" in refused.json()["message"]
    assert world.bot.get(BASE).status_code == 200


def test_a_push_whose_token_ends_after_it_was_authenticated_lands(world: World, tmp_path: Path) -> None:
    clone = world.clone(tmp_path / "c")
    sha = new_commit(clone, "x")
    world.emulator.fault("revoke_token", match={"kind": "git", "path_regex": "/git-receive-pack$"})
    git(clone, "push", "-q", "origin", "HEAD:refs/heads/new")
    assert git(clone, "push", "-q", "origin", "HEAD:refs/heads/other", check=False).returncode != 0
    assert world.bot.get(BASE).status_code == 401
    branches = {b["name"]: b["commit"]["sha"] for b in world.dev.get(f"{BASE}/branches").json()}
    assert branches["new"] == sha
    assert "other" not in branches


def test_a_push_whose_token_ends_before_its_second_request_moves_nothing(world: World, tmp_path: Path) -> None:
    clone = world.clone(tmp_path / "c")
    new_commit(clone, "x")
    world.emulator.fault("revoke_token", match={"kind": "git", "method": "GET", "identity": "app:keeper"})
    refused = git(clone, "push", "origin", "HEAD:refs/heads/new", check=False)
    assert refused.returncode != 0
    assert "new" not in [b["name"] for b in world.dev.get(f"{BASE}/branches").json()]


def test_one_write_of_refs_is_refused_and_the_next_is_not(world: World, tmp_path: Path) -> None:
    main = world.head("main")
    change = {"name": LEDGER, "beforeOid": ZERO, "afterOid": main}
    world.emulator.fault("refuse_update_refs", match={"operation": "updateRefs"})
    assert "errors" in world.update_refs(change)
    world.emulator.fault("refuse_custom_refs", match={"operation": "updateRefs"})
    assert "errors" in world.update_refs(change)
    assert world.refs("agent-recovery/") == {}
    assert "errors" not in world.update_refs(change)
    clone = world.clone(tmp_path / "c")
    world.emulator.fault("refuse_custom_refs", match={"kind": "git", "method": "POST", "path_regex": "receive-pack$"})
    assert git(clone, "push", "origin", "HEAD:refs/agent-recovery/active/2", check=False).returncode != 0
    git(clone, "push", "-q", "origin", "HEAD:refs/agent-recovery/active/2")


@pytest.mark.parametrize(
    ("call", "body"),
    [
        ("deliveries/mode", {"timeout_s": "x"}),
        ("deliveries/mode", {"timeout_s": -1}),
        ("deliveries/flush", {"timeout_s": []}),
        ("tokens", {"user": "dev", "lifetime_s": True}),
        ("requests?since=soon", None),
    ],
)
def test_what_is_no_number_is_said_so(world: World, call: str, body: dict[str, Any] | None) -> None:
    url = f"{world.emulator.url}/_emulator/{call}"
    answer = httpx.get(url) if body is None else httpx.post(url, json=body)
    assert answer.status_code == 422
    assert "number" in answer.json()["message"]


@pytest.mark.parametrize(
    "asked",
    [
        {"set": "tomorrow"},
        {"set": [1]},
        {"set": -1},
        {"advance_s": "x"},
        {"advance_s": 1e300},
        {"set": "9999-12-31T00:00:00Z"},
    ],
)
def test_a_time_that_cannot_be_leaves_the_clock_alone(world: World, asked: dict[str, Any]) -> None:
    url = f"{world.emulator.url}/_emulator/clock"
    before = httpx.get(url).json()["epoch"]
    assert httpx.post(url, json=asked).status_code == 422
    assert 0 <= httpx.get(url).json()["epoch"] - before < 60
    assert world.bot.get(BASE).status_code == 200


def test_the_clock_jumps_stands_and_goes_on(world: World, issue: int) -> None:
    stood = world.emulator.freeze_clock()
    world.emulator.fault("clock_jump", match=COMMENTS, seconds=86_400)
    comment(world, "x")
    assert world.emulator.now() == stood + 86_400
    assert world.emulator.now() == world.emulator.now()
    begun = world.emulator.run_clock()
    assert eventually(lambda: world.emulator.now() > begun + 0.001)


def test_an_answer_comes_late_though_its_effect_did_not(world: World, issue: int) -> None:
    world.emulator.fault("delay_after", match=COMMENTS, seconds=1.5)
    other = rest(world.emulator, world.tokens["dev"])
    with ThreadPoolExecutor(1) as pool, other:
        begun = time.monotonic()
        answer = pool.submit(comment, world, "x")
        eventually(lambda: other.get(f"{BASE}/issues/1/comments").json())
        assert not answer.done()
        assert answer.result(10) == 201
        assert time.monotonic() - begun >= 1.5
