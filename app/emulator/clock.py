"""The emulated clock: every timestamp, expiry and rate window of the emulator is read from here."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class Clock:
    """Real time plus an offset that the control path moves; it never stands still."""

    def __init__(self) -> None:
        self._offset = 0.0

    def now(self) -> float:
        """Seconds since the epoch by the emulated clock."""
        return time.time() + self._offset

    def stamp(self) -> str:
        """The present as GitHub writes it: UTC, whole seconds, ending in Z."""
        return to_stamp(self.now())

    def advance(self, seconds: float) -> None:
        """Move the clock by ``seconds``; negative values move it back."""
        self._offset += seconds

    def set(self, epoch: float) -> None:
        """Make ``epoch`` (seconds) the present; time goes on from there."""
        self._offset = epoch - time.time()


def to_stamp(epoch: float) -> str:
    """Seconds since the epoch as ``2026-11-30T04:00:00Z``."""
    return datetime.fromtimestamp(int(epoch), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def from_stamp(text: str) -> float:
    """The inverse of :func:`to_stamp`; accepts any ISO 8601 time with a zone. Raises ``ValueError``."""
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    if moment.tzinfo is None:
        raise ValueError(f"no time zone in {text!r}")
    return moment.timestamp()
