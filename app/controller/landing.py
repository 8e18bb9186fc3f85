"""The writes of a landing, each under its permit: merge, queue, update of the branch, another base, closed Issue.

What if it happened and we did not hear: the pull request or the Issue is read before anything is sent again, and what
reading does not settle stays open as unknown. What if two of us do it: a permit has one author, and GitHub refuses a
second merge and every other head. What if our lease is gone: then the permit does not stand any more, which is read
again before each send; a merge at GitHub's door meets the fence commit of whoever took over.
"""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from app.controller.pokes import PokeStore
from app.controller.view import View
from app.domain.branches import owner_of_branch
from app.domain.keys import TicketKey
from app.domain.landing_settled import Accepted, Merge, Moot
from app.domain.merge_answer import Meaning, Seen, meaning_of
from app.domain.merge_next import (
    ByQueue,
    ByStack,
    Landed,
    Next,
    NotAsMeant,
    Pending,
    ReadFirst,
    Reevaluate,
    RefusedBy,
    TryAgain,
    after_answer,
)
from app.domain.merge_text import merge_text
from app.domain.pull_class import TicketPull, landable
from app.domain.record import Merged, Permit
from app.domain.settling import Declined, Made, NotSent, Result, Unknown
from app.domain.situation import ticket_pull
from app.github.errors import GitHubError
from app.github.merged_pulls import PullNow
from app.github.merging import Enqueued, QueueRefusal, UpdateRefusal, UpdateRefused
from app.github.pull_edits import BaseRefused
from app.ledger.reading import Standing

StillOurs = Callable[[], Awaitable[bool]]
"""Whether a permit stands at the ledger's head and is ours, read now (the ownership protocol, R4)."""

log = structlog.get_logger()


class Lander:
    """Sends what permits of a landing allow, and looks for what they may have done."""

    def __init__(self, pokes: PokeStore, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._pokes = pokes
        self._sleep = sleep

    async def send(self, view: View, standing: Standing, permit: Permit, still_ours: StillOurs) -> Result:
        """Carry out one permit of ours. Raises Unanswered where it may have happened unheard, and other GitHubErrors
        where GitHub refused.
        """
        match permit.kind:
            case "merge":
                return await self._merge(view, standing, permit, still_ours)
            case "enqueue":
                return await self._enqueue(view, permit)
            case "branch_update":
                return await self._update(view, permit)
            case "base_edit":
                return await self._edit_base(view, permit)
            case "issue_close":
                return await self._close_issue(view, permit)
        raise ValueError(f"{permit.kind} is no write of a landing")

    async def probe(self, view: View, permit: Permit) -> Result | None:
        """What stands already of one permit; None says nothing about whether it will still come. Raises GitHubError."""
        number = permit.target.number
        if number is None:
            return NotSent(permit)
        if permit.kind == "issue_close":
            issue = view.observation.issue
            return Made(permit, number) if issue is not None and issue.state == "CLOSED" else None
        if permit.kind == "branch_update":
            return None
        now = await view.repo.pull_now(number)
        if permit.kind == "base_edit":
            return Made(permit, number) if now.base == permit.target.base else None
        if (merged := _merged(permit, now, view)) is not None:
            return Merge(permit, merged)
        return Accepted(permit) if permit.kind == "enqueue" and now.queued else None

    async def _merge(self, view: View, standing: Standing, permit: Permit, still_ours: StillOurs) -> Result:
        target = permit.target
        pull = _landable(view, permit)
        if target.number is None or target.base is None or pull is None or pull.head_sha != target.head_sha:
            return NotSent(permit)
        method = target.method or "merge"
        text = merge_text(pull, method, standing.record.generation)
        tries = 0
        while True:
            reply = await view.repo.merge_pull(pull, method, text)
            answer = meaning_of(reply.status, reply.message)
            log.info("merge answered", ticket=str(view.ticket), status=reply.status, meaning=answer.meaning)
            step = after_answer(answer, wanted_sha=target.head_sha, wanted_base=target.base, tries=tries)
            now: PullNow | None = None
            if isinstance(step, ReadFirst):
                try:
                    now = await view.repo.pull_now(target.number)
                except GitHubError as silence:
                    log.warning("merge not read", ticket=str(view.ticket), error=str(silence))
                    return Unknown(permit)
                if (merged := _merged(permit, now, view)) is not None:
                    return Merge(permit, merged)
                seen = Seen(now.merged, now.head_sha, now.base)
                step = after_answer(answer, wanted_sha=target.head_sha, wanted_base=target.base, tries=tries, seen=seen)
            heard_merged = answer.meaning is Meaning.MERGED or (now is not None and now.merged)
            if reply.status is None or reply.status >= 500 or heard_merged:
                # It may still come, whatever the PR shows, or it came and is not shown whole: a later look settles it.
                return Unknown(permit)
            if not isinstance(step, TryAgain):
                return _result(permit, step, view)
            tries += 1
            await self._sleep(step.after.total_seconds())
            if not await still_ours():
                return NotSent(permit)

    async def _enqueue(self, view: View, permit: Permit) -> Result:
        pull = _landable(view, permit)
        if pull is None or permit.target.head_sha is None:
            return NotSent(permit)
        answer = await view.repo.enqueue(pull, permit.target.head_sha)
        if isinstance(answer, Enqueued) or answer.kind is QueueRefusal.ALREADY_QUEUED:
            return Accepted(permit)
        if answer.kind is QueueRefusal.HEAD_MOVED:
            return Moot(permit, answer.message, view.now)
        return Declined(permit, answer.message, view.now)

    async def _update(self, view: View, permit: Permit) -> Result:
        target = permit.target
        if target.number is None or target.head_sha is None:
            return NotSent(permit)
        answer = await view.repo.update_branch(target.number, target.head_sha)
        if not isinstance(answer, UpdateRefused):
            return Accepted(permit)
        if answer.kind is UpdateRefusal.HEAD_MOVED:
            # An earlier send may be why: the new head is looked at with this permit in hand.
            return Accepted(permit) if permit.unanswered else NotSent(permit)
        if answer.kind in (UpdateRefusal.UP_TO_DATE, UpdateRefusal.QUEUED):
            return NotSent(permit)
        return Declined(permit, answer.message, view.now)

    async def _edit_base(self, view: View, permit: Permit) -> Result:
        target = permit.target
        if target.number is None or target.base is None:
            return NotSent(permit)
        now = await view.repo.pull_now(target.number)
        if now.base == target.base:
            return Made(permit, target.number)
        if now.state != "OPEN" or now.base != target.base_from:
            # A person moved it meanwhile: theirs is the newer word. An edit that was sent before may still come.
            return Accepted(permit) if permit.unanswered else NotSent(permit)
        if await view.repo.is_in_a_stack(target.number):
            return Declined(permit, "the pull request is in a native stack, whose bases GitHub moves", view.now)
        answer = await view.repo.edit_base(target.number, target.base)
        if isinstance(answer, BaseRefused):
            return Declined(permit, answer.message, view.now)
        await self._tell_base(view, target.base_from)
        return Made(permit, target.number)

    async def _tell_base(self, view: View, branch: str | None) -> None:
        """The ticket that was built on waits with its branch until nobody builds on it any more."""
        below = owner_of_branch(branch) if branch is not None else None
        if below is not None:
            await self._pokes.poke(str(TicketKey(view.repo.full_name, below)))

    async def _close_issue(self, view: View, permit: Permit) -> Result:
        number, issue = permit.target.number, view.observation.issue
        if number is None or issue is None or number != issue.number:
            return NotSent(permit)
        if issue.state == "OPEN":
            await view.repo.close_issue(number)
        await self._tell_waiting(view)
        return Made(permit, number)

    async def _tell_waiting(self, view: View) -> None:
        """Tickets whose Issues waited for this one may land now, and no event of theirs says so."""
        around = view.observation.around
        waiting = (*around.blocking, *([around.parent] if around.parent is not None else []))
        here = [one.number for one in waiting if one.is_open and one.repository is None]
        await self._pokes.poke(*(str(TicketKey(view.repo.full_name, number)) for number in here))


def _result(permit: Permit, step: Next, view: View) -> Result:
    match step:
        case Reevaluate(reason=reason):
            return Moot(permit, reason, view.now)
        case Pending(reason=words) | ByQueue(reason=words) | ByStack(reason=words) | RefusedBy(words=words):
            return Declined(permit, words, view.now)
        case Landed() | NotAsMeant() | ReadFirst() | TryAgain():
            return Unknown(permit)


def _merged(permit: Permit, now: PullNow, view: View) -> Merged | None:
    """The merge as the pull request shows it; None where it is not merged."""
    number = permit.target.number
    return now.merge(number, view.now) if now.merged and number is not None else None


def _landable(view: View, permit: Permit) -> TicketPull | None:
    """The pull request of a permit, if it is of the one class that lands."""
    record, policy = view.record, view.usable_policy
    pull = ticket_pull(record, view.observation) if record is not None else None
    if record is None or pull is None or policy is None or pull.number != permit.target.number:
        return None
    found = landable(pull, record, view.observation, policy)
    return found if isinstance(found, TicketPull) else None
