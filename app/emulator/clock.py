"""The emulated clock: every timestamp, expiry and rate window of the emulator is read from here."""

from __future__ import annotations

import time
from datetime import UTC, datetime

LATEST = datetime(9000, 1, 1, tzinfo=UTC).timestamp()


class Clock:
    """Real time plus an offset that the control path moves; it stands still only while it is frozen."""

    def __init__(self) -> None:
        self._offset = 0.0
        self._standing: float | None = None

    @property
    def frozen(self) -> bool:
        """Does it stand still?"""
        return self._standing is not None

    def now(self) -> float:
        """Seconds since the epoch by the emulated clock."""
        return self._standing if self._standing is not None else time.time() + self._offset

    def stamp(self) -> str:
        """The present as GitHub writes it: UTC, whole seconds, ending in Z."""
        return to_stamp(self.now())

    def advance(self, seconds: float) -> None:
        """Move the clock by ``seconds``; negative values move it back."""
        self.set(self.now() + seconds)

    def set(self, epoch: float) -> None:
        """Make ``epoch`` (seconds) the present; time goes on from there unless it is frozen.

        Raises ``ValueError`` for a time that no time stamp can hold, with room for what is yet to expire.
        """
        if not 0 <= epoch <= LATEST:
            raise ValueError("the clock shows times between 1970 and 9000")
        self._offset = epoch - time.time()
        if self._standing is not None:
            self._standing = epoch

    def freeze(self) -> None:
        """Stand still at the present until :meth:`run`."""
        self._standing = self.now()

    def run(self) -> None:
        """Go on from where it stood."""
        now, self._standing = self.now(), None
        self.set(now)


def to_stamp(epoch: float) -> str:
    """Seconds since the epoch as ``2026-11-30T04:00:00Z``."""
    return datetime.fromtimestamp(int(epoch), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def from_stamp(text: str) -> float:
    """The inverse of :func:`to_stamp`; accepts any ISO 8601 time with a zone. Raises ``ValueError``."""
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    if moment.tzinfo is None:
        raise ValueError(f"no time zone in {text!r}")
    return moment.timestamp()
