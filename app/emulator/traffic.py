"""What was asked: the log of all requests to the emulated GitHub, and the rate windows."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from app.emulator.clock import Clock
from app.emulator.ids import node_id

WINDOW_S = 3600
DEFAULT_LIMIT = 5000
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


@dataclass
class Window:
    """A rate window of one identity and bucket."""

    used: int
    reset: int


class RateLimits:
    """Primary rate limits, one window an hour per identity and bucket ("core", "graphql")."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._windows: dict[tuple[str, str], Window] = {}
        self.limits: dict[str, int] = {}

    def window(self, key: str, bucket: str) -> Window:
        """The present window; a new one when the old has passed."""
        now = int(self._clock.now())
        window = self._windows.get((key, bucket))
        if window is None or window.reset <= now or window.reset > now + 2 * WINDOW_S:
            window = self._windows[key, bucket] = Window(0, now + WINDOW_S)
        return window

    def limit(self, key: str) -> int:
        """Requests an hour."""
        return self.limits.get(key, DEFAULT_LIMIT)

    def exhausted(self, key: str, bucket: str) -> bool:
        """Is nothing left in the window?"""
        return self.window(key, bucket).used >= self.limit(key)

    def spend(self, key: str, bucket: str) -> None:
        """Count one request."""
        self.window(key, bucket).used += 1

    def shown(self, key: str, bucket: str) -> dict[str, int]:
        """The window as ``GET /rate_limit`` shows it."""
        window, limit = self.window(key, bucket), self.limit(key)
        return {
            "limit": limit,
            "used": min(window.used, limit),
            "remaining": max(0, limit - window.used),
            "reset": window.reset,
        }

    def headers(self, key: str, bucket: str) -> dict[str, str]:
        """The window as headers."""
        shown = self.shown(key, bucket)
        return {f"x-ratelimit-{k}": str(v) for k, v in shown.items()} | {"x-ratelimit-resource": bucket}


def request_id(number: int) -> str:
    """A value for ``X-GitHub-Request-Id``."""
    return f"E{number:03X}:{node_id('Q', number)[-6:]}:{number * 7919 % 0xFFFFFF:06X}"
