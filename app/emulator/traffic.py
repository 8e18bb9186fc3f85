"""What was asked: the log of all requests to the emulated GitHub."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from app.emulator.ids import node_id

_KEPT = 200_000


@dataclass
class Entry:
    """One request; ``status`` is 0 while it runs and -1 when the connection was cut. ``refs``: the refs it asks to
    move, each as ``old new name``.
    """

    n: int
    time: str
    method: str
    path: str
    kind: str
    operation: str | None
    operations: list[str]
    identity: str
    route: str
    refs: list[str]
    status: int = 0


class Traffic:
    """The request log and its totals."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.count = 0

    def open(self, **members: Any) -> Entry:
        """Begin an entry; the number tells the order of arrival."""
        self.count += 1
        entry = Entry(n=self.count, **members)
        self.entries.append(entry)
        if len(self.entries) > _KEPT:
            del self.entries[: _KEPT // 2]
        return entry

    def since(self, n: int) -> list[dict[str, Any]]:
        """All entries after number ``n``."""
        return [asdict(e) for e in self.entries if e.n > n]

    def totals(self) -> dict[str, Any]:
        """Counts by kind, identity and route."""
        return {
            "total": self.count,
            "kind": dict(Counter(e.kind for e in self.entries)),
            "identity": dict(Counter(e.identity for e in self.entries)),
            "route": dict(Counter(e.route for e in self.entries)),
            "status": dict(Counter(str(e.status) for e in self.entries)),
        }


def request_id(number: int) -> str:
    """A value for ``X-GitHub-Request-Id``."""
    return f"E{number:03X}:{node_id('Q', number)[-6:]}:{number * 7919 % 0xFFFFFF:06X}"
