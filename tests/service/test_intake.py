"""The intake: what is refused, what is accepted, and what the log says of it."""

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from starlette.routing import Route
from structlog.testing import capture_logs

from app.controller.clock import system_clock
from app.controller.database import Database
from app.controller.known_runs import KnownRuns
from app.controller.pokes import PokeStore
from app.service.intake import LARGEST_BODY, WebhookIntake

REPEATED, TOKENS = (
    json.loads((Path(__file__).parents[1] / "fixtures" / name).read_text())
    for name in ("repeated_deliveries.json", "tokens_and_installations.json")
)
CASE = json.loads((Path(__file__).parents[1] / "fixtures" / "webhook_signature.json").read_text())
SECRET = b"test-secret"
PAYLOAD = {"action": "opened", "issue": {"number": 42}, "repository": {"full_name": "octo-org/demo"}}


def signature(body: bytes, secret: bytes = SECRET) -> str:
    return "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()


@pytest.fixture
def database(tmp_path) -> Iterator[Database]:
    opened = Database(f"sqlite:///{tmp_path}/service.db")
    yield opened
    opened.close()


@pytest.fixture
def store(database) -> PokeStore:
    return PokeStore(database, system_clock)


@pytest.fixture
def intake(store) -> WebhookIntake:
    return WebhookIntake([b"next-secret", SECRET], store, own_app_id=111)


@pytest.fixture
async def client(intake):
    app = FastAPI()
    app.router.routes.append(Route("/webhook", intake))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service") as opened:
        yield opened


async def deliver(client: httpx.AsyncClient, body: bytes, event: str = "issues", **headers: str) -> httpx.Response:
    sent = {"X-GitHub-Event": event, "X-Hub-Signature-256": signature(body), "X-GitHub-Delivery": "d-1"}
    return await client.post("/webhook", content=body, headers={**sent, **headers})


async def test_a_run_whose_name_says_nothing_is_found_by_its_id(store, database):
    runs = KnownRuns(database, system_clock)
    await runs.note(7, 99, "octo-org/demo#42")
    intake = WebhookIntake([SECRET], store, own_app_id=111, runs=runs)
    app = FastAPI()
    app.router.routes.append(Route("/webhook", intake))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service") as client:
        answers = []
        for repository, run in ((7, 99), (7, 100), (8, 99), (7, True), (None, 99), ("7", "99")):
            payload = {
                "action": "completed",
                "repository": {"id": repository, "full_name": "octo-org/demo", "default_branch": "main"},
                "workflow_run": {"id": run, "event": "workflow_dispatch", "head_branch": "main", "display_title": "x"},
            }
            answers.append((await deliver(client, json.dumps(payload).encode(), "workflow_run")).status_code)
    assert answers == [202] * 6
    poke = await store.take("reader")
    assert poke is not None
    assert poke.key == "octo-org/demo#42"
    await store.settle(poke, None)
    assert await store.take("reader") is None


async def test_a_known_event_is_stored_before_the_answer(client, store):
    with capture_logs() as logs:
        answer = await deliver(client, json.dumps(PAYLOAD).encode())
    assert answer.status_code == 202
    poke = await store.take("reader")
    assert poke is not None
    assert poke.key == "octo-org/demo#42"
    (line,) = logs
    assert line["event"] == "webhook"
    assert (line["status"], line["github_event"], line["action"], line["delivery"], line["keys"]) == (
        202,
        "issues",
        "opened",
        "d-1",
        ("octo-org/demo#42",),
    )


async def test_both_live_secrets_are_accepted(client):
    body = json.dumps(PAYLOAD).encode()
    for secret in (b"next-secret", SECRET):
        headers = {"X-Hub-Signature-256": signature(body, secret)}
        assert (await deliver(client, body, **headers)).status_code == 202


async def test_an_unknown_event_is_accepted_and_pokes_nothing(client, store):
    assert (await deliver(client, b"{}", event="star")).status_code == 202
    assert await store.next_due() is None


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
async def test_other_methods_are_refused(client, method):
    answer = await client.request(method, "/webhook")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize("case", CASE["input"]["cases"], ids=lambda case: case["name"])
async def test_published_signature(client, case):
    headers = [(b"x-github-event", b"issue_comment")]
    for name in ("x_hub_signature_256", "x_hub_signature"):
        if case.get(name) is not None:
            headers.append((name.replace("_", "-").encode(), case[name].encode()))
    answer = await client.post("/webhook", content=base64.b64decode(case["body_base64"]), headers=headers)
    assert answer.status_code == CASE["expected"]["cases"][case["name"]]["http"]


async def test_published_delivery_that_comes_again_while_the_first_is_at_work(client, store):
    case = next(c for c in REPEATED["input"]["cases"] if c["name"] == "while_first_runs")
    answers = []
    for sent in case["deliveries"]:
        body = json.dumps({**PAYLOAD, "comment": {"id": sent["comment_id"], "body": sent["body"]}}).encode()
        headers = {"X-Hub-Signature-256": signature(body), "X-GitHub-Delivery": sent["guid"]}
        answers.append((await deliver(client, body, event="issue_comment", **headers)).status_code)
        await store.take("reader")
    assert answers == REPEATED["expected"]["cases"]["while_first_runs"]["http"]


@pytest.mark.parametrize(
    ("event", "payload", "says"),
    [
        ("installation", {"action": "deleted"}, "the App is uninstalled in this account"),
        ("installation", {"action": "suspend"}, "the App is suspended in this account"),
        (
            "installation_repositories",
            {"action": "removed", "repositories_removed": [{"id": 1}]},
            "the App was taken from repositories: 1",
        ),
        ("issue_comment", PAYLOAD, "a comment"),
    ],
)
async def test_published_delivery_that_tells_of_an_end_or_comes_after_it(client, event, payload, says):
    given = next(c for c in TOKENS["input"]["cases"] if c["name"] == "late_event_after_uninstall")
    body = json.dumps({**payload, "installation": given["installation"]}).encode()
    answer = await deliver(client, body, event=event, **{"X-Hub-Signature-256": signature(body)})
    assert answer.status_code == TOKENS["expected"]["cases"]["late_event_after_uninstall"]["http"]
    assert says in answer.json()["message"]


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"payload=%7B%7D", b"1" * 5000, b'{"a":1}x'],
    ids=["empty", "cut", "no UTF-8", "deep", "form", "endless number", "tail"],
)
async def test_what_is_not_json_is_refused(client, body):
    assert (await deliver(client, body)).status_code == 400


@pytest.mark.parametrize("body", [b"null", b"[]", b"1", b'"x"', b"{}", b'{"issue":[]}', b'{"action":{},"issue":null}'])
@pytest.mark.parametrize("event", ["issues", "pull_request", "push", "check_run", "installation"])
async def test_odd_payloads_are_accepted_and_ignored(client, store, body, event):
    assert (await deliver(client, body, event=event)).status_code == 202
    assert await store.next_due() is None


async def test_neither_bodies_nor_secrets_nor_signatures_nor_odd_words_are_logged(client):
    body = json.dumps({**PAYLOAD, "action": "evil\nline", "note": "body-text"}).encode()
    with capture_logs() as logs:
        await deliver(client, body, event="bad\tevent", **{"X-GitHub-Delivery": "x" * 500})
        await deliver(client, body, **{"X-Hub-Signature-256": "sha256=nonsense"})
        await deliver(client, body, **{"X-Hub-Signature-256": signature(body, b"other")})
        await deliver(client, body)
    assert len(logs) == 4
    text = repr(logs)
    for secret in ("body-text", SECRET.decode(), "nonsense", signature(body)[10:], "evil", "bad", "xxx"):
        assert secret not in text


async def test_what_cannot_be_stored_is_not_acknowledged(client, database):
    database.close()
    with capture_logs() as logs:
        answer = await deliver(client, json.dumps(PAYLOAD).encode())
    assert answer.status_code == 503
    assert logs[0]["reason"] == "not stored (DatabaseClosed)"


class Stream:
    """A sender that would go on for ever; it counts what was taken from it."""

    def __init__(self, chunk: bytes, *, then_leave: bool = False, more: bool = True) -> None:
        self.chunk, self.then_leave, self.more = chunk, then_leave, more
        self.taken = 0
        self.answers: list[dict] = []

    async def receive(self) -> dict:
        if self.then_leave and self.taken:
            return {"type": "http.disconnect"}
        self.taken += len(self.chunk)
        return {"type": "http.request", "body": self.chunk, "more_body": self.more}

    async def send(self, message: dict) -> None:
        self.answers.append(message)

    async def run(self, intake: WebhookIntake, *headers: tuple[bytes, bytes]) -> int | None:
        await intake({"type": "http", "method": "POST", "headers": headers}, self.receive, self.send)
        return self.answers[0]["status"] if self.answers else None


SIGNED = (b"x-hub-signature-256", b"sha256=" + b"0" * 64)


@pytest.mark.parametrize("header", [None, b"sha1=" + b"0" * 40, b"sha256=" + b"0" * 63, b""])
async def test_a_body_without_a_signature_is_not_read(intake, header):
    stream = Stream(b"x" * 2**20)
    headers = [(b"x-hub-signature-256", header)] if header is not None else []
    assert await stream.run(intake, *headers) == 401
    assert stream.taken == 0


async def test_bodies_that_are_too_large_together_are_put_off_and_room_is_made_again(intake, monkeypatch):
    monkeypatch.setattr("app.service.intake.ALL_BODIES", 3 * 2**20)
    held, go_on = asyncio.Event(), asyncio.Event()

    async def slowly():
        if held.is_set():
            await go_on.wait()
            return {"type": "http.disconnect"}
        held.set()
        return {"type": "http.request", "body": b"x" * 2**21, "more_body": True}

    first = asyncio.create_task(intake({"type": "http", "method": "POST", "headers": [SIGNED]}, slowly, None))
    await held.wait()
    assert await Stream(b"x" * 2**20).run(intake, SIGNED) == 503
    small = json.dumps(PAYLOAD).encode()
    headers = [(b"x-hub-signature-256", signature(small).encode()), (b"x-github-event", b"issues")]
    assert await Stream(small, more=False).run(intake, *headers) == 202
    go_on.set()
    await first
    assert intake._held == 0


async def test_a_body_that_does_not_come_is_not_waited_for(intake, monkeypatch):
    monkeypatch.setattr("app.service.intake.BODY_WITHIN_S", 0.05)
    stream = Stream(b"")
    stream.receive = asyncio.Event().wait
    assert await stream.run(intake, SIGNED) == 408


async def test_a_body_announced_too_large_is_not_read(intake):
    stream = Stream(b"x")
    assert await stream.run(intake, SIGNED, (b"content-length", str(LARGEST_BODY + 1).encode())) == 413
    assert stream.taken == 0


@pytest.mark.parametrize("announced", [None, b"5", b"-1", b"9" * 5000, "٤".encode()])
async def test_a_body_that_streams_beyond_the_limit_is_cut_off(intake, announced):
    stream = Stream(b"x" * 2**20)
    headers = [(b"content-length", announced)] if announced else []
    assert await stream.run(intake, SIGNED, *headers) == 413
    assert stream.taken <= LARGEST_BODY + 2**20


async def test_a_sender_that_leaves_gets_no_answer(intake, store):
    with capture_logs() as logs:
        assert await Stream(b"{", then_leave=True).run(intake, SIGNED) is None
    assert logs[0]["reason"] == "the sender went away"
    assert await store.next_due() is None


async def test_a_repeated_signature_header_is_refused(client):
    body = json.dumps(PAYLOAD).encode()
    headers = [("X-GitHub-Event", "issues"), *[("X-Hub-Signature-256", signature(body))] * 2]
    assert (await client.post("/webhook", content=body, headers=headers)).status_code == 401


@pytest.mark.parametrize("secrets", [[], [b""], [b"s", b""]])
def test_an_intake_without_a_real_secret_does_not_start(secrets, store):
    with pytest.raises(ValueError, match="secret"):
        WebhookIntake(secrets, store, own_app_id=111)
