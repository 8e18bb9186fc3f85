"""Keeping a ticket's PR and its line on the board as the record asks: draft state, linked Issue, assignees, labels,
reviewers, status. All of it is set to a value (class P of the ownership protocol, R3): what if it happened and we did
not hear, or two of us do it: the next look compares, and setting it again changes nothing. What if our lease is gone:
none of it names a holder, and the next look puts a stale value right.

What was put there is noted afterwards, so that what a person takes away again stays away. Accepted loss: a process that
dies in between sets such a thing once more.
"""

import structlog

from app.controller.journal import Journal
from app.controller.view import View
from app.domain import drafts
from app.domain.plan import (
    Plan,
    SetDraft,
)
from app.domain.record import Projections
from app.github.errors import GraphQLFailed
from app.ledger.reading import Standing

log = structlog.get_logger()


class Upkeep:
    """Carries out what of a plan keeps a PR and the board in line."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def carry_out(self, view: View, standing: Standing, plan: Plan) -> int:
        """Returns the number of writes. Raises GitHubError where GitHub does not answer."""
        at, written = standing.record.projections, 0
        for action in plan:
            match action:
                case SetDraft():
                    at, wrote = await self._set_draft(view, at, action)
                case _:
                    continue
            written += wrote
        if at != standing.record.projections:
            record = standing.record.model_copy(update={"projections": at})
            await self._journal.write(view, standing, record, "noted what was put onto the PR", when=view.now)
            written += 1
        return written

    async def _set_draft(self, view: View, at: Projections, action: SetDraft) -> tuple[Projections, int]:
        try:
            await view.repo.set_draft(action.node_id, action.draft)
        except GraphQLFailed as refusal:
            log.warning("draft state not changed", ticket=str(view.ticket), answer=str(refusal))
            known = drafts.refused(at.drafting, action.draft, str(refusal), now=view.now)
            return at.model_copy(update={"drafting": known}), 1
        return at, 1
