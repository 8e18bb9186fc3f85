"""The ASGI application: every request passes here, is logged, may be hit by a fault, and is answered once."""

from __future__ import annotations

import asyncio
import contextlib
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from typing import Any

import httpx

from app.emulator import (
    actions_controls,
    api_versions,
    check_controls,
    delivery_controls,
    fault_controls,
    identity_controls,
    limit_controls,
    oidc,
    project_controls,
    ref_transactions,
    smart_http,
    team_controls,
)
from app.emulator.acts.checks import mark_stale
from app.emulator.acts.readiness import look_at_all
from app.emulator.acts.workflow_runs import take_up
from app.emulator.auth import identify, permission_headers
from app.emulator.contributions import check_contribution
from app.emulator.control import control
from app.emulator.disturb import Disturber
from app.emulator.errors import ApiError, not_found
from app.emulator.graphql.costs import Measured
from app.emulator.graphql.execute import GraphQL
from app.emulator.keeping import Keeper
from app.emulator.moved import by_name, redirection
from app.emulator.rationing import (
    UNCOUNTED,
    bucket_of,
    creates_content,
    last_modified,
    primary_refusal,
    secondary_refusal,
    unchanged,
    writes,
)
from app.emulator.recording import Recorder
from app.emulator.ref_commands import ref_commands
from app.emulator.rest import routes
from app.emulator.routing import Request, Response, parse_query, split_path
from app.emulator.traffic import Entry, Traffic, request_id
from app.emulator.validators import etag
from app.emulator.view import pages
from app.emulator.world import World

CONTROL = "/_emulator"
_DAY_S = 86_400
# Importing these modules adds their calls to the control path.
CONTROL_MODULES = (
    actions_controls,
    check_controls,
    delivery_controls,
    fault_controls,
    identity_controls,
    limit_controls,
    project_controls,
    team_controls,
    pages,
)

Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]


@dataclass
class Server:
    """One emulated GitHub behind one port."""

    world: World
    traffic: Traffic = field(default_factory=Traffic)
    graphql: GraphQL = field(default_factory=GraphQL)
    recorder: Recorder | None = None
    keeper: Keeper | None = None
    # Where webhooks go that do not leave this process, by URL prefix.
    mounts: dict[str, httpx.AsyncBaseTransport] = field(default_factory=dict)

    _sender: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        self.disturber = Disturber(self)
        self.world.deliveries.faults = self.disturber.faults

    @classmethod
    def at(cls, data_dir: Path) -> Server:
        """A new, empty GitHub whose repositories lie under ``data_dir``."""
        return cls(World(data_dir))

    @classmethod
    def kept_in(cls, folder: Path) -> Server:
        """The GitHub whose state is kept in the folder. Raises :class:`app.emulator.state_folder.StateRefused`."""
        keeper = Keeper(folder)
        return cls(keeper.load(), keeper=keeper)

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """The ASGI entry."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        request = await self._read(scope, receive)
        if request.path.startswith(CONTROL):
            response: Response | None = await control(self, request)
        else:
            response = await self._serve(request)
        if self.recorder is not None:
            self.recorder.events(reversed(self.world.deliveries.log))
        if self.keeper is not None:
            self._keep(self.keeper, request)
        if response is None:
            scope["state"]["transport"].abort()
            return
        body = b"" if request.method == "HEAD" or response.status in (204, 304) else response.body
        headers = response.headers | {"date": formatdate(self.world.clock.now(), usegmt=True)}
        if response.status not in (204, 304):
            headers["content-length"] = str(len(response.body))
        await send(
            {
                "type": "http.response.start",
                "status": response.status,
                "headers": [(k.encode(), v.encode("latin-1", "replace")) for k, v in headers.items()],
            }
        )
        await send({"type": "http.response.body", "body": body})

    async def reset(self) -> None:
        """Forget everything: an empty GitHub under the same address."""
        await self._stop_sending()
        await self.world.processes.stop_all()
        self.world.background.drop()
        data_dir, url = self.world.data_dir, self.world.url
        if self.keeper is not None:
            self.keeper.forget()
        self.world = World(data_dir)
        self.world.url = url
        if self.keeper is not None:
            self.keeper.keep(self.world)
        self.traffic = Traffic()
        if self.recorder is not None:
            self.recorder.forget()
        self.disturber.release()
        self.disturber = Disturber(self)
        self.world.deliveries.faults = self.disturber.faults
        self.start()

    def start(self) -> None:
        """Begin to send webhooks and take up what a kept world left waiting; needs a running event loop."""
        if self.keeper is not None:
            self.world.deliveries.settled = self.keeper.soon
        self.world.deliveries.mounts = self.mounts
        self._sender = asyncio.create_task(self.world.deliveries.run())
        take_up(self.world)
        look_at_all(self.world)
        self.world.background.run_all()

    async def stop(self) -> None:
        """End everything that runs beside the requests, and write what is to be kept."""
        await self._stop_sending()
        await self.world.processes.stop_all()
        ref_transactions.end_all()
        if self.keeper is not None:
            self.keeper.close()

    async def _stop_sending(self) -> None:
        if self._sender is not None:
            self._sender.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._sender

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        self.start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.stop()
        await send({"type": "lifespan.shutdown.complete"})

    def _keep(self, keeper: Keeper, request: Request) -> None:
        """What an answer tells of is written before it leaves; what it does not tell of, soon."""
        if request.method not in ("GET", "HEAD"):
            keeper.write()
        keeper.soon()

    async def _read(self, scope: dict[str, Any], receive: Receive) -> Request:
        chunks = []
        while True:
            message = await receive()
            chunks.append(message.get("body", b""))
            if not message.get("more_body"):
                break
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
        raw_path: str = scope.get("raw_path", scope["path"].encode()).decode("latin-1").partition("?")[0]
        prefix = "/api/v3" if raw_path.startswith("/api/v3/") or raw_path == "/api/v3" else ""
        path = raw_path.removeprefix(prefix) or "/"
        return Request(
            method=scope["method"],
            path="/graphql" if path == "/api/graphql" else path,
            segments=by_name(self.world, split_path(path)),
            query=parse_query(scope["query_string"].decode("latin-1")),
            query_string=scope["query_string"].decode("latin-1"),
            headers=headers,
            raw=b"".join(chunks),
            world=self.world,
            identity=identify(self.world, headers.get("authorization")),
            prefix=prefix,
            believed_host=headers.get("host", "") if _by_unix_socket(scope) else "",
        )

    async def _serve(self, request: Request) -> Response | None:
        """The answer, or None when the connection is to be cut."""
        kind = kind_of(request)
        self._grow_old()
        operations = self.graphql.operations(request.raw) if kind == "graphql" else []
        found = routes.find(request.method, request.segments) if kind in ("rest", "token") else None
        entry = self.traffic.open(
            time=self.world.clock.stamp(),
            method=request.method,
            path=request.path,
            kind=kind,
            operation=operations[0] if operations else None,
            operations=operations,
            identity=request.identity.label,
            route=f"{request.method} {found[0].pattern}" if found else f"{request.method} {kind}",
            refs=ref_commands(request, kind, operations),
        )
        with self.world.secondary.under_way(request.identity.key):
            response = await self.disturber.serve(request, entry)
        await self.disturber.run_deferred()
        self.world.background.request_done()
        return response

    def _grow_old(self) -> None:
        """What GitHub itself does as days go by, looked after once a day of the emulated clock."""
        now = self.world.clock.now()
        if abs(now - self.world.looked_for_stale) > _DAY_S:
            self.world.looked_for_stale = now
            mark_stale(self.world)

    async def answer(self, request: Request, entry: Entry) -> Response:
        """Execute a request as GitHub would, without faults. A fault of our own is a 500, told on stderr."""
        try:
            response = await self._answer(request, entry)
        except Exception:
            traceback.print_exc()
            response = Response.json({"message": "Server Error"}, 500)
        if self.recorder is not None and entry.kind in ("rest", "token"):
            self.recorder.exchange(entry.route, request, response)
        return response

    async def _answer(self, request: Request, entry: Entry) -> Response:
        if entry.kind == "git":
            return await smart_http.serve(request)
        if entry.kind == "oidc":
            return self._token_service(request)
        bucket, key = bucket_of(entry.kind), request.identity.key
        measured = self.graphql.measure(request) if entry.kind == "graphql" else Measured()
        request.cost, request.nodes = measured.cost, measured.nodes
        response = self._limited(request, entry, bucket, measured)
        same = request.method in ("GET", "HEAD") and response.status == 200 and unchanged(request, response)
        # Only who says who he is asks for nothing when nothing has changed.
        free = (same and request.identity.token is not None) or request.path in UNCOUNTED
        if not free:
            self.world.rates.spend(key, bucket, measured.cost)
        response.headers |= self.world.rates.headers(key, bucket)
        response.headers["x-github-request-id"] = request_id(entry.n)
        response.headers["x-github-media-type"] = "github.v3; format=json"
        response.headers |= permission_headers(request)
        return Response(304, b"", response.headers) if same else response

    def _token_service(self, request: Request) -> Response:
        """On GitHub a host of its own, that knows no rate limit of the API."""
        try:
            return oidc.serve(request)
        except ApiError as error:
            return Response.json(error.body(), error.status)

    def _limited(self, request: Request, entry: Entry, bucket: str, measured: Measured) -> Response:
        identity, kind, rates = request.identity, entry.kind, self.world.rates
        if request.path not in UNCOUNTED:
            if rates.exhausted(identity.key, bucket):
                return primary_refusal(identity, kind, rates.status)
            refused = self.world.secondary.take(
                identity.key,
                bucket,
                writes=writes(request, kind, measured.mutates),
                creates=creates_content(request, kind, entry.operations),
            )
            if refused is not None:
                return secondary_refusal(refused, rates.status)
        try:
            return self._dispatch(request, kind, measured)
        except ApiError as error:
            return Response.json(error.body(), error.status)

    def _dispatch(self, request: Request, kind: str, measured: Measured) -> Response:
        identity = request.identity
        if identity.refusal is not None:
            raise identity.refusal
        if kind == "graphql":
            return self.graphql.serve(request, measured)
        version = api_versions.asked_for(request)
        elsewhere = redirection(request)
        if elsewhere is not None:
            return elsewhere
        method = "GET" if request.method == "HEAD" else request.method
        found = routes.find(method, request.segments)
        if found is None:
            raise ApiError(501, f"The emulator does not serve {request.method} {request.path} yet")
        bare_app = identity.app is not None and identity.installation is None
        if bare_app and not _for_bare_app(found[0].pattern):
            raise not_found() if request.method == "GET" else ApiError(401, "A JSON web token could not be decoded")
        check_contribution(request, found[0])
        response = api_versions.as_of(version, request, found[0].handler(request, **found[1]))
        response.headers["x-github-api-version-selected"] = version
        if method == "GET" and response.status == 200 and request.path not in UNCOUNTED:
            response.headers |= {"etag": etag(identity.key, response.body)} | last_modified(response)
        return response

    def dispatched(self, request: Request, kind: str) -> Response:
        """The answer to a read, without what it costs or counts; a refusal is an answer too."""
        measured = self.graphql.measure(request) if kind == "graphql" else Measured()
        try:
            return self._dispatch(request, kind, measured)
        except ApiError as error:
            return Response.json(error.body(), error.status)


def _by_unix_socket(scope: dict[str, Any]) -> bool:
    """A unix socket has no port (the ASGI specification, `server`)."""
    server = scope.get("server")
    return server is not None and server[1] is None


def kind_of(request: Request) -> str:
    """``git``, ``graphql``, ``token`` (the minting of tokens), ``oidc`` or ``rest``."""
    if smart_http.match(request.path):
        return "git"
    if request.path == "/graphql":
        return "graphql"
    if oidc.serves(request.path):
        return "oidc"
    if request.path.endswith("/access_tokens") or request.path == "/installation/token":
        return "token"
    return "rest"


def _for_bare_app(pattern: str) -> bool:
    return pattern.startswith(("/app", "/apps/", "/meta", "/rate_limit")) or pattern.endswith("/installation")
