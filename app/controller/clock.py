"""The clock as a value: who decides by time is given the time."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]
"""Answers the present moment, with a time zone. Processes that share a database must agree to a few seconds."""


def system_clock() -> datetime:
    """The machine's own idea of the present, in UTC."""
    return datetime.now(UTC)
