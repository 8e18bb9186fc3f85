"""What the emulated GitHub said, kept for somebody who judges it by GitHub's own description.

Off unless ``--record FOLDER`` or the environment variable names a folder; then each process writes a file of its own
there, one JSON object a line, before the answer leaves: an exchange of the REST API (``operation``, ``version``,
``status``, ``media``, ``request``, ``response``) or an event (``event``, ``action``, ``payload``). Members are kept as
they went over the wire; what is no JSON is null. Faults ordered by a test are not GitHub's words and are not kept.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from app.emulator.routing import Request, Response
from app.emulator.webhooks import Delivery

VARIABLE = "EMULATOR_RECORD"


class Recorder:
    """The file of one process."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = os.open(folder / f"{os.getpid()}.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._last_delivery = 0

    @classmethod
    def by_environment(cls) -> Self | None:
        """A recorder if the environment names a folder."""
        folder = os.environ.get(VARIABLE)
        return cls(Path(folder)) if folder else None

    def close(self) -> None:
        """Keep nothing more."""
        os.close(self._file)

    def exchange(self, operation: str, request: Request, response: Response) -> None:
        """Keep a REST request and its answer."""
        media = response.headers.get("content-type", "")
        head = {
            "operation": operation,
            "version": request.headers.get("x-github-api-version"),
            "status": response.status,
            "media": media.partition(";")[0],
        }
        answer = response.body if "json" in media else b""
        self._write(head, request=_as_json(request.raw), response=answer)

    def events(self, log: Iterable[Delivery]) -> None:
        """Keep the deliveries of a log, newest first, that have not been kept yet; the log only grows."""
        fresh = []
        for delivery in log:
            if delivery.id <= self._last_delivery:
                break
            fresh.append(delivery)
        for delivery in reversed(fresh):
            self._last_delivery = delivery.id
            self._write({"event": delivery.event, "action": delivery.action}, payload=delivery.body)

    def forget(self) -> None:
        """Begin with an empty log of deliveries, whose numbers start anew."""
        self._last_delivery = 0

    def _write(self, head: dict[str, Any], **members: bytes) -> None:
        # The bodies are JSON already: one line is put together from them without parsing.
        parts = [json.dumps(head, separators=(",", ":"))[1:-1].encode()]
        parts += [b'"%s":%s' % (name.encode(), body or b"null") for name, body in members.items()]
        os.write(self._file, b"{" + b",".join(parts) + b"}\n")


def _as_json(raw: bytes) -> bytes:
    """A request's body on one line; empty when it is no JSON."""
    try:
        return json.dumps(json.loads(raw), separators=(",", ":")).encode() if raw.strip() else b""
    except ValueError:
        return b""
