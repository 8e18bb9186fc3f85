"""Fencing off: a write on a ledger that at the same moment keeps a merge from happening, and what became of the merge.

Wanted (the ownership protocol, R12 and I6): the fence commit and the ledger's commit move in one update or not at all;
nobody is told that the ticket is held, cancelled, moved or taken before it is known whether the merge came first.

| what happens | what becomes of it |
|---|---|
| the merge was carried out before | the PR shows it merged: the answer is "landed" |
| the branch went with the merge, or was pushed to | the update is refused as a whole; the next look decides afresh |
| the merge arrives after | GitHub refuses it: its head is not the PR's any more |
| the update was carried out unheard | the ledger says so (R8); the fence commit is in it |
| this process dies after the update | whoever is asked again finds the fence in the record, and reads the PR first |
| GitHub does not let the branch move | nothing is written, the answer is "unresolved", and a person is told once |

Accepted loss: a fence commit that was made and not used lies unreachable until GitHub clears it away.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import structlog

from app.controller.journal import Journal, Journaled
from app.controller.reporting import Reporter
from app.controller.view import View
from app.domain.fence_commit import (
    Disarming,
    Fenced,
    Landed,
    PullNow,
    Unresolved,
    disarming,
    fenced_off,
    may_still_merge,
    resolution,
)
from app.domain.model import ZERO_SHA
from app.domain.outcome import Blocked, Code, Refused
from app.domain.person_verbs import landed_before
from app.domain.record import Record
from app.domain.refs import Place
from app.domain.situation import ticket_pull
from app.github.errors import GraphQLFailed, NotFound, Unanswered
from app.github.refs import RefUpdate
from app.ledger.api import Lost, Undecided
from app.ledger.reading import Standing

WAITS_S = (0.2, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
"""Between two looks at a PR that does not show its branch's new head yet: GitHub follows a push within seconds."""

log = structlog.get_logger()


class FencingOff:
    """Writes ledgers where a merge may still come."""

    def __init__(
        self, journal: Journal, reporter: Reporter, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._journal = journal
        self._reporter = reporter
        self._sleep = sleep

    async def write(
        self,
        view: View,
        standing: Standing,
        record: Record,
        event: str,
        *,
        because: str,
        also: Sequence[RefUpdate] = (),
        to: Place = "active",
    ) -> Journaled | Lost | Undecided:
        """Put `record` on top of `standing`, in one update with a fence commit where a merge may still come; the record
        is then the one after it. `because`: for whoever reads the branch. Raises as `Journal.write` does.
        """
        made = disarming(record, view.head_under(record))
        if made is None:
            return await self._journal.write(view, standing, record, event, when=view.now, also=also, to=to)
        sha = await self._commit(view, made, because)
        log.info("merge fenced off", ticket=str(view.ticket), on=made.on, by=sha, because=because)
        outcome = await self._journal.write(
            view,
            standing,
            fenced_off(record, made, sha, because),
            event,
            when=view.now,
            also=(*also, *await self._moves(view, made, sha)),
            to=to,
        )
        if isinstance(outcome, Undecided):
            await self._reporter.tell_unfenced(view, made, outcome.reason)
        if isinstance(outcome, Journaled) and any(p.kind == "enqueue" for p in may_still_merge(record)):
            await self._leave_queue(view)
        return outcome

    async def outcome(self, view: View, record: Record) -> Landed | Fenced | Unresolved:
        """What became of the merges that the record's fence commit was made against, once GitHub shows it; a bounded
        wait. Raises GitHubError where GitHub does not answer.
        """
        number = record.projections.pr_number
        if record.fence is None or number is None:
            return Fenced()
        for wait in (*WAITS_S, None):
            try:
                now = await _read(view, number)
            except NotFound:
                return Fenced()
            found = resolution(record, now)
            if not isinstance(found, Unresolved) or wait is None:
                return found
            if now.queued:
                await self._leave_queue(view)
            await self._sleep(wait)
        raise AssertionError("the loop above returns")

    async def _leave_queue(self, view: View) -> None:
        """A push to the branch takes its PR out of a merge queue; one that GitHub is about to merge it may leave there,
        so it is said, too. What became of it is read afterwards.
        """
        pull = ticket_pull(view.record, view.observation) if view.record is not None else None
        try:
            if pull is not None:
                await view.repo.dequeue(pull.node_id)
        except (GraphQLFailed, Unanswered) as answer:
            log.info("not taken out of the queue", ticket=str(view.ticket), answer=str(answer))

    async def _commit(self, view: View, made: Disarming, because: str) -> str:
        tree = await view.repo.tree_of(made.on)
        message = f"Withdraw {made.on[:12]}: {because}\n\nAn empty commit, so that this head cannot be merged any more."
        return await view.repo.create_commit(tree, (made.on,), message, view.now)

    async def _moves(self, view: View, made: Disarming, sha: str) -> tuple[RefUpdate, ...]:
        moves = [RefUpdate(f"refs/heads/{made.branch}", made.before or ZERO_SHA, sha, force=made.forces)]
        if made.keep is not None:
            kept = view.ledger.refs.recovered(view.ticket, made.keep)
            if await view.repo.place_of_ref(kept) is None:
                moves.append(RefUpdate(kept, ZERO_SHA, made.keep))
        return tuple(moves)


async def _read(view: View, number: int) -> PullNow:
    now = await view.repo.pull_now(number)
    return PullNow(number, now.state, now.head_sha, now.base, now.queued)


def unresolved(reason: str) -> Blocked:
    """The answer while nobody can say whether a merge that was sent will be carried out."""
    return Blocked(
        Code.LANDING_UNRESOLVED,
        f"the landing is unresolved: {reason}",
        "run the same command again in a minute: it says what became of the merge",
        retryable=True,
    )


def require_fenced(record: Record, found: Landed | Fenced | Unresolved) -> None:
    """Raises Refused where a merge came first, or while that is not known: only then may anybody be answered."""
    if isinstance(found, Landed):
        raise Refused(landed_before(record, found.pull.number, found.pull.base))
    if isinstance(found, Unresolved):
        raise Refused(unresolved(found.reason))
