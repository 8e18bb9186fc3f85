"""Ending a ticket, and what is still done for one that has ended.

A ticket ends by one compare-and-set that moves its ledger to `done/`, open permits and all (the ownership protocol,
R11). What if it happened and we did not hear: the ledger's `write` says Won, Lost or Undecided. What if two of us do
it: one wins, the other finds the ticket ended. What if a holder writes meanwhile: then the head has moved, and the next
look decides afresh; once the ledger lies under `done/`, nothing that the holder sends passes.

Accepted loss: a process that dies between the end and its images leaves them as they were until the next event.
"""

import structlog

from app.controller.fencing_off import FencingOff
from app.controller.journal import Journal, Journaled
from app.controller.late import Probe, close_late_pulls, note_late_runs
from app.controller.project import Projector
from app.controller.upkeep import Upkeep
from app.controller.view import View
from app.domain.fencing import Head
from app.domain.landing_tail import Goes, closed_books, landed_branch, was_left_open
from app.domain.life_cycle import Because, Ending, ended, ending
from app.domain.model import ZERO_SHA
from app.domain.observation import Issue
from app.domain.plain_text import cut, one_line
from app.domain.pruning import is_due
from app.domain.record import Record
from app.domain.ticket_id import Child
from app.github.refs import RefUpdate
from app.ledger.api import Lost, Undecided
from app.ledger.reading import Standing

log = structlog.get_logger()

_REASON_BYTES = 200
_STORY: dict[Because, str] = {
    "merged": "its PR was merged",
    "issue_closed": "its Issue was closed",
    "issue_gone": "its Issue is gone",
    "command": "by command",
    "pull_closed": "its PR was closed by a person",
    "too_old": "too old to be resumed",
    "unresumable": "nothing to resume it with",
}


class Endings:
    """Ends tickets, and looks after those that have ended."""

    def __init__(self, journal: Journal, projector: Projector, fencing: FencingOff, probe: Probe) -> None:
        self._journal = journal
        self._probe = probe
        self._projector = projector
        self._upkeep = Upkeep(journal)
        self._fencing = fencing

    async def end(self, view: View, standing: Standing, how: Ending) -> Journaled | Lost | Undecided:
        """Record the end of a ticket in progress, or what came after it. Raises GitHubError."""
        log.info("ticket ends", ticket=str(view.ticket), status=how.status, reason=how.reason)
        event = f"{how.status}: {_STORY[how.because]}"
        also = await children_too(view, how)
        if how.status == "cancelled":
            record = ended(standing.record, how, now=view.now)
            return await self._fencing.write(view, standing, record, event, because=how.reason, also=also, to="done")
        after = view.landing.after_merge
        record = ended(closed_books(standing.record, view.observation, after), how, now=view.now)
        branch = landed_branch(standing.record, view.observation, after)
        if not isinstance(branch, Goes):
            return await self._journal.write(view, standing, record, event, when=view.now, also=also, to="done")
        return await self._with_branch(view, standing, record, event, branch, also)

    async def _with_branch(
        self,
        view: View,
        standing: Standing,
        record: Record,
        event: str,
        branch: Goes,
        also: tuple[RefUpdate, ...] = (),
    ) -> Journaled | Lost | Undecided:
        """Write under `done/` and remove the branch in one update; where GitHub keeps the branch, the ledger without it
        (the ownership protocol, R11).
        """
        whole = (*also, RefUpdate(f"refs/heads/{branch.name}", branch.sha, ZERO_SHA))
        gone = record.model_copy(update={"landing": record.landing.model_copy(update={"branch_removed": True})})
        outcome = await self._journal.write(view, standing, gone, event, when=view.now, also=whole, to="done")
        if not isinstance(outcome, Undecided) or not outcome.refused:
            return outcome
        log.warning("branch kept", ticket=str(view.ticket), branch=branch.name, because=outcome.reason)
        kept = cut(one_line(outcome.reason), _REASON_BYTES) or "GitHub gave no reason"
        landing = record.landing.model_copy(update={"branch_kept": kept})
        record = record.model_copy(update={"landing": landing})
        return await self._journal.write(view, standing, record, event, when=view.now, also=also, to="done")

    async def _closed(self, view: View, standing: Standing, issue: Issue) -> Journaled | Lost | Undecided:
        """Close the Issue of a ticket that landed late, and note it; once, so that a person's reopening stands."""
        if issue.state == "OPEN":
            await view.repo.close_issue(issue.number)
        landing = standing.record.landing.model_copy(update={"issue_closed": True})
        record = standing.record.model_copy(update={"landing": landing})
        return await self._journal.write(view, standing, record, "Issue closed", when=view.now, to="done")

    async def after(self, view: View, standing: Standing, head: Head) -> str | Journaled | Lost | Undecided:
        """One look at an ended ticket: what came late is settled, a ledger that was retained long enough is pruned, and
        else its images say what the record says. Returns what was written to the ledger, or in words that nothing is
        left to do. Raises GitHubError.
        """
        if came := await close_late_pulls(view, standing, self._journal):
            return came
        if noted := await note_late_runs(view, standing, self._journal, self._probe):
            return noted
        late = ending(standing.record, view.observation)
        if late is not None:
            return await self.end(view, standing, late)
        if was_left_open(standing.record) and view.observation.issue is not None:
            return await self._closed(view, standing, view.observation.issue)
        branch = landed_branch(standing.record, view.observation, view.landing.after_merge)
        if standing.record.status == "landed" and isinstance(branch, Goes):
            return await self._with_branch(view, standing, standing.record, "branch removed", branch)
        policy = view.usable_policy
        if policy is not None and is_due(standing.record, policy, now=view.now) and not await _may_be_asked_again(view):
            log.info("ledger pruned", ticket=str(view.ticket), generation=standing.record.generation)
            return await self._journal.prune(view, standing, when=view.now)
        if policy is not None and standing.record.pruned is None:
            shown = await self._upkeep.after_the_end(view, standing, policy)
            if shown is not None:
                return shown
        if standing.record.pruned is None:
            await self._projector.project(view, standing, head)
        return f"the ticket is {standing.record.status}"


async def _may_be_asked_again(view: View) -> bool:
    """Whether the ticket is a child whose parent is at work: its holder may ask for the child's work anew."""
    if not isinstance(view.ticket, Child):
        return False
    parent = await view.ledger.read(view.ticket.parent)
    return not isinstance(parent, Standing) or parent.place == "active"


async def children_too(view: View, how: Ending) -> tuple[RefUpdate, ...]:
    """A ticket's children end with it, in the same update; who still works on one is fenced out (R11)."""
    updates: list[RefUpdate] = []
    for standing in view.family.standings.values():
        if standing.place == "active":
            record = ended(standing.record, how, now=view.now)
            event = f"{how.status}: its ticket ended"
            updates += await view.ledger.beside(standing, record, event, to="done", when=view.now)
    return tuple(updates)
