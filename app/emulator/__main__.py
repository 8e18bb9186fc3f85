"""``python -m app.emulator --data DIR`` for programs, ``agent-recovery emulator --state DIR`` for people."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from app.emulator.recording import VARIABLE, Recorder
from app.emulator.server import CONTROL, Server
from app.emulator.state_folder import StateRefused


class CuttableProtocol(H11Protocol):
    """Hands each request its transport, so that a fault can cut the connection without an answer."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.app_state = {**self.app_state, "transport": transport}


def listen(host: str, port: int, unix_socket: Path | None) -> list[socket.socket]:
    """The sockets to serve, the one of the address first. A file left by an earlier run gives way."""
    # The protocol is named because asyncio switches Nagle off only then; unnamed, each answer waits 40 ms.
    listeners = [socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)]
    listeners[0].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listeners[0].bind((host, port))
    if unix_socket is not None:
        unix_socket.unlink(missing_ok=True)
        listeners.append(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        listeners[-1].bind(str(unix_socket))
    for each in listeners:
        each.listen(512)
    return listeners


async def serve(app: Server, listeners: list[socket.socket], announce: Callable[[str], str]) -> None:
    """Print on stdout what ``announce`` makes of the address, and serve until told to stop.

    A unix socket is for clients that insist on a host of their own and on https, but can be told a socket to reach
    it by, as `gh` can.
    """
    host, port = listeners[0].getsockname()[:2]
    app.world.url = f"http://{host}:{port}"
    config = uvicorn.Config(
        app,
        http=CuttableProtocol,
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        # At the default of 5 s a client that asks again just then is cut off.
        timeout_keep_alive=75,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    print(announce(app.world.url), flush=True)
    await server.serve(sockets=listeners)


def for_programs(url: str) -> str:
    """The addresses as one JSON line."""
    return json.dumps({"url": url, "control": url + CONTROL})


def for_people(url: str) -> str:
    """The address and how to begin."""
    return f"""A GitHub on this machine listens at {url}

  people and repositories   curl {url}{CONTROL}/users -d '{{"login": "dev"}}'      answers a token
                            curl {url}{CONTROL}/repos -d '{{"owner": "dev", "name": "demo"}}'
  your GitHub App           curl {url}{CONTROL}/apps -d '{{"slug": "my-app", "permissions": {{"issues": "write"}},
                              "events": ["issues"], "webhook_url": "http://127.0.0.1:8000/", "webhook_secret": "s"}}'
                            curl {url}{CONTROL}/installations -d '{{"app": "my-app", "account": "dev"}}'
  REST, GraphQL, git        {url}/repos/dev/demo   {url}/graphql   {url}/dev/demo.git
  what happened             {url}{CONTROL}/ui

Everything else about it: docs/emulator.md. Ctrl-C stops it."""


def main() -> None:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(
        prog="agent-recovery emulator", description="Run a GitHub on this machine until SIGTERM or Ctrl-C."
    )
    kept = parser.add_mutually_exclusive_group(required=True)
    kept.add_argument("--state", type=Path, metavar="DIR", help="folder that keeps everything; made if it is missing")
    kept.add_argument("--data", type=Path, metavar="DIR", help="folder for the repositories of an empty GitHub")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 lets the system choose")
    parser.add_argument("--unix-socket", type=Path, help="listen there too (gh config set http_unix_socket PATH)")
    parser.add_argument(
        "--record",
        type=Path,
        default=os.environ.get(VARIABLE) or None,
        help=f"folder that keeps what is said, to be judged by GitHub's description (also {VARIABLE})",
    )
    given = parser.parse_args()
    # Ctrl-C ends it as SIGTERM does: after the server's own shutdown, and without a traceback at the terminal.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        app = Server.kept_in(given.state) if given.state else Server.at(given.data)
        listeners = listen(given.host, given.port, given.unix_socket)
    except StateRefused as refused:
        print(refused, file=sys.stderr)
        sys.exit(2)
    except (OSError, OverflowError) as error:
        print(f"The emulated GitHub cannot start: {error}", file=sys.stderr)
        print("next: choose another folder, --host or --port (0 lets the system choose)", file=sys.stderr)
        sys.exit(2)
    app.recorder = Recorder(given.record) if given.record is not None else None
    asyncio.run(serve(app, listeners, for_people if given.state else for_programs))


if __name__ == "__main__":
    main()
