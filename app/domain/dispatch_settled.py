"""What the answers to a dispatch make of the record (the ownership protocol, R3 and R5: class X).

A dispatch whose answer is missing is looked for and never sent again: where nothing is found its attempt is burned, and
whoever comes with it late is refused. Its attempt stays counted, unless it is certain that nothing was started.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

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
    match result:
        case Started(run=run):
            return run_known(left, standing.id, run)
        case Burned(reason=reason):
            return _closed(left, standing, "burned", reason)
        case Unstartable(reason=reason):
            return _uncounted(_closed(left, standing, "unstartable", reason), standing)


def not_started(record: Record, standing: Permit, because: str) -> Record:
    """The record after `standing` was not sent, or refused: it may still have been sent before by somebody who did not
    hear the answer, and is burned then.
    """
    if standing.unanswered:
        return _closed(record, standing, "burned", because)
    return _uncounted(_closed(record, standing, "over", because), standing)


def run_known(record: Record, attempt: str, run: Run | None) -> Record:
    """The record once it is known which run was started under an attempt, whatever became of that since."""
    latest = record.dispatched
    if latest is None or latest.attempt != attempt or latest.run is not None or run is None:
        return record
    return record.model_copy(update={"dispatched": latest.model_copy(update={"run": run})})


def _closed(record: Record, standing: Permit, state: Literal["over", "burned", "unstartable"], because: str) -> Record:
    latest = record.dispatched
    if latest is None or latest.attempt != standing.id or latest.state != "open":
        return record
    update = {"state": state, "because": cut(one_line(because), _BECAUSE_BYTES)}
    return record.model_copy(update={"dispatched": latest.model_copy(update=update)})


def _uncounted(record: Record, standing: Permit) -> Record:
    """What was certainly never started was no attempt. It is over all the same: nobody is let in with it."""
    latest = record.dispatched
    if standing.unanswered or latest is None or latest.attempt != standing.id:
        return record
    count = max(0, record.attempts.count - 1)
    return record.model_copy(update={"attempts": record.attempts.model_copy(update={"count": count})})
