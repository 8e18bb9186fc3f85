"""What the service says of itself: alive, ready, its public keys, its numbers. Nothing here is secret."""

import base64

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from pydantic import BaseModel, Field

from app import __version__
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
        not_running=list(running.ailing),
        version=__version__,
        boot_id=parts.boot_id,
    )
    return JSONResponse(readiness.model_dump(), status_code=200 if readiness.ready else 503)


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
    registry.register(_Numbers(parts, await parts.pokes_waiting()))
    return Response(generate_latest(registry), media_type="text/plain; version=0.0.4; charset=utf-8")


class _Numbers:
    """One reading of the service's numbers, in the form prometheus-client collects."""

    def __init__(self, parts: Parts, pokes_waiting: int) -> None:
        self._parts = parts
        self._pokes_waiting = pokes_waiting

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
        return [requests, remaining, waiting, writes]
