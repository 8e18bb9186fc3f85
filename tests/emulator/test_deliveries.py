"""Deliveries: their log, their second attempts, the App's own view of them, and how a test makes them travel."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest
from emulated import REPO, SECRET, Inbox, World

from app.emulator.clock import Clock
from app.emulator.ids import Ids
from app.emulator.state import Account, App
from app.emulator.webhooks import LARGEST_PAYLOAD, Deliveries

DELIVERIES = "/app/hook/deliveries"


@pytest.fixture
def hooked(world: World, inbox: Inbox) -> World:
    world.emulator.change_app("keeper", webhook_url=inbox.url)
    return world


@pytest.fixture
def as_app(hooked: World) -> Iterator[httpx.Client]:
    headers = {"authorization": f"Bearer {hooked.emulator.app_jwt(hooked.app)}"}
    with httpx.Client(base_url=hooked.emulator.url, headers=headers, trust_env=False, verify=False) as client:
        yield client


def issues(world: World, count: int, first: int = 1) -> None:
    for number in range(first, first + count):
        world.emulator.issue(REPO, f"Issue {number}")


def titles(inbox: Inbox) -> list[str]:
    return [json.loads(body)["issue"]["title"] for _, body in inbox.received]


def wait_for(inbox: Inbox, count: int) -> None:
    deadline = time.monotonic() + 10
    while len(inbox.received) < count and time.monotonic() < deadline:
        time.sleep(0.01)


def test_pages_go_by_cursor_newest_first(hooked: World, as_app: httpx.Client) -> None:
    issues(hooked, 5)
    assert hooked.emulator.flush() == 0
    seen: list[int] = []
    page = as_app.get(DELIVERIES, params={"per_page": 2})
    while True:
        seen += [d["id"] for d in page.json()]
        following = page.links.get("next")
        if following is None:
            break
        page = as_app.get(following["url"])
    assert len(seen) == 5
    assert seen == sorted(seen, reverse=True)
    assert as_app.get(DELIVERIES, params={"cursor": "elsewhere"}).status_code == 400


def test_the_filter_by_status_sees_answers_only(hooked: World, as_app: httpx.Client, inbox: Inbox) -> None:
    issues(hooked, 1)
    assert hooked.emulator.flush() == 0
    inbox.status = 500
    issues(hooked, 1)
    assert hooked.emulator.flush() == 0
    hooked.emulator.change_app("keeper", webhook_url="http://127.0.0.1:9/")
    issues(hooked, 1)
    assert hooked.emulator.flush() == 0
    shown = {s: [d["status_code"] for d in as_app.get(DELIVERIES, params={"status": s}).json()] for s in SIDES}
    assert shown == {"success": [200], "failure": [500]}
    statuses = [d["status"] for d in as_app.get(DELIVERIES).json()]
    assert statuses == ["failed to connect to host", "Invalid HTTP Response: 500", "OK"]
    assert as_app.get(DELIVERIES, params={"status": "lost"}).status_code == 422


SIDES = ("success", "failure")


def test_a_delivery_shows_what_was_sent_and_answered(hooked: World, as_app: httpx.Client, inbox: Inbox) -> None:
    issues(hooked, 1)
    assert hooked.emulator.flush() == 0
    (listed,) = as_app.get(DELIVERIES).json()
    full = as_app.get(f"{DELIVERIES}/{listed['id']}").json()
    assert full["request"]["headers"]["X-GitHub-Delivery"] == listed["guid"]
    assert full["request"]["payload"] == json.loads(inbox.received[0][1])
    assert full["url"] == inbox.url
    assert full["response"]["headers"]["content-length"] == "0"
    assert as_app.get(f"{DELIVERIES}/1").status_code == 404
    assert hooked.dev.get(DELIVERIES).status_code == 401
    assert hooked.bot.get(DELIVERIES).status_code == 401


def test_after_three_days_a_delivery_is_gone(hooked: World, inbox: Inbox) -> None:
    issues(hooked, 1)
    assert hooked.emulator.flush() == 0

    def ask(path: str, method: str = "GET") -> httpx.Response:
        headers = {"authorization": f"Bearer {hooked.emulator.app_jwt(hooked.app)}"}
        return hooked.bot.request(method, path, headers=headers)

    (old,) = ask(DELIVERIES).json()
    hooked.emulator.advance(3 * 24 * 3600 + 1)
    assert ask(DELIVERIES).json() == []
    assert ask(f"{DELIVERIES}/{old['id']}/attempts", "POST").status_code == 404
    assert len(inbox.received) == 1


def test_the_hook_is_read_and_changed_by_the_app_alone(hooked: World, as_app: httpx.Client, inbox: Inbox) -> None:
    shown = as_app.get("/app/hook/config").json()
    assert shown == {"content_type": "json", "insecure_ssl": "0", "url": inbox.url, "secret": "********"}
    assert as_app.patch("/app/hook/config", json={"url": "ftp://x"}).status_code == 422
    changed = as_app.patch("/app/hook/config", json={"content_type": "form", "secret": "other"})
    assert changed.json()["content_type"] == "form"
    assert as_app.patch("/app/hook/config", json={"content_type": "xml"}).status_code == 422
    for given, shown_as in ((1, "1"), (0.0, "0"), ("1", "1"), ("0", "0")):
        assert as_app.patch("/app/hook/config", json={"insecure_ssl": given}).json()["insecure_ssl"] == shown_as
    issues(hooked, 1)
    assert hooked.emulator.flush() == 0
    headers, body = inbox.received[0]
    assert headers["content-type"] == "application/x-www-form-urlencoded"
    assert json.loads(parse_qs(body.decode())["payload"][0])["action"] == "opened"
    assert headers["x-hub-signature-256"] == "sha256=" + hmac.new(b"other", body, hashlib.sha256).hexdigest()
    assert hooked.bot.get("/app/hook/config").status_code == 401
    assert SECRET not in json.dumps(shown)


def test_a_target_that_hangs_is_cut_off_and_delays_nobody(hooked: World, inbox: Inbox) -> None:
    cut, hang = threading.Event(), threading.Event()

    class Hanging(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            # It answers a little all the time, so that only a limit on the whole ends it.
            self.send_response(200)
            self.end_headers()
            while not hang.wait(0.05):
                try:
                    self.wfile.write(b".")
                except OSError:
                    cut.set()
                    return

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hanging)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        hooked.emulator.delivery_timeout(1.5)
        hooked.emulator.change_app("keeper", webhook_url=f"http://127.0.0.1:{server.server_address[1]}/")
        issues(hooked, 1)
        hooked.emulator.change_app("keeper", webhook_url=inbox.url)
        begun = time.monotonic()
        issues(hooked, 1, first=2)
        wait_for(inbox, 1)
        assert time.monotonic() - begun < 1.3
        assert hooked.emulator.flush() == 0
        assert cut.wait(5)
    finally:
        hang.set()
        server.shutdown()
        thread.join()
        server.server_close()
    slow, quick = hooked.emulator.deliveries()[-2:]
    assert (slow["status"], slow["status_code"], quick["status"]) == ("timed out", 0, "OK")


def test_a_payload_over_25_mb_is_not_sent() -> None:
    owner, bot = (Account(n, name, "User", "") for n, name in enumerate(("owner", "bot")))
    app = App(1, "keeper", "keeper", owner, bot, "", "", "", {}, [], "http://127.0.0.1:9/", None, 2, "")
    deliveries = Deliveries(Clock(), Ids())
    around_it = len('{"text":""}')
    deliveries.record(app, "push", {"text": "x" * (LARGEST_PAYLOAD - around_it)})
    deliveries.record(app, "push", {"text": "x" * (LARGEST_PAYLOAD - around_it + 1)})
    assert [len(d.body) for d in deliveries.log] == [LARGEST_PAYLOAD]


def test_deliveries_are_held_and_released_by_name_and_in_any_order(hooked: World, inbox: Inbox) -> None:
    hooked.emulator.load_faults([{"kind": "delivery_hold", "match": {"event": "issues"}, "times": None}])
    issues(hooked, 4)
    hooked.emulator.flush()
    waiting = [d for d in hooked.emulator.deliveries() if d["queued"]]
    assert (len(waiting), inbox.received) == (4, [])
    for delivery in (waiting[2]["id"], waiting[0]["guid"]):
        wanted = len(inbox.received) + 1
        assert hooked.emulator.release_deliveries([delivery]) == 1
        wait_for(inbox, wanted)
    assert titles(inbox) == ["Issue 3", "Issue 1"]
    assert hooked.emulator.release_deliveries() == 2
    assert hooked.emulator.flush() == 0
    assert sorted(titles(inbox)) == ["Issue 1", "Issue 2", "Issue 3", "Issue 4"]


def test_what_is_queued_can_be_held_afterwards(hooked: World, inbox: Inbox) -> None:
    hooked.emulator.delivery_mode("hold")
    issues(hooked, 2)
    first = hooked.emulator.deliveries()[-2]
    assert hooked.emulator.hold_deliveries([first["guid"]]) == 1
    hooked.emulator.delivery_mode("normal")
    assert hooked.emulator.flush() == 1
    assert titles(inbox) == ["Issue 2"]


@pytest.mark.parametrize(
    ("order", "arrived"),
    [
        ({"kind": "delivery_drop", "nth": 2}, ["Issue 1", "Issue 3"]),
        ({"kind": "delivery_duplicate", "nth": 2}, ["Issue 1", "Issue 2", "Issue 2", "Issue 3"]),
        ({"kind": "delivery_delay", "seconds": 1.5}, ["Issue 2", "Issue 3", "Issue 1"]),
        ({"kind": "delivery_reorder", "after": 2}, ["Issue 2", "Issue 3", "Issue 1"]),
    ],
)
def test_one_delivery_is_disturbed(hooked: World, inbox: Inbox, order: dict[str, Any], arrived: list[str]) -> None:
    hooked.emulator.load_faults([order | {"match": {"event": "issues", "action": "opened", "app": "keeper"}}])
    for number in (1, 2, 3):
        issues(hooked, 1, first=number)
        hooked.emulator.flush(0.1)
    assert hooked.emulator.flush() == 0
    assert titles(inbox) == arrived
    log = hooked.emulator.fault_log()
    assert [(s["kind"], s["hit"]["event"]) for s in log["strikes"]] == [(order["kind"], "issues")]
    hooked.emulator.load_faults(log["orders"])
