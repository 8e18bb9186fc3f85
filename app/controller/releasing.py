"""One round of the loop for one release: observe, decide, journal, act, settle, project.

The guard comes first where it is red, and last where it is green. A round with guarded writes makes one ledger commit
that opens their permits and one with their results; any other round writes at most one. A round that changed something
is followed by another look; a second round on an unchanged world writes nothing.

Accepted loss: a process that dies between two steps leaves an open permit, adopted by whoever looks next.
"""

import asyncio
import random
import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import structlog

from app.controller.authors import Authors
from app.controller.release_acting import ReleaseActor, permit_for
from app.controller.release_guarding import GuardLook, ReleaseGuarding, Spoken
from app.controller.release_journal import Noted, ReleaseJournal, is_ours_below
from app.controller.release_looks import ReleaseLooks, ReleaseView
from app.controller.release_showing import left_behind, show_comment, spoken_of
from app.controller.turn import AFTER_UNANSWERED, Again, Ended
from app.domain import release_permits
from app.domain.authorization import Authorized, NotYet
from app.domain.keys import TrunkKey
from app.domain.permits import due_at
from app.domain.release_actions import (
    AdoptRelease,
    Dequeue,
    EditReleaseBase,
    EditReleaseText,
    GuardedRelease,
    MergeRelease,
    NoteReleasePull,
    ReleasePlan,
    RemoveReleaseComment,
    ReopenReleasePull,
    SetReleaseDraft,
    StopAutoMerge,
    WaitRelease,
    WithdrawMerge,
    report_marker,
    target_of,
)
from app.domain.release_decide import ReleaseSituation, decide
from app.domain.release_frozen import frozen_release_report
from app.domain.release_guard import GuardAnswer
from app.domain.release_record import ReleasePermit, ReleaseRecord, begun
from app.domain.release_settling import (
    Noted as OnlyNoted,
)
from app.domain.release_settling import (
    NotSentRelease,
    ReleaseResult,
    UnknownRelease,
    WithdrawnRelease,
    noted,
    settle,
)
from app.domain.release_standing import ended_lately, standing_of
from app.github.errors import GitHubError
from app.github.pace import PATIENCE_S
from app.github.pulls import PullRefusal, PullRefused
from app.ledger.api import Undecided
from app.ledger.releases import ReleaseLedgerStanding, ReleaseLost

MAX_TURNS = 6
"""Looks in one run of a key. More than that is another's turn: the key is due again in a moment."""
SECOND_LOOK = timedelta(seconds=5)
AGAIN_WHILE_AUTHORIZED = timedelta(minutes=5)
"""A release that may be merged is looked at this often though nothing is told of it: a comment can be deleted, or a
permission taken away, without an event of it reaching anybody. So is one whose word ended lately: a green that was sent
before may arrive after the red.
"""
FROZEN_AGAIN = timedelta(hours=1)
MAX_RESULT_TRIES = 5
LOST_TWICE_S = 2.0

log = structlog.get_logger()


class Releasing:
    """Runs rounds for releases."""

    def __init__(
        self,
        looks: ReleaseLooks,
        journal: ReleaseJournal,
        guarding: ReleaseGuarding,
        actor: ReleaseActor,
        authors: Authors,
    ) -> None:
        self._looks = looks
        self._journal = journal
        self._guarding = guarding
        self._actor = actor
        self._authors = authors

    async def run(self, key: TrunkKey, answers: list[ReleaseResult] | None = None) -> Ended:
        """Bring one release to where it should be. `answers`: takes what came of guarded writes, for whoever asked for
        one. Raises GitHubError where GitHub does not answer.
        """
        owner, _, name = key.repository.partition("/")
        last, losses, now = "nothing happened", 0, None
        for _ in range(MAX_TURNS):
            view = await self._looks.look(await self._looks.place(owner, name), key.branch)
            if isinstance(view, str):
                return Ended(None, view)
            now = view.now
            with self._authors.run() as author:
                outcome = await self._turn(view, author, [] if answers is None else answers)
            if isinstance(outcome, Ended):
                return outcome
            last, losses = outcome.reason, losses + outcome.lost
            if losses >= 2:
                await asyncio.sleep(random.uniform(0.05, LOST_TWICE_S))
        assert now is not None
        return Ended(now + SECOND_LOOK, f"still changing: {last}")

    async def show_red(self, view: ReleaseView) -> int:
        """Show every guard run of the release that should not be green as it is; returns how many were written."""
        look = await self._guarding.look(view.repo, view.place.ground(view.policy))
        return await self._guarding.write(view.repo, [a for a in await self._answers(view, look) if _is_red(a)])

    async def take_back(self, view: ReleaseView, number: int, node_id: str | None) -> bool:
        """A merge that may be under way is not wanted any more: the guard red, the PR a draft, then the PR read (the
        ownership protocol, R22). `node_id` None: GitHub does not show it as a PR of this release any more, so it is
        only read. Returns whether it was merged. Raises GitHubError where that cannot be known.
        """
        await self.show_red(view)
        try:
            if node_id is not None:
                await view.repo.set_draft(node_id, True)
        except GitHubError as refusal:
            # Not every plan has drafts, and a merged pull request is none any more: the guard is red all the same.
            log.warning("release not made a draft", release=view.branch, pull=number, answer=str(refusal))
        return (await view.repo.pull_now(number)).merged

    async def _turn(self, view: ReleaseView, author: str, came: list[ReleaseResult]) -> Ended | Again:
        if view.frozen is not None:
            return await self._frozen(view)
        look = await self._guarding.look(view.repo, view.place.ground(view.policy))
        answers = await self._answers(view, look)
        shown = await self._guarding.write(view.repo, [a for a in answers if _is_red(a)])
        green = [a for a in answers if not _is_red(a)]
        plan = decide(ReleaseSituation(view.observation, _begun_or(view), view.policy, self._authors.is_dead))
        for action in plan:
            log.info("planned", release=view.branch, action=type(action).__name__, reason=action.reason)
        adopting = next((a for a in plan if isinstance(a, AdoptRelease)), None)
        if adopting is not None:
            return await self._adopt(view, plan, adopting, author)
        withdrawing = next((a for a in plan if isinstance(a, WithdrawMerge)), None)
        if withdrawing is not None:
            return await self._withdraw(view, plan, withdrawing)
        guarded = [a for a in plan if isinstance(a, GuardedRelease)]
        makes = any(not isinstance(a, MergeRelease | EditReleaseBase) for a in guarded)
        if makes and (wait_s := await view.repo.session.content_wait_s()) > PATIENCE_S:
            # Asked before a permit is opened: a ledger that opens permits in vain would tell nothing but that.
            await self._unguarded(view, plan)
            return Ended(view.now + timedelta(seconds=wait_s), "GitHub takes no more new content for now")
        return await self._carry_out(view, plan, author, shown, green, came)

    async def _carry_out(
        self,
        view: ReleaseView,
        plan: ReleasePlan,
        author: str,
        shown: int,
        green: Sequence[GuardAnswer],
        came: list[ReleaseResult],
    ) -> Ended | Again:
        written = shown + await self._unguarded(view, plan)
        guarded = [a for a in plan if isinstance(a, GuardedRelease)]
        round_id = secrets.token_hex(6)
        opening = [(permit_for(a, author=author, round_id=round_id), a) for a in guarded]
        record = _noted(view, plan)
        permits = tuple(permit for permit, _ in opening)
        record = release_permits.opened(record, permits, round_id=round_id, author=author, now=view.now)
        results: list[ReleaseResult] = []
        changed = record != view.record and not (view.record is None and record == _begun(view))
        if changed:
            journaled = await self._journal.write(view, record, _event_of(plan, permits))
            if not isinstance(journaled, Noted):
                return _unwritten(view, journaled)
            # What is open now may be more than was meant: a permit of the same write that may still come is kept.
            view = journaled.view
            results = await self._actor.send(journaled, opening)
            came += results
        settled = await self._settled(view, results)
        if not isinstance(settled, ReleaseView):
            return settled
        if any(isinstance(r, UnknownRelease) for r in results):
            return Ended(view.now + AFTER_UNANSWERED, "GitHub did not answer a write")
        if any(isinstance(a, MergeRelease) for a in guarded):
            return Again("a merge was tried")
        if changed or results or written > shown:
            return Again("the release was brought closer to what it should be")
        return await self._project(settled, plan, written, green)

    async def _project(self, view: ReleaseView, plan: ReleasePlan, written: int, green: Sequence[GuardAnswer]) -> Ended:
        """The comment, and the guard where it is green; then when to look again."""
        written += await show_comment(view)
        if green and await self._is_current(view):
            written += await self._guarding.write(view.repo, green)
        if written or green:
            return Ended(view.now + SECOND_LOOK, "something was written; a second look checks it")
        waits = [a for a in plan if isinstance(a, WaitRelease)]
        until = min((w.until for w in waits if w.until is not None), default=None)
        return Ended(until, "; ".join(w.reason for w in waits) or "as it should be", self._in_time(view))

    def _in_time(self, view: ReleaseView) -> datetime | None:
        """When time alone may have changed something."""
        record = view.record
        if record is None or not (record.standing or record.merges_open or ended_lately(record, view.now)):
            return None
        verdict = standing_of(record, view.observation, view.policy).verdict
        until = verdict.until if isinstance(verdict, Authorized | NotYet) else None
        return min(t for t in (until, view.now + AGAIN_WHILE_AUTHORIZED) if t is not None)

    async def _is_current(self, view: ReleaseView) -> bool:
        """Whether the ledger stands where the view saw it."""
        head = await view.ledger.head(view.branch)
        return head == (view.standing.entry.sha if view.standing is not None else None)

    async def _unguarded(self, view: ReleaseView, plan: ReleasePlan) -> int:
        """Writes whose own precondition guards them; returns how many were made."""
        written = 0
        repo = view.repo
        for action in plan:
            try:
                match action:
                    case StopAutoMerge(node_id=node_id):
                        await repo.stop_auto_merge(node_id)
                    case Dequeue(node_id=node_id):
                        await repo.dequeue(node_id)
                    case EditReleaseText(number=number, title=title, body=body):
                        await repo.edit_text(number, title, body)
                    case SetReleaseDraft(node_id=node_id, draft=draft):
                        await repo.set_draft(node_id, draft)
                    case RemoveReleaseComment(comment_id=comment_id):
                        await repo.delete_comment(comment_id)
                    case ReopenReleasePull(number=number):
                        await self._reopen(view, number)
                    case _:
                        continue
            except GitHubError as refusal:
                tried = type(action).__name__
                log.warning("release not put right", release=view.branch, action=tried, answer=str(refusal))
                if isinstance(action, StopAutoMerge | Dequeue | EditReleaseText):
                    # What else the release needs does not wait for it; the next look tries again.
                    continue
                raise
            written += 1
        return written

    async def _reopen(self, view: ReleaseView, number: int) -> None:
        answer = await view.repo.reopen_pull(number)
        if not isinstance(answer, PullRefused):
            return
        log.warning("reopening refused", release=view.branch, pull=number, answer=answer.message)
        if answer.kind in (PullRefusal.HEAD_MISSING, PullRefusal.NO_COMMITS):
            # GitHub may not have noticed yet; the next look tries again.
            return
        # The closed PR is given up: the next look opens a new one under a permit.
        record = noted(_begun_or(view), NoteReleasePull(None, (number,), "GitHub does not reopen it"))
        await self._journal.write(view, record, "PR cannot be reopened")

    async def _adopt(self, view: ReleaseView, plan: ReleasePlan, action: AdoptRelease, author: str) -> Ended | Again:
        before = view.record
        assert before is not None  # permits are open, so a ledger stands
        due = due_at(before.round)
        lingering = all(p.kind == "release_merge" and p.unanswered for p in action.permits)
        if lingering and not action.again and due is not None and view.now <= due:
            # A merge that may still come is only waited for: nobody else would do more.
            written = await show_comment(view)
            return Ended(due, f"a merge may still come; {written} shown")
        found = await self._actor.probe(view, action.permits)
        record = settle(_noted(view, plan), found)
        record = release_permits.adopted(record, action.permits, author=author, now=view.now)
        journaled = await self._journal.write(view, record, "permits adopted")
        if not isinstance(journaled, Noted):
            return _unwritten(view, journaled)
        record = _begun_or(journaled.view)
        actions = {target_of(a): a for a in self._wanted(view)}
        mine = [p for p in record.open if p.author == author and p.state in ("fired", "unknown")]
        may_go = {p.id for p in action.again}
        sent = [(p, actions[p.kind, p.target]) for p in mine if p.id in may_go and (p.kind, p.target) in actions]
        gone = {p.id for p, _ in sent}
        results: list[ReleaseResult] = [NotSentRelease(p) for p in mine if p.id not in gone]
        results += await self._actor.send(journaled, sent)
        settled = await self._settled(journaled.view, results)
        if not isinstance(settled, ReleaseView):
            return settled
        if any(isinstance(r, UnknownRelease) for r in results):
            return Ended(view.now + AFTER_UNANSWERED, "GitHub did not answer a write")
        return Again("adopted permits are settled")

    def _wanted(self, view: ReleaseView) -> list[GuardedRelease]:
        """What would be decided if no permit were open: the actions that adopted permits stand for."""
        record = _begun_or(view)
        free = record.model_copy(update={"open": tuple(p for p in record.open if p.state == "withdrawn")})
        plan = decide(ReleaseSituation(view.observation, free, view.policy, self._authors.is_dead))
        return [a for a in plan if isinstance(a, GuardedRelease)]

    async def _withdraw(self, view: ReleaseView, plan: ReleasePlan, action: WithdrawMerge) -> Ended | Again:
        merged = await self.take_back(view, action.number, action.node_id)
        if merged:
            return Again("it was merged before that")
        record = settle(_noted(view, plan), [WithdrawnRelease(p, action.reason) for p in action.permits])
        journaled = await self._journal.write(view, record, "merge withdrawn")
        return Again("a merge was withdrawn") if isinstance(journaled, Noted) else _unwritten(view, journaled)

    async def _settled(self, view: ReleaseView, results: Sequence[ReleaseResult]) -> ReleaseView | Again | Ended:
        """Write a round's results. Who built on our permits in the meantime carried them over, so the results are
        settled on top of whatever stands now.
        """
        if not results:
            return view
        for _ in range(MAX_RESULT_TRIES):
            before = _begun_or(view)
            record = settle(before, results)
            if record == before:
                return view
            journaled = await self._journal.write(view, record, _story_of(results))
            if isinstance(journaled, Noted):
                return journaled.view
            if isinstance(journaled, Undecided):
                return _unwritten(view, journaled)
            now = journaled.now
            if (
                view.standing is None
                or not isinstance(now, ReleaseLedgerStanding)
                or not is_ours_below(view.standing, now)
            ):
                return Again("the release's ledger is not where it was", lost=True)
            view = replace(view, standing=now)
        return Again("others kept writing while the results were written", lost=True)

    async def _answers(self, view: ReleaseView, look: GuardLook) -> tuple[GuardAnswer, ...]:
        ground = view.place.ground(view.policy)

        async def also(branch: str) -> Spoken:
            other = await self._looks.look(view.place, branch)
            return Spoken() if isinstance(other, str) else spoken_of(other)

        spoken = spoken_of(view)
        if view.frozen is not None:
            spoken = replace(spoken, left=await left_behind(view))
        return await self._guarding.of_release(view.repo, look, view.branch, spoken, ground, view.policy, also)

    async def _frozen(self, view: ReleaseView) -> Ended:
        """Nothing is decided from a ledger that cannot be trusted: the guard is red, and people are told once."""
        assert view.frozen is not None
        written = await self.show_red(view)
        pull = next(iter(view.observation.open_pulls), None)
        marker = report_marker(view.frozen.edge)
        if pull is not None and not await view.repo.find_comments(pull.number, marker):
            await view.repo.create_comment(pull.number, frozen_release_report(view.branch, view.frozen))
            written += 1
        again_at = view.now + (SECOND_LOOK if written else FROZEN_AGAIN)
        return Ended(again_at, f"frozen: {view.frozen.reason}")


def _is_red(answer: GuardAnswer) -> bool:
    return answer.verdict.conclusion != "success"


def _begun(view: ReleaseView) -> ReleaseRecord:
    return begun(view.branch, view.observation.into_name).model_copy(update={"begun_at": view.since})


def _begun_or(view: ReleaseView) -> ReleaseRecord:
    return view.record or _begun(view)


def _noted(view: ReleaseView, plan: ReleasePlan) -> ReleaseRecord:
    """The record with what is only written down."""
    record = _begun_or(view)
    for action in plan:
        if isinstance(action, OnlyNoted):
            record = noted(record, action)
    return record


def _event_of(plan: ReleasePlan, permits: Sequence[ReleasePermit]) -> str:
    """The subject of the commit that a round writes before it acts."""
    if permits:
        return f"to do: {', '.join(sorted({p.kind.replace('_', ' ') for p in permits}))}"[:80]
    names = [type(a).__name__ for a in plan if isinstance(a, OnlyNoted)]
    return f"seen: {', '.join(dict.fromkeys(names))}"[:80]


def _story_of(results: Sequence[ReleaseResult]) -> str:
    words = {f"{r.permit.kind.replace('_', ' ')} {type(r).__name__.removesuffix('Release').lower()}" for r in results}
    return f"done: {', '.join(sorted(words))}"[:80]


def _unwritten(view: ReleaseView, outcome: ReleaseLost | Undecided) -> Again | Ended:
    """After a compare-and-set that was not won. While one is undecided no other commit is built (R8)."""
    if isinstance(outcome, Undecided):
        return Ended(view.now + AFTER_UNANSWERED, f"GitHub does not say whether it was written: {outcome.reason}")
    return Again("somebody else wrote first", lost=True)
