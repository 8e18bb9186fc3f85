"""A real HTTP server that does what it is asked, counts it, and drops the answer: the worst partner of an effect."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CALL = """\
import os, sys, urllib.request
request = urllib.request.Request(sys.argv[1], data=b"go", method="POST")
request.add_header("Idempotency-Key", os.environ["AGENT_RECOVERY_EFFECT_KEY"])
answer = urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30).read().decode()
with open(os.environ["AGENT_RECOVERY_EFFECT_RESULT"], "w") as result:
    result.write(answer)
"""
"""What an agent runs: one POST, and what the other side called it into the file for that."""


class Target:
    """`done`: the idempotency keys of the calls that were carried out. `answers`: whether the caller hears of it.
    `hold`: while it is cleared, a call is carried out and then waits.
    """

    def __init__(self, act: Callable[[], None]) -> None:
        self.done: list[str] = []
        self.answers = False
        self.hold = threading.Event()
        self.hold.set()
        self.began = threading.Event()
        self.url = ""
        self._act = act

    def carry_out(self, key: str) -> None:
        self._act()
        self.done.append(key)
        self.began.set()
        self.hold.wait(30)


@contextmanager
def served(target: Target) -> Iterator[Target]:
    """The target on a port of its own, until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            target.carry_out(self.headers["idempotency-key"])
            if not target.answers:
                self.close_connection = True
                self.connection.close()
                return
            self.send_response(200)
            self.send_header("content-length", "7")
            self.end_headers()
            self.wfile.write(b"order-1")

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    target.url = f"http://127.0.0.1:{server.server_address[1]}/deploy"
    try:
        yield target
    finally:
        target.hold.set()
        server.shutdown()
        thread.join()
        server.server_close()


def script(folder: Path) -> Path:
    """The program that calls the target."""
    path = folder / "call.py"
    path.write_text(CALL, "utf-8")
    return path
