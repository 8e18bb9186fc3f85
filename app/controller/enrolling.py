"""Tickets that nobody claimed: enrolled by the policy's label or by their branch, shown and repaired, never resumed.

Such an Issue gets a ledger only when something has to be written down: its branch has work, and what speaks for it says
with one voice where that goes (`domain/missing_pull.py`). The ledger is born without a holder (the ownership protocol,
R10) and with the branch and trunk that were found; from then on the ticket is decided about as any other. Nobody
published anything under a lease, so the record's `published` is empty: the head is shown as unfenced, and nothing is
put back or landed, until an agent claims the ticket or a person accepts the commit.

What if the birth happened and we did not hear: the ledger's `write` says so (R8), and an unfinished one is finished by
whoever looks next. What if two of us do it: one wins. What if an agent claims meanwhile: the ledger moved, and the next
look finds a holder.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import TypeVar

import structlog

from app.controller.journal import Journal, Journaled
from app.controller.reporting import Reporter
from app.controller.turn import Again, Ended, unwritten
from app.controller.view import View, Views
from app.domain.branch_clues import MOST_BLOCKING, Clues, Compared, NoCommonHistory, Pair, Recorded, Release, Waited
from app.domain.branches import ticket_of_branch
from app.domain.derived import derived
from app.domain.effect_journal import due
from app.domain.enrolment import Enrolled, NotEnrolled, enrolment
from app.domain.external_id import parse
from app.domain.fencing import is_passive
from app.domain.missing_pull import held_against_record, rebuild
from app.domain.observation import Branch
from app.domain.others_check import NO_TICKET, OTHERS_ID
from app.domain.plan import AskAboutPull, CreateComment, CreatePull, Plan, Wait
from app.domain.policy import Mode, Policy
from app.domain.pull_evidence import Found, LeftAlone, NoTicket, NotStarted, Rebuilt, ToCompare, Uncertain
from app.domain.record import Record, Work
from app.domain.ticket_id import Child, number_of
from app.domain.ticket_trailers import tickets_named_by
from app.domain.trunks import is_trunk, literal_prefixes
from app.github.checks import CheckRunWrite
from app.github.history import Comparison
from app.ledger.reading import Standing

MOST_QUESTIONS = 8
"""Rounds of comparisons in one look. Each is asked because of what the one before showed."""
LOOK_AGAIN = timedelta(minutes=30)
"""After a contradiction: that a branch is unlinked, or a dependency taken away, need not bring an event."""
Answer = TypeVar("Answer")

log = structlog.get_logger()


class _Nothing(Ended):
    """There is nothing to take into care."""


class Enrolling:
    """Takes enrolled Issues into care."""

    def __init__(self, views: Views, journal: Journal, reporter: Reporter) -> None:
        self._views = views
        self._journal = journal
        self._reporter = reporter

    async def without_ledger(self, view: View, policy: Policy) -> Ended | Again:
        """One turn for a number without a ledger. Raises GitHubError where GitHub does not answer."""
        if isinstance(view.ticket, Child):
            return Ended(None, "not a ticket: no holder ever spawned it")
        return await self._begun(view, None, policy)

    async def before_any_claim(self, view: View, standing: Standing, policy: Policy) -> Ended | Again | None:
        """What comes before the ordinary decision about a ticket that nobody ever claimed; None where nothing does.
        Raises GitHubError where GitHub does not answer.
        """
        issue = view.observation.issue
        if issue is None or issue.state != "OPEN":
            # Its end is decided as that of any other ticket, also while it lands step by step.
            return None
        allowed = enrolment(view.observation, policy)
        if isinstance(allowed, NotEnrolled):
            await _show_that_it_is_none(view)
            return Ended(None, f"not a ticket any more: {allowed.reason}")
        work = standing.record.work
        if work is not None and view.observation.branch(work.branch) is not None:
            return None
        ended = await self._begun(view, standing, policy)
        # Nothing else was found: that its branch is gone is noted like any other happening.
        return None if work is not None and isinstance(ended, _Nothing) else ended

    async def _begun(self, view: View, standing: Standing | None, policy: Policy) -> Ended | Again:
        allowed = enrolment(view.observation, policy)
        if isinstance(allowed, NotEnrolled):
            return _Nothing(None, f"not a ticket: {allowed.reason}")
        found = await self.find(view, policy)
        if isinstance(found, NotStarted | NoTicket | LeftAlone):
            return _Nothing(None, f"nothing to do: {found.reason}")
        if not isinstance(found, Rebuilt):
            assert isinstance(found, Uncertain)
            await self._reporter.tell_missing_pull(view, found)
            return Ended(None, f"no PR is opened: {found.reason}")
        said = "; ".join(map(str, found.because))
        log.info("ticket enrolled", ticket=str(view.ticket), because=allowed.because, branch=found.branch, said=said)
        before = standing.record if standing is not None else _unborn(view)
        record = _taken_in(view, before, found)
        event = f"enrolled: work on {found.branch}" if standing is not None else "born"
        written = await self._journal.write(view, standing, record, event, when=view.now)
        return Again("the ticket was enrolled") if isinstance(written, Journaled) else unwritten(view, written)

    async def find(self, view: View, policy: Policy) -> Found:
        """Where the work of a ticket without a record is and goes. Reads only. Raises GitHubError."""
        return await self._answered(view, await self._clues(view, policy), rebuild)

    async def unless_contradicted(self, view: View, record: Record, policy: Policy, plan: Plan) -> Plan:
        """The plan of a ticket that gets its PR, held against what else speaks for where its work is: without the PR,
        and with a report in its place, where that contradicts the record of a claim. Reads only. Raises GitHubError.
        """
        if record.work is None or isinstance(view.ticket, Child) or is_passive(record):
            return plan
        # A board that says another trunk than the record is a person's word, which moves the ticket by itself.
        recorded = Recorded(record.work.branch, record.work.trunk, record.checkpoint.predecessor_issue_or_pr)
        clues = replace(await self._clues(view, policy), recorded=recorded, release=None)
        found = await self._answered(view, clues, held_against_record)
        if found is None:
            return plan
        log.info("no pull request is opened", ticket=view.ticket, because=found.reason)
        rest = [action for action in plan if not isinstance(action, CreatePull | CreateComment)]
        told = AskAboutPull(found, found.reason)
        return (*rest, told, Wait(f"no PR is opened: {found.reason}", view.now + LOOK_AGAIN))

    async def _answered(self, view: View, clues: Clues, ask: Callable[[Clues], Answer | ToCompare]) -> Answer:
        """What the rule says once everything is compared that it asks for."""
        known: dict[Pair, Compared | NoCommonHistory] = {}
        for _ in range(MOST_QUESTIONS):
            found = ask(clues)
            if not isinstance(found, ToCompare):
                return found
            for base, head in found.pairs:
                known[base, head] = _compared(await self._views.compared(view.repo, base, head))
            clues = replace(clues, compared=known)
        raise AssertionError("the evidence asks for a bounded number of comparisons")

    async def _clues(self, view: View, policy: Policy) -> Clues:
        number, around = number_of(view.ticket), view.observation.around
        waits_for = [w.number for w in around.blocked_by if w.is_open and w.repository is None][:MOST_BLOCKING]
        seen = await view.repo.ticket_branches(number, waits_for)
        default = view.observation.default_branch
        existing: dict[str, Branch] = {}
        for prefix in literal_prefixes(policy.trunks):
            existing |= {branch.name: branch for branch in await view.repo.find_branches(prefix)}
        trunks = tuple(b for b in existing.values() if is_trunk(b.name, policy.trunks, default))
        waited = [
            Waited(other, tuple(b for b in branches if ticket_of_branch(b.name) == other))
            for other, branches in seen.waited.items()
        ]
        return Clues(
            ticket=number,
            trunks=trunks,
            branches=seen.own,
            elsewhere=seen.elsewhere,
            release=_release(view, policy),
            waits_for=tuple(waited),
            shared=frozenset({default, policy.release.into or default}),
        )


def is_the_loops(view: View) -> bool:
    """Whether a look at the ticket by the loop may lead to anything: it is in progress, or enrolled, or its effects are
    to be looked for.
    """
    policy, standing = view.usable_policy, view.standing
    if standing is not None and (standing.place == "active" or due(standing.record, now=view.now)):
        return True
    if policy is None or policy.mode is Mode.OBSERVE or standing is not None:
        return False
    return isinstance(enrolment(view.observation, policy), Enrolled)


async def _show_that_it_is_none(view: View) -> None:
    """Its check stands in nobody's way any more, and is no ticket's; set to a value, so a late one is put right by the
    next look.
    """
    for run in view.observation.check_runs:
        ours = any((p.ticket, p.generation) == (view.ticket, 0) for p in parse(run.external_id)[:1])
        if ours:
            shown = CheckRunWrite(
                head_sha=run.sha,
                status="completed",
                conclusion="success",
                external_id=OTHERS_ID,
                title=NO_TICKET,
                summary=f"Issue #{view.ticket} was a ticket because of its label or branch, and is none now. Nobody "
                "ever claimed it, so Agent Recovery does nothing more here.",
                completed_at=view.now,
            )
            await view.repo.update_check_run(run.id, shown)


def _release(view: View, policy: Policy) -> Release | None:
    project = policy.project
    items = view.observation.around.project_items or ()
    item = next((i for i in items if i.number == project.number), None)
    text = item.fields.get(project.release_field) if item is not None else None
    if project.number is None or not text:
        return None
    return Release(project.number, project.release_field, text)


def _compared(comparison: Comparison) -> Compared | NoCommonHistory:
    if comparison.merge_base is None:
        return NoCommonHistory()
    named = dict.fromkeys(n for commit in comparison.commits for n in tickets_named_by(commit.end))
    return Compared(
        ahead=comparison.ahead_by,
        behind=comparison.behind_by,
        base=comparison.merge_base,
        names=tuple(named),
        read_all=len(comparison.commits) >= comparison.ahead_by,
    )


def _unborn(view: View) -> Record:
    return Record(ticket=number_of(view.ticket), sequence=1, status="unclaimed")


def _taken_in(view: View, before: Record, found: Rebuilt) -> Record:
    """The record with the branch and trunk that were found. Its checkpoint names the predecessor, which is pinned."""
    predecessor = found.predecessor
    checkpoint = before.checkpoint.model_copy(
        update={
            "predecessor_issue_or_pr": predecessor.number if predecessor else None,
            "predecessor_sha": predecessor.sha if predecessor else None,
        }
    )
    work = Work(branch=found.branch, trunk=found.trunk, base_sha=found.base_sha)
    projections = before.projections.model_copy(update={"pr_number": found.pull})
    # A commit that a person accepted was another branch's.
    record = before.model_copy(update={"work": work, "projections": projections, "published": None})
    return record.model_copy(update={"checkpoint": derived(record, checkpoint, now=view.now)})
