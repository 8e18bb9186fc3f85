"""Telling a person, once, what only a person can settle.

A frozen ledger takes no permit, so the report is found again by its marker and our App's id. What if it happened and we
did not hear, or two of us do it: the next look sees both and keeps the oldest. No lease is involved.
"""

from app.controller.project import Projector
from app.controller.view import View
from app.domain.denied_effects import denial_report
from app.domain.effect_report import effect_report
from app.domain.fence_commit import Disarming
from app.domain.handoff_marker import report_marker
from app.domain.landing_actions import TellOfMerge
from app.domain.missing_pull_report import edge_of, missing_pull_report, reports_of
from app.domain.observation import Pull
from app.domain.plan import AskAboutEffect, AskForApproval, AskPerson, RestoreBranch, WarnOfGap
from app.domain.pull_evidence import Uncertain
from app.domain.report import (
    Frozen,
    frozen_report,
    gap_report,
    is_told_further,
    merge_report,
    stuck_report,
    unfenced_report,
    unrestored_report,
    where_told,
)
from app.domain.situation import own_pulls, ticket_pull


class Reporter:
    """Writes reports as new comments, because an edit notifies nobody."""

    def __init__(self, projector: Projector) -> None:
        self._projector = projector

    async def tell_unrestored(self, view: View, action: RestoreBranch, words: str) -> None:
        """Once for each published commit: the branch could not be put back, and why."""
        edge = f"unrestored-{action.published[:12]}"
        await self._tell(view, edge, unrestored_report(view.ticket, edge, action, words, view.observation.issue))

    async def tell_unfenced(self, view: View, made: Disarming, words: str) -> None:
        """Once for each withdrawn commit: a merge could not be kept from happening, and why."""
        edge = f"unfenced-{made.on[:12]}"
        await self._tell(view, edge, unfenced_report(view.ticket, edge, made, words, view.observation.issue))

    async def ask(self, view: View, action: AskPerson) -> int:
        """Once for each edge: why the ticket waits for a person. Returns the number of writes."""
        return await self._tell(view, action.edge, stuck_report(view.ticket, action, view.observation.issue))

    async def warn_of_gap(self, view: View, action: WarnOfGap) -> int:
        """Once for each edge: a holder works on without saving. Returns the number of writes."""
        return await self._tell(view, action.edge, gap_report(view.ticket, action, view.observation.issue))

    async def tell_of_merge(self, view: View, action: TellOfMerge) -> int:
        """Once for each merge that did not go as it was meant to. Returns the number of writes."""
        return await self._tell(view, action.edge, merge_report(view.ticket, action, view.observation.issue))

    async def tell_missing_pull(self, view: View, found: Uncertain) -> int:
        """Once for each kind of gap, kept up to date: why no PR is opened. Returns the number of writes."""
        text = missing_pull_report(view.ticket, found, view.observation.issue)
        told = reports_of(view.ticket, found, view.observation)
        if not told:
            return await self._tell(view, edge_of(found), text)
        for double in told[1:]:
            await view.repo.delete_comment(double.id)
        if told[0].body.replace("\r\n", "\n").strip() == text.strip():
            return len(told) - 1
        await view.repo.edit_comment(told[0].id, text)
        return len(told)

    async def ask_about_effect(self, view: View, action: AskAboutEffect) -> int:
        """Once for each effect that looking did not settle. Returns the number of writes."""
        return await self._tell(view, action.edge, effect_report(view.ticket, action, view.observation.issue))

    async def ask_for_approval(self, view: View, action: AskForApproval) -> int:
        """Once for each effect that nobody approved, in each generation. Returns the number of writes."""
        return await self._tell(view, action.edge, denial_report(view.ticket, action, view.observation.issue))

    async def _tell(self, view: View, edge: str, text: str) -> int:
        pull, issue = _pull(view), view.observation.issue
        number = pull.number if pull and pull.state == "OPEN" else issue.number if issue else None
        # One look more for a report that the observation did not reach costs less than telling it twice.
        if number is None or await view.repo.find_comments(number, report_marker(view.ticket, edge)):
            return 0
        await view.repo.create_comment(number, text)
        return 1

    async def report(self, view: View, frozen: Frozen) -> int:
        """One comment on the ticket's PR, else on its Issue, and the check-run red. Returns the number of writes."""
        pull = _pull(view)
        told = where_told(view.ticket, frozen, view.observation, pull)
        written = 0
        for double in told[1:]:
            await view.repo.delete_comment(double.id)
            written += 1
        issue = view.observation.issue
        number = pull.number if pull else issue.number if issue else None
        if not told and number is not None and not is_told_further(view.ticket, frozen, view.observation):
            await view.repo.create_comment(number, frozen_report(view.ticket, frozen, issue))
            written += 1
        return written + await self._projector.show_frozen(view, frozen)


def _pull(view: View) -> Pull | None:
    """The ticket's pull request, recorded or, where no record can be read, open on a branch of its own."""
    if view.record is not None:
        return ticket_pull(view.record, view.observation)
    return next((p for p in own_pulls(view.observation) if p.state == "OPEN"), None)
