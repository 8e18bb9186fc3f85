"""How one turn of a round ended: over for now, or changed so that the next look comes at once."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from app.controller.view import View
from app.ledger.api import Lost, Undecided

AFTER_UNANSWERED = timedelta(seconds=10)


@dataclass(frozen=True)
class Ended:
    """The run is over. `again_at`: when to look again by itself; None = when something happens. `in_time`: when time
    alone will have changed something, whatever happens; None = never.
    """

    again_at: datetime | None
    reason: str
    in_time: datetime | None = None


@dataclass(frozen=True)
class Again:
    """Something changed: look afresh at once. `lost`: to somebody else's write, so that two do not chase each other."""

    reason: str
    lost: bool = False


def unwritten(view: View, outcome: Lost | Undecided) -> Again | Ended:
    """After a compare-and-set that was not won. While one is undecided no other commit is built (R8)."""
    if isinstance(outcome, Undecided):
        return Ended(view.now + AFTER_UNANSWERED, f"GitHub does not say whether it was written: {outcome.reason}")
    return Again("somebody else wrote first", lost=True)
