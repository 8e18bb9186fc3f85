"""A door in front of the service: passes every call on and notes what GitHub had served when it arrived and left.

"Requests to GitHub that a recovery took" starts with the claim's arrival, which nobody but the service's own door can
see. It also gives agents one URL that stays while the service behind it dies and comes back.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

_PASSED_ON = ("authorization", "content-type", "accept", "user-agent")


@dataclass(frozen=True)
class Passage:
    """One call of an agent: GitHub's request counter when it came and when it was answered."""

    method: str
    path: str
    status: int
    before: int
    after: int


class Door:
    """Listens on the loopback, on a port that the system chooses; `counter` tells how much GitHub has served."""

    def __init__(self, service_url: str, counter: Callable[[], int]) -> None:
        self.service_url = service_url
        self.passages: list[Passage] = []
        door = self
        client = httpx.Client(timeout=60, trust_env=False)

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _pass_on(self) -> None:
                before = counter()
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                headers = {k: v for k, v in self.headers.items() if k.lower() in _PASSED_ON}
                try:
                    answer = client.request(self.command, door.service_url + self.path, content=body, headers=headers)
                except httpx.HTTPError:
                    # The service is away: the caller sees a connection that breaks, as it would without a door.
                    self.close_connection = True
                    return
                door.passages.append(Passage(self.command, self.path, answer.status_code, before, counter()))
                self.send_response(answer.status_code)
                self.send_header("content-type", answer.headers.get("content-type", "application/json"))
                self.send_header("content-length", str(len(answer.content)))
                self.end_headers()
                self.wfile.write(answer.content)

            do_GET = do_POST = _pass_on

            def log_message(self, format: str, *args: object) -> None:
                """The story's own lines are the log."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, name="door", daemon=True)
        self._thread.start()

    def last(self, ending: str) -> Passage | None:
        """The latest answered call whose path ends so."""
        return next((p for p in reversed(self.passages) if p.path.endswith(ending) and p.status < 300), None)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
