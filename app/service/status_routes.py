"""What the service says of itself: alive, ready, its public keys, its numbers. Nothing here is secret."""

import base64

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from pydantic import BaseModel, Field

from app import __version__
from app.controller.resume_waits import Held
from app.domain.checkpoint import SCHEMA_VERSION as CHECKPOINT_SCHEMA
from app.domain.policy import policy_schema
from app.domain.record import SCHEMA as RECORD_SCHEMA
from app.service.agent_routes import API
from app.service.running import Parts, Running

router = APIRouter(tags=["status"])
POLICY_SCHEMA = "/schema/policy.json"
"""Where editors find what a policy file may say."""


class Health(BaseModel):
    status: str = "ok"


class HeldTickets(BaseModel):
    """Tickets of a repository that stopped at once, and wait until a person closes the Issue `notice`."""

    repository: str
    tickets: int
    since: str
    notice: int | None = Field(description="The Issue that tells it; none where the repository has no Issues.")


class Readiness(BaseModel):
    """`ready` needs a database that can be written, GitHub's answer within 15 minutes, and running workers."""

    ready: bool
    database_writable: bool
    github_reachable: bool
    github_last_answer: str | None
    github_failure: str | None
    installations: int
    installations_suspended: int
    writes: str
    stopped: list[str] = Field(description="Repositories and accounts in which nothing is written.")
    resume: str
    reattach_window_opened_at: str | None = Field(
        description="When the service last began, or came back: for two heartbeats from then no agent is started and "
        "no ticket is given up."
    )
    held: list[HeldTickets] = Field(description="Where many tickets stopped at once, and a person is asked.")
    not_running: list[str]
    version: str
    boot_id: str


class SealKey(BaseModel):
    kid: str
    algorithm: str = "Ed25519"
    public_key: str = Field(description="The raw 32 bytes in base64.")
    signs: bool = Field(description="New seals are made with this key; the others only verify older ones.")


class Identity(BaseModel):
    """Who this service is, and what is needed to verify its seals."""

    name: str
    version: str
    app_id: int
    api: str
    seal_keys: list[SealKey]
    record_schema: int
    checkpoint_schema: int


def _running(request: Request) -> Running:
    running: Running = request.app.state.running
    return running


@router.get("/healthz", summary="The process lives")
async def healthz() -> Health:
    """Answered without looking at anything else."""
    return Health()


@router.get("/readyz", summary="The service can do its work", responses={503: {"model": Readiness}})
async def readyz(request: Request) -> JSONResponse:
    """200 when ready, else 503; both with what is and is not there, and with the operator's off switches."""
    running = _running(request)
    parts = running.parts
    seen = parts.watch.seen
    writable = await parts.database_writable()
    reachable = parts.watch.reachable
    life, held = await parts.held_back() if writable else (None, ())
    readiness = Readiness(
        ready=writable and reachable and not running.ailing,
        database_writable=writable,
        github_reachable=reachable,
        github_last_answer=seen.at.isoformat(timespec="seconds") if seen.at else None,
        github_failure=seen.failure,
        installations=seen.installations,
        installations_suspended=seen.suspended,
        writes="on" if parts.settings.writes else "off",
        stopped=await parts.stopped() if writable else list(parts.settings.stopped),
        resume="on" if parts.settings.resume else "off",
        reattach_window_opened_at=life.opened_at.isoformat(timespec="seconds") if life is not None else None,
        held=[_held(one) for one in held],
        not_running=list(running.ailing),
        version=__version__,
        boot_id=parts.boot_id,
    )
    return JSONResponse(readiness.model_dump(), status_code=200 if readiness.ready else 503)


def _held(held: Held) -> HeldTickets:
    waiting = sum(row.passed_at is None and not row.may_pass_a_hold for row in held.rows)
    since = held.since.isoformat(timespec="seconds") if held.since is not None else ""
    return HeldTickets(repository=held.full_name, tickets=waiting, since=since, notice=held.notice)


@router.get("/.well-known/agent-recovery", summary="Public keys and versions")
async def identity(request: Request) -> Identity:
    """The public halves of all live seal keys: with them anybody verifies what the service sealed."""
    parts = _running(request).parts
    base = parts.settings.public_url or str(request.base_url).rstrip("/")
    return Identity(
        name="agent-recovery",
        version=__version__,
        app_id=parts.settings.app_id,
        api=base + API,
        seal_keys=_seal_keys(parts),
        record_schema=RECORD_SCHEMA,
        checkpoint_schema=CHECKPOINT_SCHEMA,
    )


def _seal_keys(parts: Parts) -> list[SealKey]:
    keys = parts.keyring.seal_keys
    return [
        SealKey(kid=kid, public_key=base64.b64encode(key.public_key().public_bytes_raw()).decode(), signs=position == 0)
        for position, (kid, key) in enumerate(keys.items())
    ]


@router.get(POLICY_SCHEMA, summary="The JSON Schema of a repository's policy file")
async def policy_file_schema() -> JSONResponse:
    """For editors, and for a repository's own checks."""
    return JSONResponse(policy_schema(), media_type="application/schema+json")


@router.get("/metrics", summary="Numbers for Prometheus", response_class=Response)
async def metrics(request: Request) -> Response:
    """Requests to GitHub by kind, what is left of its limits, pokes that wait."""
    parts = _running(request).parts
    registry = CollectorRegistry()
    _, held = await parts.held_back()
    registry.register(_Numbers(parts, await parts.pokes_waiting(), sum(_held(one).tickets for one in held)))
    return Response(generate_latest(registry), media_type="text/plain; version=0.0.4; charset=utf-8")


class _Numbers:
    """One reading of the service's numbers, in the form prometheus-client collects."""

    def __init__(self, parts: Parts, pokes_waiting: int, held: int) -> None:
        self._parts = parts
        self._pokes_waiting = pokes_waiting
        self._held = held

    def collect(self) -> list[Metric]:
        meter = self._parts.github.meter
        requests = CounterMetricFamily(
            "agent_recovery_github_requests", "Requests sent to GitHub.", labels=["kind", "step"]
        )
        totals: dict[tuple[str, str], int] = {}
        for counted, number in meter.snapshot().counts.items():
            where = counted.kind, counted.step
            totals[where] = totals.get(where, 0) + number
        for labels, number in sorted(totals.items()):
            requests.add_metric(labels, number)
        remaining = GaugeMetricFamily(
            "agent_recovery_github_remaining", "What is left of GitHub's limit.", labels=["payer", "resource"]
        )
        for payer, limit in sorted(meter.limits().items()):
            remaining.add_metric(payer, limit.remaining)
        waiting = GaugeMetricFamily(
            "agent_recovery_pokes_waiting", "Keys that wait for a round: due now or within a minute."
        )
        waiting.add_metric([], self._pokes_waiting)
        writes = GaugeMetricFamily("agent_recovery_writes_on", "1 while writes to GitHub are allowed.")
        writes.add_metric([], int(self._parts.settings.writes))
        resume = GaugeMetricFamily("agent_recovery_resume_on", "1 while agents may be started.")
        resume.add_metric([], int(self._parts.settings.resume))
        held = GaugeMetricFamily(
            "agent_recovery_held_tickets", "Tickets that stopped at once with others and wait for a person."
        )
        held.add_metric([], self._held)
        return [requests, remaining, waiting, writes, resume, held]
