"""What the service says of itself, and how it starts and stops."""

import asyncio
import base64
import hashlib
import hmac
import json
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

import app
from app.controller.resume_waits import Asked, judge
from app.domain.outage import Limits, Wish
from app.github.errors import Unanswered
from app.service.github_watch import GitHubWatch
from app.service.openapi import openapi_text
from app.service.running import Running

ROOT = Path(app.__file__).resolve().parent.parent


async def test_alive_is_answered_without_looking_at_anything(service):
    service.parts.database.close()
    assert (await service.http.get("/healthz")).json() == {"status": "ok"}


async def test_ready_when_the_database_writes_and_github_answers(service):
    await service.parts.watch.look()
    response = await service.http.get("/readyz")
    body = response.json()
    assert (response.status_code, body["ready"]) == (200, True)
    assert (body["installations"], body["installations_suspended"]) == (2, 1)
    assert (body["writes"], body["resume"]) == ("on", "on")


async def test_not_ready_names_what_is_missing(service):
    await service.parts.watch.look()
    service.people.failure = Unanswered("the connection was cut")
    await service.parts.watch.look()
    assert "cut" in (await service.http.get("/readyz")).json()["github_failure"]
    service.parts.database.close()
    response = await service.http.get("/readyz")
    assert response.status_code == 503
    assert response.json()["database_writable"] is False


async def test_the_watch_tells_of_answers_and_failures(service):
    told, enough = [], asyncio.Event()

    async def tell(answered):
        told.append(answered)
        enough.set()
        raise OSError("nobody listens, and the watch goes on")

    watch = GitHubWatch(service.people, service.parts.github.clock.now, tell)
    service.people.failure = Unanswered("the connection was cut")
    running = asyncio.create_task(watch.run())
    await asyncio.wait_for(enough.wait(), timeout=5)
    assert told == [False]
    assert not running.done()
    running.cancel()


async def test_the_public_keys_verify_what_the_service_seals(service):
    body = (await service.http.get("/.well-known/agent-recovery")).json()
    assert body["api"] == "http://service/api/v1"
    [key] = body["seal_keys"]
    assert key["signs"]
    private = service.parts.keyring.seal_keys[key["kid"]]
    public = Ed25519PublicKey.from_public_bytes(base64.b64decode(key["public_key"]))
    public.verify(private.sign(b"sealed"), b"sealed")


async def test_metrics_count_requests_and_waiting_pokes(service):
    await service.parts.pokes.poke("acme/shop#1", "acme/shop#2")
    in_an_hour = service.parts.github.clock.now() + timedelta(hours=1)
    await service.parts.pokes.poke("acme/shop#3", due_at=in_an_hour)
    service.parts.github.meter.count("rest", "GET /app/installations")
    text = (await service.http.get("/metrics")).text
    assert "agent_recovery_pokes_waiting 2.0" in text
    assert 'agent_recovery_github_requests_total{kind="rest",step=""} 1.0' in text


async def test_the_webhook_reaches_the_intake_and_the_queue(service):
    body = json.dumps({"action": "opened", "repository": {"full_name": "acme/shop"}, "issue": {"number": 42}}).encode()
    secret = service.parts.settings.webhook_secret.get_secret_value().encode()
    signature = "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()
    headers = {"X-GitHub-Event": "issues", "X-GitHub-Delivery": "d-1", "X-Hub-Signature-256": signature}
    assert (await service.http.post("/webhook", content=body, headers=headers)).status_code == 202
    assert await service.parts.pokes_waiting() == 1
    assert (await service.http.post("/webhook", content=body + b" ", headers=headers)).status_code == 401
    assert (await service.http.get("/webhook")).status_code == 405


async def test_a_large_webhook_is_not_bound_by_the_agents_limit(service):
    body = b" " * (300 * 1024)
    assert (await service.http.post("/webhook", content=body)).status_code == 401


async def test_the_sweep_runs_at_start_and_the_workers_end_at_stop(service):
    async with asyncio.timeout(5):
        await asyncio.gather(service.loop.swept.wait(), service.loop.working.wait())
    running = Running(service.parts)
    service.loop.working.clear()
    running.start()
    async with asyncio.timeout(5):
        await service.loop.working.wait()
    await running.stop()
    assert service.loop.finished


async def test_a_failed_sweep_is_tried_again(service, monkeypatch):
    from app.service import running as module

    tries: list[int] = []

    async def start_up() -> None:
        tries.append(1)
        if len(tries) < 3:
            raise Unanswered("timeout")

    async def at_once(_stop: object, _seconds: float) -> None:
        return

    monkeypatch.setattr(service.loop, "start_up", start_up)
    monkeypatch.setattr(module, "_pause", at_once)
    running = Running(service.parts)
    running.start()
    await running._tasks["sweep"]
    assert len(tries) == 3
    await running.stop()


def test_the_published_description_is_current():
    published = (ROOT / "docs" / "openapi.json").read_text(encoding="utf-8")
    assert published == openapi_text(), "run: python -m app.service.openapi > docs/openapi.json"


def test_every_call_of_the_agent_api_is_described_with_its_errors():
    paths = json.loads(openapi_text())["paths"]
    calls = {path.rsplit("/", 1)[1] for path in paths if path.startswith("/api/")}
    about_effects = {"effects", "dispatch", "result", "probe"}
    about_children = {"children", "spawn", "respawn", "adopt", "cancel", "completion"}
    of_a_holder = {"evidence", "checkpoint", "validation", "heartbeat", "handoff", "lease"}
    assert calls == {"brief", "claim"} | of_a_holder | about_effects | about_children
    for path, methods in paths.items():
        for described in methods.values():
            if path.startswith("/api/"):
                assert {"401", "403", "404", "409", "413", "422", "503"} <= set(described["responses"])
                assert described["responses"]["422"]["content"]["application/json"]["schema"]["$ref"].endswith(
                    "ErrorBody"
                )
                assert described["security"]


def test_the_version_is_the_packages():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == app.__version__


async def test_ready_names_what_the_operator_has_stopped(service):
    assert (await service.http.get("/readyz")).json()["stopped"] == []
    now = service.parts.github.clock.now()
    await service.parts.stops.stop("Acme/Shop", 7, by="wanda", reason="an incident", now=now)
    assert (await service.http.get("/readyz")).json()["stopped"] == ["acme/shop"]


async def test_the_policy_schema_is_served_as_it_is_published(service):
    answer = await service.http.get("/schema/policy.json")
    assert answer.headers["content-type"] == "application/schema+json"
    published = (ROOT / "docs" / "schema" / "policy.json").read_text(encoding="utf-8")
    assert answer.json() == json.loads(published)


async def test_ready_shows_the_reattach_window_and_what_is_held(service):
    body = (await service.http.get("/readyz")).json()
    assert (body["reattach_window_opened_at"], body["held"]) == (None, [])
    database, noon = service.parts.database, datetime(2026, 11, 30, 12, tzinfo=UTC)
    limits = Limits(timedelta(minutes=1), timedelta(minutes=15), mass_limit=1, max_concurrent=3, max_per_hour=10)
    for now in (noon, noon + timedelta(minutes=1), noon + timedelta(minutes=2)):
        for ticket in ("1", "2"):
            wish = Wish(ticket, "dispatch", "1.1", "Ripen")
            await database.run(judge, Asked(7, "acme/shop", ticket, wish, None, limits, now, 0.0))
    body = (await service.http.get("/readyz")).json()
    assert body["reattach_window_opened_at"] == "2026-11-30T12:00:00+00:00"
    assert body["held"] == [
        {"repository": "acme/shop", "tickets": 2, "since": "2026-11-30T12:02:00+00:00", "notice": None}
    ]
    metrics = (await service.http.get("/metrics")).text
    assert "agent_recovery_held_tickets 2.0" in metrics
    assert "agent_recovery_resume_on 1.0" in metrics
