"""One round of the loop for one ticket: observe, decide, journal, act, settle, project.

A round with guarded writes makes one ledger commit that opens their permits and one with their results; any other round
writes at most one. A round that changed something is followed by another look, so that what it assumed is checked; a
second round on an unchanged world writes nothing.

Accepted loss: a process that dies between two steps leaves an open permit, adopted by whoever looks next.
"""

import asyncio
import random
import secrets
from collections.abc import Sequence
from datetime import timedelta

import structlog

from app.controller.act import Actor, permit_for
from app.controller.authors import Authors
from app.controller.effecting import Effecting
from app.controller.ending import Endings
from app.controller.enrolling import Enrolling
from app.controller.fencing_off import FencingOff
from app.controller.journal import Journal, Journaled
from app.controller.others import Others
from app.controller.pokes import PokeStore
from app.controller.project import Images, Projector
from app.controller.repairs import Repairs
from app.controller.reporting import Reporter
from app.controller.resuming import Resuming
from app.controller.turn import AFTER_UNANSWERED, Again, Ended, unwritten
from app.controller.turns import Turns
from app.controller.view import View, Views, readable
from app.domain import permits, resumption, round_notes
from app.domain.decide import decide
from app.domain.fencing import Head, is_passive
from app.domain.keys import TicketKey
from app.domain.landing_actions import FenceOff
from app.domain.landing_settled import Accepted
from app.domain.landing_tail import tail
from app.domain.life_cycle import Ending, ending
from app.domain.model import ZERO_SHA
from app.domain.plan import (
    Adopt,
    CreateComment,
    CreatePull,
    Guarded,
    NoteSaved,
    Plan,
    ProbeEffect,
    RestoreBranch,
    SealTail,
    Wait,
)
from app.domain.policy import Mode, Policy
from app.domain.record import Permit, Record
from app.domain.refs import names_above
from app.domain.returning import brought_back
from app.domain.settling import Made, NotSent, Result, Unknown, settle
from app.domain.situation import Situation
from app.domain.time_alone import changes_at
from app.github.pace import PATIENCE_S
from app.github.refs import RefUpdate, RefValue
from app.ledger.api import Lost, Undecided
from app.ledger.reading import Standing

MAX_TURNS = 5
"""Rounds in one run of a key. More than that is another's turn: the key is due again in a moment."""
SECOND_LOOK = timedelta(seconds=5)
MAX_RESULT_TRIES = 5
LOST_TWICE_S = 2.0
"""A service write that lost twice waits up to this long (the ownership protocol, R13)."""

log = structlog.get_logger()


class Rounds:
    """Runs rounds for tickets."""

    def __init__(
        self,
        views: Views,
        journal: Journal,
        actor: Actor,
        projector: Projector,
        reporter: Reporter,
        authors: Authors,
        effecting: Effecting,
        fencing: FencingOff,
        pokes: PokeStore,
        others: Others,
        turns: Turns,
        resuming: Resuming,
    ) -> None:
        self._views = views
        self._journal = journal
        self._actor = actor
        self._projector = projector
        self._fencing = fencing
        self._turns = turns
        self._resuming = resuming
        self._endings = Endings(journal, projector, fencing, actor.probe)
        self._reporter = reporter
        self._authors = authors
        self._effecting = effecting
        self._repairs = Repairs(journal, reporter, pokes)
        self._enrolling = Enrolling(views, journal, reporter)
        self._others = others

    async def run(self, key: TicketKey, refs: Sequence[RefValue] | None = None) -> Ended:
        """Bring one ticket to where it should be. `refs`: those of its ledgers, where they were read a moment ago.
        Raises GitHubError where GitHub does not answer.
        """
        owner, _, name = key.repository.partition("/")
        last, losses = "nothing happened", 0
        for _ in range(MAX_TURNS):
            view = await self._views.look(owner, name, key.ticket, refs)
            refs = None
            with self._authors.run() as author:
                outcome = await self._turn(view, author)
            if isinstance(outcome, Ended):
                return outcome
            last, losses = outcome.reason, losses + outcome.lost
            if losses >= 2:
                await asyncio.sleep(random.uniform(0.05, LOST_TWICE_S))
        return Ended(view.now + SECOND_LOOK, f"still changing: {last}")

    async def _turn(self, view: View, author: str) -> Ended | Again:
        policy = view.usable_policy
        if policy is None or policy.mode is Mode.OBSERVE:
            await self._resuming.withdrawn(view)
            return Ended(None, "the repository's policy allows no writes")
        if view.observation.archived:
            return Ended(None, "the repository is archived: nothing can be written until it is taken out")
        if view.frozen is not None and not view.frozen.is_ours:
            return Ended(None, f"not a ticket: {view.frozen.reason}")
        if view.frozen is not None:
            await self._reporter.report(view, view.frozen)
            await self._resuming.ended(view)
            return Ended(None, f"frozen: {view.frozen.reason}")
        standing, head = view.standing, view.head
        if standing is None or head is None:
            if view.observation.is_pull_request:
                return await self._others.one(view, policy)
            if await self._resuming.is_notice(view):
                return Ended(None, "our own notice, and not a ticket")
            return await self._enrolling.without_ledger(view, policy)
        if standing.place == "done":
            await self._resuming.ended(view)
            again = brought_back(standing.record, view.observation, policy, has_command=self._actor.has_command)
            if again is not None:
                return await self._bring_back(view, standing, again)
            return _over(view, await self._endings.after(view, standing, head))
        situation = self._situation(view, standing, head, policy)
        steps = tail(situation)
        over = steps if isinstance(steps, Ending) else ending(standing.record, view.observation) if not steps else None
        if over is not None:
            await self._turns.ended(view)
            await self._resuming.ended(view)
            return _over(view, await self._endings.end(view, standing, over))
        first = await self._enrolling.before_any_claim(view, standing, policy) if is_passive(standing.record) else None
        if first is not None:
            return first
        plan = await self._turns.admitted(view, situation, decide(situation))
        plan = await self._resuming.admitted(view, situation, plan)
        return await self._carry_out(view, standing, head, plan, situation, author)

    def _situation(self, view: View, standing: Standing, head: Head, policy: Policy) -> Situation:
        return Situation(
            observation=view.observation,
            record=standing.record,
            policy=policy,
            head=head,
            tail=standing.tail,
            author_is_dead=self._authors.is_dead,
            heartbeat_at=view.heartbeat_at,
            children=view.family.seen,
            landing=view.landing.landing,
            after_merge=view.landing.after_merge,
            update=view.landing.update,
            trunks=view.trunks,
            has_command=self._actor.has_command,
            run=view.run,
            run_ended=view.run_ended,
        )

    async def _carry_out(
        self, view: View, standing: Standing, head: Head, plan: Plan, situation: Situation, author: str
    ) -> Ended | Again:
        for action in plan:
            log.info("planned", ticket=view.ticket, action=type(action).__name__, reason=action.reason)
        if plan and isinstance(plan[0], Adopt):
            return await self._adopt(view, standing, head, plan[0], author)
        if plan and isinstance(plan[0], RestoreBranch):
            return await self._restore(view, standing, plan[0])
        withdrawn = next((a for a in plan if isinstance(a, FenceOff)), None)
        if withdrawn is not None:
            return await self._fence_off(view, standing, withdrawn)
        if view.usable_policy is not None and any(isinstance(a, CreatePull) for a in plan):
            plan = await self._enrolling.unless_contradicted(view, standing.record, view.usable_policy, plan)
        guarded = [a for a in plan if isinstance(a, Guarded)]
        creates = any(isinstance(a, CreatePull | CreateComment) for a in guarded)
        wait_s = await view.repo.session.content_wait_s() if creates else 0.0
        if wait_s > PATIENCE_S:
            # Asked before a permit is opened: a ledger that opens permits in vain would tell nothing but that.
            return Ended(view.now + timedelta(seconds=wait_s), "GitHub takes no more new content for now")
        round_id = secrets.token_hex(6)
        opening = [permit_for(a, author=author, round_id=round_id) for a in guarded]
        probes = [a for a in plan if isinstance(a, ProbeEffect)]
        noted = await self._effecting.looked(view, round_notes.noted(standing.record, plan, now=view.now), probes)
        record = permits.opened(noted, tuple(opening), round_id=round_id, author=author, now=view.now)
        record = resumption.carried_out(record, plan, tuple(opening), situation)
        results: list[Result] = []
        if record != standing.record or any(isinstance(a, SealTail | NoteSaved) for a in plan):
            event = round_notes.event_of(plan, opening)
            journaled = await self._journal.write(view, standing, record, event, when=view.now)
            if not isinstance(journaled, Journaled):
                return unwritten(view, journaled)
            standing = journaled.standing
            await self._resuming.carried_out(view, standing.record, plan)
            results = await self._actor.send(view, journaled, head, opening)
        return await self._finish(view, standing, head, plan, results)

    async def _finish(
        self, view: View, standing: Standing, head: Head, plan: Plan, results: Sequence[Result]
    ) -> Ended | Again:
        settled = await self._settled(view, standing, results) if results else standing
        if not isinstance(settled, Standing):
            return settled
        outcome = await self._repairs.carry_out(view, settled, plan)
        if isinstance(outcome, Again):
            return outcome
        made = _images(results)
        written = outcome + await self._projector.project(view, settled, head, made)
        if any(isinstance(r, Unknown) for r in results):
            return Ended(view.now + AFTER_UNANSWERED, "GitHub did not answer a write")
        if written or results:
            return Ended(view.now + SECOND_LOOK, "something was written; a second look checks it")
        waits = [a for a in plan if isinstance(a, Wait)]
        until = min((w.until for w in waits if w.until), default=None)
        policy = view.usable_policy
        in_time = (
            changes_at(
                settled.record,
                policy,
                now=view.now,
                heartbeat_at=view.heartbeat_at,
                run_ended=view.run_ended,
                run=view.run,
            )
            if policy
            else None
        )
        return Ended(until, "; ".join(w.reason for w in waits) or "as it should be", in_time)

    async def _settled(self, view: View, standing: Standing, results: Sequence[Result]) -> Standing | Again | Ended:
        """Write a round's results. Who built on our permits in the meantime carried them over, so the results are
        settled on top of whatever stands now.
        """
        for _ in range(MAX_RESULT_TRIES):
            record = settle(standing.record, results)
            if record == standing.record:
                return standing
            event = round_notes.story_of(results)
            journaled = await self._journal.write(view, standing, record, event, when=view.now)
            if isinstance(journaled, Journaled):
                return journaled.standing
            if isinstance(journaled, Undecided):
                return unwritten(view, journaled)
            now = journaled.now
            if not isinstance(now, Standing) or now.place != "active":
                return Again("the ticket ended while the results were written")
            if standing.entry.sha not in {*(e.sha for e in now.entries), *now.earlier}:
                # Not built on our commit: somebody moved the ledger. A full look judges that.
                return Again("the ledger is not where it was", lost=True)
            standing = readable(now)
        return Again("others kept writing while the results were written", lost=True)

    async def _adopt(self, view: View, standing: Standing, head: Head, action: Adopt, author: str) -> Ended | Again:
        found = await self._actor.probe(view, action.permits)
        record = permits.adopted(settle(standing.record, found), action.permits, author=author, now=view.now)
        journaled = await self._journal.write(view, standing, record, "permits adopted", when=view.now)
        if not isinstance(journaled, Journaled):
            return unwritten(view, journaled)
        standing = journaled.standing
        mine = [p for p in standing.record.open if p.author == author and p.state != "accepted"]
        may_go = {p.id for p in action.again}
        wanted = [p for p in mine if p.id in may_go]
        dropped = [_given_up(p) for p in mine if p.id not in may_go]
        results = [*dropped, *await self._actor.send(view, journaled, head, wanted)]
        settled = await self._settled(view, standing, results)
        if not isinstance(settled, Standing):
            return settled
        if not any(isinstance(r, Unknown) for r in results):
            return Again("adopted permits are settled")
        return Ended(view.now + AFTER_UNANSWERED, "GitHub did not answer a write")

    async def _bring_back(self, view: View, standing: Standing, record: Record) -> Ended | Again:
        """The Return of a ticket that a person lets go on (the ownership protocol, R10), before an agent is started."""
        event = f"came back, by {record.intent.by}" if record.intent is not None else "came back"
        outcome = await self._journal.write(view, standing, record, event, when=view.now)
        if not isinstance(outcome, Journaled):
            return unwritten(view, outcome)
        return Again("the ticket came back")

    async def _fence_off(self, view: View, standing: Standing, action: FenceOff) -> Ended | Again:
        """Withdraw merges that may still come, in one update with the branch (the ownership protocol, R12)."""
        event = "merge withdrawn"
        outcome = await self._fencing.write(view, standing, standing.record, event, because=action.reason)
        if not isinstance(outcome, Journaled):
            return unwritten(view, outcome)
        return Again("a merge that may still come was withdrawn")

    async def _has_room(self, view: View, name: str) -> bool:
        if await view.repo.place_of_ref(name) is not None:
            return False
        blocking = [ref for ref in names_above(name) if await view.repo.exact_ref(ref) is not None]
        for ref in blocking:
            log.warning("a foreign head is not kept", ticket=view.ticket, because=f"{ref} leaves no room for {name}")
        return not blocking

    async def _restore(self, view: View, standing: Standing, action: RestoreBranch) -> Ended | Again:
        """The branch goes back in the same update as the ledger, so it cannot overwrite what a holder publishes at this
        moment; the foreign head is kept.
        """
        name = f"refs/heads/{action.branch}"
        also = [RefUpdate(name, action.found or ZERO_SHA, action.published, force=True)]
        if action.found is not None and action.found not in standing.record.burned_shas:
            kept = view.ledger.refs.recovered(view.ticket, action.found)
            # Already kept, or no room for it: keeping it must not stop the branch from coming back.
            if await self._has_room(view, kept):
                also.append(RefUpdate(kept, ZERO_SHA, action.found))
        projections = standing.record.projections
        if action.reopen_pr is not None:
            projections = projections.model_copy(update={"reopen_pr": action.reopen_pr})
        record = standing.record.model_copy(update={"projections": projections})
        journaled = await self._journal.write(view, standing, record, "branch put back", when=view.now, also=also)
        if isinstance(journaled, Undecided):
            await self._reporter.tell_unrestored(view, action, journaled.reason)
        if not isinstance(journaled, Journaled):
            return unwritten(view, journaled)
        return Again("the branch is back")


def _given_up(permit: Permit) -> Result:
    """A permit whose write is not wanted any more. An update of the branch or an edit of the base may still come late:
    it is known then, and until it is forgotten nothing is merged that it would send elsewhere (R3).
    """
    return Accepted(permit) if permit.kind in ("branch_update", "base_edit") else NotSent(permit)


def _over(view: View, outcome: str | Journaled | Lost | Undecided) -> Ended | Again:
    if isinstance(outcome, str):
        return Ended(None, outcome)
    return Again("the ticket's end is recorded") if isinstance(outcome, Journaled) else unwritten(view, outcome)


def _images(results: Sequence[Result]) -> Images:
    made = {r.permit.kind: r.number for r in results if isinstance(r, Made)}
    return Images(comment=made.get("comment_create"), check_run=made.get("check_run_create"))
