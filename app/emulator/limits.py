"""Rate limits: the hourly budget of each identity, and the secondary limits on behaviour.

Sources: docs.github.com, "Rate limits for the REST API", "Rate limits and query limits for the GraphQL API"; the
wording of refusals as clients report it. Every window reads the emulated clock.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from app.emulator.clock import Clock
from app.emulator.state import Installation, Repository

WINDOW_S = 3600
DEFAULT_LIMIT = 5000
ANONYMOUS_LIMIT = 60
ACTIONS_LIMIT = 1000
LARGEST_LIMIT = 12_500
_FREE_REPOSITORIES = 20
_PER_REPOSITORY = 50
_MINUTE_S = 60

SECONDARY_WORDS = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
CONTENT_WORDS = (
    "You have exceeded a secondary rate limit and have been temporarily blocked from content creation. "
    "Please retry your request again later."
)


def hourly_limit(key: str, installations: dict[int, Installation], repos: dict[int, Repository]) -> int:
    """Requests an hour of an identity key: 60 for nobody, 1,000 a repository for Actions, 5,000 for a person or an App;
    an installation gets 50 more for each repository beyond 20, up to 12,500.
    """
    kind, _, number = key.partition(":")
    if kind == "anonymous":
        return ANONYMOUS_LIMIT
    if kind == "actions":
        return ACTIONS_LIMIT
    installation = installations.get(int(number)) if kind == "installation" else None
    if installation is None or len(repos) <= _FREE_REPOSITORIES:
        return DEFAULT_LIMIT
    covered = sum(1 for repo in repos.values() if installation.covers(repo))
    return min(LARGEST_LIMIT, DEFAULT_LIMIT + _PER_REPOSITORY * max(0, covered - _FREE_REPOSITORIES))


@dataclass
class Window:
    """A rate window of one identity and bucket."""

    used: int
    reset: int


@dataclass(frozen=True)
class Refused:
    """A secondary limit was hit: what GitHub says, and after how many seconds to come back."""

    words: str
    retry_after_s: int


class RateLimits:
    """Primary rate limits, one window an hour per identity and bucket ("core", "graphql")."""

    def __init__(self, clock: Clock, hourly: Callable[[str], int] = lambda key: DEFAULT_LIMIT) -> None:
        self._clock = clock
        self._hourly = hourly
        self._windows: dict[tuple[str, str], Window] = {}
        self.limits: dict[str, int] = {}
        # GitHub answers 403 or 429; clients must understand both.
        self.status = 403

    def window(self, key: str, bucket: str) -> Window:
        """The present window; a new one when the old has passed."""
        now = int(self._clock.now())
        window = self._windows.get((key, bucket))
        if window is None or window.reset <= now or window.reset > now + 2 * WINDOW_S:
            window = self._windows[key, bucket] = Window(0, now + WINDOW_S)
        return window

    def limit(self, key: str) -> int:
        """Requests (or GraphQL points) an hour."""
        known = self.limits.get(key)
        return known if known is not None else self._hourly(key)

    def exhausted(self, key: str, bucket: str) -> bool:
        """Is nothing left in the window?"""
        return self.window(key, bucket).used >= self.limit(key)

    def spend(self, key: str, bucket: str, points: int = 1) -> None:
        """Count a request, or the points of a GraphQL document."""
        self.window(key, bucket).used += points

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


@dataclass
class Behaviour:
    """What one identity did of late: moments with points per API, moments of creating content."""

    points: dict[str, deque[tuple[float, int]]] = field(default_factory=dict)
    created: deque[float] = field(default_factory=deque)


GITHUBS_POINTS = {"core": 900, "graphql": 2000}


class SecondaryLimits:
    """Limits on behaviour: requests at once, points a minute, content created a minute and an hour.

    Points are not counted until a test asks for it: whoever lets days pass in seconds would meet that limit for having
    a fast clock, not for his behaviour. The others hold from the start.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._by_key: dict[str, Behaviour] = {}
        self._under_way: dict[str, int] = {}
        self.on = True
        self.concurrent = 100
        self.points: dict[str, int] = {}
        self.content_a_minute = 80
        self.content_an_hour = 500

    @contextmanager
    def under_way(self, key: str) -> Iterator[None]:
        """A request of the identity is under way until the end of the block."""
        self._under_way[key] = self._under_way.get(key, 0) + 1
        try:
            yield
        finally:
            self._under_way[key] -= 1

    def __getstate__(self) -> dict[str, Any]:
        # A request ends with the process that serves it.
        return vars(self) | {"_under_way": {}}

    def take(self, key: str, bucket: str, *, writes: bool, creates: bool) -> Refused | None:
        """Count a request, or say why it is refused; a refused one is not counted.

        A read is one point and a write five (docs, "Calculating points for the secondary rate limit").
        """
        if not self.on:
            return None
        if self._under_way.get(key, 0) > self.concurrent:
            return Refused(SECONDARY_WORDS, _MINUTE_S)
        now, behaviour = self._clock.now(), self._by_key.setdefault(key, Behaviour())
        refused = self._points(now, behaviour, bucket, 5 if writes else 1)
        if refused is None and creates:
            refused = self._content(now, behaviour)
        if refused is None:
            self._count(now, behaviour, bucket, 5 if writes else 1, creates)
        return refused

    def _points(self, now: float, behaviour: Behaviour, bucket: str, points: int) -> Refused | None:
        limit = self.points.get(bucket)
        if limit is None:
            return None
        spent = behaviour.points.setdefault(bucket, deque())
        while spent and not now - _MINUTE_S < spent[0][0] <= now:
            spent.popleft()
        if sum(p for _, p in spent) + points > limit:
            return Refused(SECONDARY_WORDS, _until(now, spent[0][0] + _MINUTE_S) if spent else _MINUTE_S)
        return None

    def _count(self, now: float, behaviour: Behaviour, bucket: str, points: int, creates: bool) -> None:
        if bucket in self.points:
            behaviour.points[bucket].append((now, points))
        if creates:
            behaviour.created.append(now)

    def _content(self, now: float, behaviour: Behaviour) -> Refused | None:
        made = behaviour.created
        while made and not now - WINDOW_S < made[0] <= now:
            made.popleft()
        lately = [moment for moment in made if moment > now - _MINUTE_S]
        if len(made) >= self.content_an_hour:
            return Refused(CONTENT_WORDS, _until(now, made[0] + WINDOW_S))
        if len(lately) >= self.content_a_minute:
            return Refused(CONTENT_WORDS, _until(now, lately[0] + _MINUTE_S))
        return None


def _until(now: float, moment: float) -> int:
    return max(1, math.ceil(moment - now))
