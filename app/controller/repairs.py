"""Repairs whose own precondition guards them (class P of the ownership protocol, R3): a stale one that comes late is
put right by the next look, so none needs a permit.
"""

import structlog

from app.controller.journal import Journal
from app.controller.pokes import PokeStore
from app.controller.reporting import Reporter
from app.controller.turn import Again
from app.controller.upkeep import Upkeep
from app.controller.view import View
from app.domain.keys import TicketKey
from app.domain.landing_actions import Nudge, TellOfMerge
from app.domain.plan import (
    AskAboutEffect,
    AskAboutPull,
    AskForApproval,
    AskPerson,
    Plan,
    RemoveComment,
    ReopenPull,
    WarnOfGap,
)
from app.github.pulls import PullRefusal, PullRefused
from app.ledger.reading import Standing

log = structlog.get_logger()


class Repairs:
    """Carries out what of a plan needs no permit."""

    def __init__(self, journal: Journal, reporter: Reporter, pokes: PokeStore) -> None:
        self._journal = journal
        self._pokes = pokes
        self._reporter = reporter
        self._upkeep = Upkeep(journal)

    async def carry_out(self, view: View, standing: Standing, plan: Plan) -> int | Again:
        """Writes whose own precondition guards them. Returns how many were made."""
        written = 0
        for action in plan:
            if isinstance(action, RemoveComment):
                await view.repo.delete_comment(action.comment_id)
                written += 1
            elif isinstance(action, AskPerson):
                written += await self._reporter.ask(view, action)
            elif isinstance(action, AskAboutPull):
                written += await self._reporter.tell_missing_pull(view, action.found)
            elif isinstance(action, TellOfMerge):
                written += await self._reporter.tell_of_merge(view, action)
            elif isinstance(action, Nudge):
                await self._pokes.poke(*(str(TicketKey(view.repo.full_name, ticket)) for ticket in action.tickets))
            elif isinstance(action, AskAboutEffect):
                written += await self._reporter.ask_about_effect(view, action)
            elif isinstance(action, AskForApproval):
                written += await self._reporter.ask_for_approval(view, action)
            elif isinstance(action, WarnOfGap):
                written += await self._reporter.warn_of_gap(view, action)
            elif isinstance(action, ReopenPull):
                return await self._reopen(view, standing, action)
        return written + await self._upkeep.carry_out(view, standing, plan)

    async def _reopen(self, view: View, standing: Standing, action: ReopenPull) -> Again | int:
        answer = await view.repo.reopen_pull(action.number)
        if not isinstance(answer, PullRefused):
            return Again("the PR is open again")
        log.warning("reopening refused", ticket=view.ticket, pull=action.number, answer=answer.message)
        if answer.kind in (PullRefusal.HEAD_MISSING, PullRefusal.NO_COMMITS):
            # GitHub has not noticed yet that the branch is back; the second look tries again.
            return 1
        # The closed PR is given up: the next round opens a new one under a permit.
        projections = standing.record.projections.model_copy(update={"pr_number": None})
        record = standing.record.model_copy(update={"projections": projections})
        await self._journal.write(view, standing, record, "PR cannot be reopened", when=view.now)
        return Again("a new PR replaces the closed one")
