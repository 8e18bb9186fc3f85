"""What the answers to a dispatch make of the record (the ownership protocol, R3 and R5: class X).

A dispatch whose answer is missing is looked for and never sent again: where nothing is found its attempt is burned, and
whoever comes with it late is refused. Its attempt stays counted, unless it is certain that nothing was started.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.domain.dispatched import Run
from app.domain.plain_text import cut, one_line
from app.domain.record import Permit, Record

_BECAUSE_BYTES = 200


@dataclass(frozen=True)
class Started:
    """The dispatch was carried out. `run`: what it started, None where that is not known (yet)."""

    permit: Permit
    run: Run | None


@dataclass(frozen=True)
class Burned:
    """Nobody knows whether it was sent; it will never be sent again, and no claim with it is granted."""

    permit: Permit
    reason: str


@dataclass(frozen=True)
class Unstartable:
    """Refused at `at` for good: there is nothing to start, such as a workflow that was renamed. Nothing was started."""

    permit: Permit
    reason: str
    at: datetime


DispatchResult = Started | Burned | Unstartable


def dispatch_settled(record: Record, standing: Permit, result: DispatchResult) -> Record:
    """The record after this result of `standing`, which is open in it."""
    left = record.model_copy(update={"open": tuple(p for p in record.open if p is not standing)})
    latest = left.dispatched
    if latest is None or latest.attempt != standing.id:
        return left
    match result:
        case Started(run=run):
            changes: dict[str, Any] = {"run": run or latest.run}
        case Burned(reason=reason):
            changes = {"state": "burned", "because": cut(one_line(reason), _BECAUSE_BYTES)}
        case Unstartable(reason=reason):
            changes = {"state": "over", "because": cut(one_line(reason), _BECAUSE_BYTES)}
    return left.model_copy(update={"dispatched": latest.model_copy(update=changes)})
