"""Whether GitHub answers the App, asked once in a while for `/readyz`: one request as the App in five minutes."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

import structlog

from app.github.client import Installation
from app.github.errors import GitHubError

EVERY_S = 300.0
AFTER_FAILURE_S = 20.0
LATELY = timedelta(minutes=15)

_log = structlog.get_logger(__name__)


class InstallationsOf(Protocol):
    """Who can list the App's installations; `github.client.GitHub` does."""

    async def installations(self) -> Sequence[Installation]: ...


async def _nobody(answered: bool) -> None:
    """There is nobody to tell."""


@dataclass(frozen=True)
class Seen:
    """The last answer of GitHub to the App, and the last failure after it, if any."""

    at: datetime | None = None
    installations: int = 0
    suspended: int = 0
    failure: str | None = None


class GitHubWatch:
    """Asks for the installations, again and again until cancelled; `seen` is what it knows."""

    def __init__(
        self, github: InstallationsOf, clock: Callable[[], datetime], tell: Callable[[bool], Awaitable[None]] = _nobody
    ) -> None:
        """`tell` is told of every answer and of every failure."""
        self._github = github
        self._clock = clock
        self._tell = tell
        self.seen = Seen()

    @property
    def reachable(self) -> bool:
        """Whether GitHub answered within the last 15 minutes."""
        return self.seen.at is not None and self._clock() - self.seen.at <= LATELY

    async def run(self) -> None:
        while True:
            answered = await self.look()
            try:
                await self._tell(answered)
            except Exception as problem:
                # Of use to others, and no reason to watch no more.
                _log.warning("not_told", problem=type(problem).__name__)
            await asyncio.sleep(EVERY_S if answered else AFTER_FAILURE_S)

    async def look(self) -> bool:
        """Ask once; tells whether an answer came. Never raises a GitHubError."""
        try:
            installations = await self._github.installations()
        except GitHubError as problem:
            failure = f"{type(problem).__name__}: {problem}"
            _log.warning("github_unreachable", problem=failure)
            self.seen = Seen(self.seen.at, self.seen.installations, self.seen.suspended, failure)
            return False
        suspended = sum(installation.suspended for installation in installations)
        self.seen = Seen(self._clock(), len(installations), suspended)
        return True
