"""A fresh emulator for every test, and a small world in it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from app.emulator.client import Emulator

sys.path.insert(0, str(Path(__file__).parent))  # for the world that the tests share

from emulated import ALL, EVENTS, SECRET, Inbox, World, rest


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    with Emulator.start(tmp_path_factory.mktemp("emulator")) as started:
        yield started


@pytest.fixture
def emulator(running: Emulator) -> Emulator:
    running.reset()
    return running


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    kept = Inbox()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            kept.received.append(({k.lower(): v for k, v in self.headers.items()}, body))
            self.send_response(kept.status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    kept.url = f"http://127.0.0.1:{server.server_address[1]}/hook"
    yield kept
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def world(emulator: Emulator) -> Iterator[World]:
    tokens = {name: emulator.user(name)["token"] for name in ("dev", "reader", "stranger")}
    emulator.org("octo")
    app = emulator.app("keeper", permissions=ALL, events=EVENTS, webhook_secret=SECRET)
    repo = emulator.repo(
        "octo",
        "demo",
        files={"README.md": "hello\n", ".github/agent-recovery.yml": "version: 1\n"},
        branches={"release-1": None, "42-x": {"a.txt": "1\n"}},
        collaborators={"dev": "write", "reader": "read"},
    )
    installation = emulator.installation("keeper", "octo")
    tokens["bot"] = emulator.installation_token(app, installation["id"])
    clients = {name: rest(emulator, token) for name, token in tokens.items()}
    yield World(
        emulator,
        repo,
        app,
        installation,
        clients["bot"],
        clients["dev"],
        clients["reader"],
        tokens,
    )
    for client in clients.values():
        client.close()
