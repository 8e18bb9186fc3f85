"""The base of every value that is stored or sent: frozen, typed, tolerant of fields a newer version added."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, PlainSerializer, StringConstraints

_YEARS = range(1900, 9000)
"""Far from both ends of what can be counted: strangers write moments into ledgers, and adding a day must not fail."""


def _whole_seconds_utc(value: datetime) -> datetime:
    # Before it is moved to UTC, where the year 9999 of another time zone may have no place any more.
    if value.year not in _YEARS:
        raise ValueError(f"is in no year from {_YEARS.start} to {_YEARS.stop - 1}")
    return value.astimezone(UTC).replace(microsecond=0)


def instant_text(value: datetime) -> str:
    """An instant as GitHub writes it: `2026-11-30T04:05:52Z`, UTC, whole seconds."""
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


Instant = Annotated[
    AwareDatetime,
    AfterValidator(_whole_seconds_utc),
    PlainSerializer(instant_text, return_type=str, when_used="json"),
]
"""A moment in UTC at whole seconds, the precision of GitHub's `Date` header."""

Sha = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
"""A full git object id, lower case."""

ZERO_SHA = "0" * 40


class Stored(BaseModel):
    """A part of a ledger record. Unknown fields are kept on rewrite, because a newer version may have written them."""

    model_config = ConfigDict(frozen=True, extra="allow")


class Message(BaseModel):
    """A request or answer of the agent API. Unknown fields are refused nowhere and dropped everywhere."""

    model_config = ConfigDict(frozen=True, extra="ignore")
