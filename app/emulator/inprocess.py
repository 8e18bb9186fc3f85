"""The emulated GitHub inside this process, without a socket: for simulations that ask it thousands of times.

    async with InProcess(folder) as github:
        dev = await github.control("POST", "/users", login="dev")
        await github.control("POST", "/repos", owner="dev", name="demo")
        async with github.client(dev["token"]) as client:
            await client.get("/repos/dev/demo")
        github.git("dev/demo").branch("main")

Everything is the same as behind a port, faults included; the repositories are real ones under ``folder``. Webhooks go
over the network, or through ``mounts``: transports of httpx by URL prefix, such as an ``httpx.ASGITransport`` for the
service under test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from app.emulator.acts.refs import move
from app.emulator.recording import Recorder
from app.emulator.repos import GitRepo, RefChange
from app.emulator.server import CONTROL, Server
from app.emulator.state import Actor, Repository

URL = "http://github.emulated"


class _Connection:
    """What a fault cuts."""

    cut = False

    def abort(self) -> None:
        self.cut = True


class Transport(httpx.AsyncBaseTransport):
    """Hands requests to a server in this process; a connection that is cut raises as it does on the network."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The server's answer. Raises ``httpx.RemoteProtocolError`` when the connection is cut."""
        connection = _Connection()
        body = await request.aread()
        status, headers, content = 0, [], b""

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            nonlocal status, headers, content
            if message["type"] == "http.response.start":
                status, headers = message["status"], message["headers"]
            else:
                content = message["body"]

        scope = {
            "type": "http",
            "method": request.method,
            "path": request.url.path,
            "raw_path": request.url.raw_path,
            "query_string": request.url.query,
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
            "state": {"transport": connection},
        }
        await self._server(scope, receive, send)
        if connection.cut:
            raise httpx.RemoteProtocolError("Server disconnected without sending a response.", request=request)
        # A stream, as from the network: whoever wants to reads it piece by piece.
        return httpx.Response(status, headers=headers, stream=httpx.ByteStream(content), request=request)


class InProcess:
    """One emulated GitHub, for as long as the block runs."""

    def __init__(self, folder: Path, mounts: Mapping[str, httpx.AsyncBaseTransport] | None = None) -> None:
        self.server = Server.at(folder)
        self.server.world.url = URL
        self.server.mounts = dict(mounts or {})
        self.server.recorder = Recorder.by_environment()
        self.transport = Transport(self.server)

    async def __aenter__(self) -> Self:
        self.server.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.server.stop()
        if self.server.recorder is not None:
            self.server.recorder.close()

    def client(self, token: str | None = None) -> httpx.AsyncClient:
        """A client of the REST and GraphQL APIs, with a token if one is given."""
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return httpx.AsyncClient(transport=self.transport, base_url=URL, headers=headers)

    async def control(self, method: str, path: str, **body: Any) -> Any:
        """A control call (``/users``, ``/faults`` …). Raises ``httpx.HTTPStatusError`` on refusal."""
        async with self.client() as client:
            answer = await client.request(method, CONTROL + path, json=body or None)
        answer.raise_for_status()
        return answer.json()

    def repository(self, full_name: str) -> Repository:
        """The repository's state. Raises ``KeyError``."""
        found = self.server.world.repo(*full_name.split("/", 1))
        if found is None:
            raise KeyError(full_name)
        return found

    def git(self, full_name: str) -> GitRepo:
        """The real repository, for reading and for writing objects. Raises ``KeyError``."""
        return self.repository(full_name).git

    def push(self, full_name: str, login: str, changes: Sequence[RefChange], *, force: bool = False) -> None:
        """Move refs as an atomic push of this person would: all or none, with everything that follows.

        Raises :class:`app.emulator.acts.refs.RefRefusal` and ``KeyError``.
        """
        account = self.server.world.account(login)
        if account is None:
            raise KeyError(login)
        repo = self.repository(full_name)
        move(self.server.world, repo, changes, Actor(account), force=[force] * len(changes))
