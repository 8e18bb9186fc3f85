"""What a look at a ticket's merged PR shows besides the PR itself."""

from dataclasses import dataclass

from app.domain.record import Merged
from app.domain.ticket_id import TicketId


@dataclass(frozen=True)
class AfterMerge:
    """What was read about the ticket's merged PR. `on_trunk`: the recorded trunk contains the merge. `closed_since`:
    the Issue was closed after the merge, by whomever; it may be open again. `unmoved`: tickets with a PR onto the
    ticket's branch of which no ledger is in progress, so that nobody moves its base.
    """

    merged: Merged
    on_trunk: bool
    closed_since: bool = False
    unmoved: frozenset[TicketId] = frozenset()
