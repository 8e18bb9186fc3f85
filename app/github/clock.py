"""GitHub's own clock, told from its answers.

Every deadline that decides something (token expiry, lease times, rate limits) is compared with GitHub's time and not
with this machine's, so a replica whose clock is minutes off behaves like the others. Between two answers the local
monotonic clock carries the time on, which no one can set.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime


class GitHubClock:
    """The time at GitHub, in UTC. Before the first answer it is the system's time."""

    def __init__(
        self,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        system: Callable[[], float] = time.time,
    ) -> None:
        self.monotonic = monotonic
        self._offset = system() - monotonic()

    def now(self) -> datetime:
        return datetime.fromtimestamp(self._offset + self.monotonic(), UTC)

    def learn(self, date_header: str | None, *, elapsed_s: float = 0.0) -> datetime | None:
        """Correct the clock by the `Date` header of an answer that took `elapsed_s` seconds; returns that date.

        The header has whole seconds and was written at some point of the exchange, so the true time now lies between
        it and one second plus `elapsed_s` later. A time outside is moved to the nearer end and not further: a slow
        answer never drags the clock back. An absent or malformed header changes nothing and returns None.
        """
        date = http_date(date_header)
        if date is None:
            return None
        now = self.now()
        earliest, latest = date, date + timedelta(seconds=1 + max(elapsed_s, 0.0))
        right = min(max(now, earliest), latest)
        self._offset += (right - now).total_seconds()
        return date


def http_date(text: str | None) -> datetime | None:
    """A `Date` header as a moment in UTC; None where it is absent or malformed."""
    if not text:
        return None
    try:
        date = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        return None
    return date.replace(tzinfo=UTC) if date.tzinfo is None else date.astimezone(UTC)
