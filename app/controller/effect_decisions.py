"""Writing down what a person decided about an effect.

What if it happened and we did not hear: the same word again finds it decided and says so. What if two of us do it: the
ledger's compare-and-set lets one through. No lease is involved: a person's word counts whoever holds the ticket.
"""

from datetime import datetime
from typing import Protocol

from app.controller.briefing import frozen_refusal
from app.controller.holding import require_writable
from app.controller.journal import Journal, Journaled
from app.controller.view import Views
from app.domain.effect_journal import Noted
from app.domain.effect_state import EffectState, state_of
from app.domain.issue_gate import no_ticket
from app.domain.outcome import Blocked, Code, Refused
from app.domain.record import Record
from app.domain.ticket_id import TicketId
from app.ledger.api import Undecided

TRIES = 5


class Decision(Protocol):
    """What a person decided, as a rule of the domain."""

    def __call__(self, record: Record, *, now: datetime) -> Noted | Blocked: ...


class EffectDecisions:
    """Persons' decisions about effects, of ended tickets too: what ended with them is still to be found out."""

    def __init__(self, views: Views, journal: Journal) -> None:
        self._views = views
        self._journal = journal

    async def decide(self, owner: str, name: str, ticket: TicketId, event: str, decision: Decision) -> EffectState:
        """Write the decision down. Raises Refused with what stands in the way, and GitHubError."""
        for _ in range(TRIES):
            view = await self._views.look(owner, name, ticket)
            if view.frozen is not None:
                raise Refused(frozen_refusal(view))
            require_writable(view)
            standing = view.standing
            if standing is None or standing.unborn:
                raise Refused(no_ticket(ticket))
            noted = decision(standing.record, now=view.now)
            if isinstance(noted, Blocked):
                raise Refused(noted)
            if noted.record == standing.record:
                return state_of(noted.effect)
            outcome = await self._journal.write(view, standing, noted.record, event, when=view.now, to=standing.place)
            if isinstance(outcome, Journaled):
                return state_of(noted.effect)
            if isinstance(outcome, Undecided):
                break
        raise Refused(
            Blocked(
                Code.UNAVAILABLE,
                "it is not known whether the decision was written down",
                "run the same command again: it says whether it was",
                retryable=True,
            )
        )
