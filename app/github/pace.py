"""How fast one payer (an installation, or the App itself) may be used.

Writes go one at a time; after a secondary limit they also keep a second's distance for a while. While a limit is in
force nothing is sent at all, because GitHub answers persistence with a ban. What people are told of (new Issues, pull
requests, comments, reviews) keeps below what GitHub takes in a minute and in an hour, so that this limit is never met;
where several processes write for one payer, they count together.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Protocol

from app.github.clock import GitHubClock
from app.github.errors import RateLimited

Sleep = Callable[[float], Awaitable[None]]

SPACING_S = 1.0
PRESSURE_S = 300.0
LONGEST_WAIT_S = 3600.0
CONTENT = ((60.0, 70), (3600.0, 450))
"""New content in so many seconds, at most. GitHub's own limits are 80 and 500, and other Apps' calls do not count."""
PATIENCE_S = 5.0
"""Room for new content that comes within this many seconds is waited for; a longer wait is the caller's to schedule."""

_CREATES = frozenset(
    f"POST /repos/{{owner}}/{{repo}}/{what}"
    for what in ("issues", "pulls", "issues/{number}/comments", "pulls/{number}/requested_reviewers")
)


class SharedContent(Protocol):
    """Where all processes that write for a payer count its new content together. Never raises: where they cannot be
    counted together, the answer is 0 and each keeps its own count.
    """

    async def take(self, payer: str, now: datetime) -> float:
        """Take a place and return 0, or take none and return the seconds until one may be free."""
        ...

    async def wait_s(self, payer: str, now: datetime) -> float:
        """Seconds until a place may be free; takes none."""
        ...


class Pace:
    """Keeps one payer inside GitHub's limits. `resource` is `core`, `graphql` or `git`."""

    def __init__(self, clock: GitHubClock, sleep: Sleep, payer: str = "", shared: SharedContent | None = None) -> None:
        self._payer = payer
        self._shared = shared
        self._clock = clock
        self._sleep = sleep
        self._writing = asyncio.Lock()
        self._closed: dict[str, tuple[float, RateLimited]] = {}
        self._pressed_until = 0.0
        self._last_write = float("-inf")
        self._unstated = 0
        self._content = [_Window(seconds, most) for seconds, most in CONTENT]

    async def content_wait_s(self) -> float:
        """Seconds until new content may be created; 0 where it may be now."""
        own = self._own_wait_s()
        return own if self._shared is None else max(own, await self._shared.wait_s(self._payer, self._clock.now()))

    async def room_for(self, route: str) -> None:
        """Take a place for new content, where the route makes any. Raises RateLimited, without sending anything, where
        none becomes free within a few seconds.
        """
        if route not in _CREATES:
            return
        await self._be_patient(self._own_wait_s(), route)
        if self._shared is not None:
            waited = 0.0
            while (wait := await self._shared.take(self._payer, self._clock.now())) > 0:
                # Others may take what becomes free: patience is for all the waits together.
                waited += wait
                await self._be_patient(wait if waited <= PATIENCE_S else max(wait, PATIENCE_S + 1), route)
        for window in self._content:
            window.note(self._clock.monotonic())

    def _own_wait_s(self) -> float:
        now = self._clock.monotonic()
        return max(window.wait_s(now) for window in self._content)

    async def _be_patient(self, wait: float, route: str) -> None:
        if wait > PATIENCE_S:
            message = "as much was written as GitHub takes of new content for now"
            raise RateLimited(message, wait_s=wait, now=self._clock.now(), secondary=True, stated=True, route=route)
        if wait > 0:
            await self._sleep(wait)

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


class _Window:
    """What happened in the last so many seconds."""

    def __init__(self, seconds: float, most: int) -> None:
        self._seconds = seconds
        self._most = most
        self._times: deque[float] = deque()

    def wait_s(self, now: float) -> float:
        """Seconds until there is room for one more."""
        while self._times and self._times[0] <= now - self._seconds:
            self._times.popleft()
        if len(self._times) < self._most:
            return 0.0
        return self._times[len(self._times) - self._most] + self._seconds - now

    def note(self, now: float) -> None:
        self._times.append(now)
