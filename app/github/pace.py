"""How fast one payer (an installation, or the App itself) may be used.

Writes go one at a time; after a secondary limit they also keep a second's distance for a while. While a limit is in
force nothing is sent at all, because GitHub answers persistence with a ban.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from app.github.clock import GitHubClock
from app.github.errors import RateLimited

Sleep = Callable[[float], Awaitable[None]]

SPACING_S = 1.0
PRESSURE_S = 300.0
LONGEST_WAIT_S = 3600.0


class Pace:
    """Keeps one payer inside GitHub's limits. `resource` is `core`, `graphql` or `git`."""

    def __init__(self, clock: GitHubClock, sleep: Sleep) -> None:
        self._clock = clock
        self._sleep = sleep
        self._writing = asyncio.Lock()
        self._closed: dict[str, tuple[float, RateLimited]] = {}
        self._pressed_until = 0.0
        self._last_write = float("-inf")
        self._unstated = 0

    def admit(self, resource: str) -> None:
        """Raises the RateLimited that is still in force, without sending anything."""
        now = self._clock.monotonic()
        for name in (resource, "*"):
            until, limit = self._closed.get(name, (0.0, None))
            if limit is not None and now < until:
                raise RateLimited(
                    limit.message,
                    wait_s=until - now,
                    now=self._clock.now(),
                    secondary=limit.secondary,
                    stated=limit.stated,
                    status=limit.status,
                    route=limit.route,
                )

    def limited(self, resource: str, limit: RateLimited) -> None:
        """GitHub said no: close until it says we may; a limit that names no time waits twice as long each time."""
        now = self._clock.monotonic()
        if limit.secondary:
            self._pressed_until = now + PRESSURE_S
        if not limit.stated:
            limit.wait_s = min(limit.wait_s * 2**self._unstated, LONGEST_WAIT_S)
            self._unstated = min(self._unstated + 1, 16)
        self._closed["*" if limit.secondary else resource] = (now + limit.wait_s, limit)

    def went_well(self, *, writing: bool) -> None:
        """An answer came that was no limit. Only a write proves that writes are welcome again."""
        if writing:
            self._unstated = 0

    @asynccontextmanager
    async def write(self) -> AsyncIterator[None]:
        """The turn to write."""
        async with self._writing:
            now = self._clock.monotonic()
            wait = self._last_write + SPACING_S - now
            if now < self._pressed_until and wait > 0:
                await self._sleep(wait)
            try:
                yield
            finally:
                self._last_write = self._clock.monotonic()
