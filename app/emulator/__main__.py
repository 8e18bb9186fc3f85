"""``python -m app.emulator --data DIR --port 0``: run until SIGTERM or Ctrl-C."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from app.emulator.recording import VARIABLE, Recorder
from app.emulator.server import CONTROL, Server


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


async def serve(
    data_dir: Path, host: str, port: int, unix_socket: Path | None = None, record: Path | None = None
) -> None:
    """Listen, print the addresses as one JSON line on stdout, serve until told to stop.

    A unix socket is for clients that insist on a host of their own and on https, but can be told a socket to reach
    it by, as `gh` can.
    """
    listeners = listen(host, port, unix_socket)
    app = Server.at(data_dir)
    app.recorder = Recorder(record) if record is not None else None
    app.world.url = f"http://{host}:{listeners[0].getsockname()[1]}"
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
    print(json.dumps({"url": app.world.url, "control": app.world.url + CONTROL}), flush=True)
    await server.serve(sockets=listeners)


def main() -> None:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(prog="python -m app.emulator", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder for the bare repositories")
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
    asyncio.run(serve(given.data, given.host, given.port, given.unix_socket, given.record))


if __name__ == "__main__":
    main()
