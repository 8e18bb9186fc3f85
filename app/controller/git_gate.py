"""The gate of the service's git endpoint: whose git passes, and how its push becomes one update with the ledger.

Wanted properties (the ownership protocol, R14 and R17): nothing passes but for the present holder, and only while the
account that claimed may write itself; a push moves the ticket branch only together with a ledger commit of the holder's
own generation, which is its own or one that is added here; so a takeover at any moment before GitHub acts refuses all
of it.

| what happens | what becomes of it |
|---|---|
| it was carried out and nobody heard | the next look finds our commit in the ledger: it was done |
| GitHub was not heard, the refs stand | the same commit is sent again, never another (R8) |
| another write of the same lease came first | a new ledger commit is made on top of it, the same pack is sent again |
| the lease was taken over meanwhile | GitHub refuses both refs, the next look tells the pusher who holds the ticket |
| this process dies | all of it happened or nothing; nothing is kept that another would have to finish |
"""

import asyncio
import random
import re
from dataclasses import dataclass

from app.controller.accounts import Accounts
from app.controller.briefing import frozen_refusal
from app.controller.heartbeats import Heartbeats, Holder
from app.controller.holding import Holding, require_own, require_writable
from app.controller.journal import record_full
from app.controller.pokes import PokeStore
from app.controller.view import View, Views
from app.controller.witnessing import Witnessing
from app.domain.fence import present_lease
from app.domain.outcome import Blocked, Code, Refused
from app.domain.policy import Policy
from app.domain.push_rules import Command, Grounds, Passes, Stopped, judge
from app.domain.pushed import pushed
from app.domain.record import Lease
from app.domain.token import Claims
from app.github.errors import Unanswered
from app.github.held_pack import HeldPack
from app.github.pack import NewObject
from app.github.relayed_push import PushReport, PushRequest
from app.github.repository import Repository
from app.ledger.codec import Draft, NotStorable, blob_bytes, commit_bytes, tree_bytes
from app.ledger.reading import Standing

MAX_TRIES = 10
UNMOVED_TRIES = 3
"""Of a push that was refused as a race though nothing had moved: then it is none, and the server's word is final."""
LONGEST_PAUSE_S = 2.0

_RACE = re.compile(r"lock|expected|already exists|failed to update|stale|atomic|reference")
_SEEN_TWICE = (Code.FOREIGN_COMMITS, Code.LOST_RACE, Code.USAGE)
"""Refusals that rest on where a ref was seen. Refs may show late, and ledger and branch are not read at one moment: so
they are believed at the second look.
"""


@dataclass(frozen=True)
class _Sending:
    """One push as it is sent. `commit`: the ledger commit it brings; `base`: the one below."""

    base: str
    commit: str
    more: tuple[Command, ...] = ()
    objects: tuple[NewObject, ...] = ()
    draft: Draft | None = None


@dataclass
class _Course:
    """What one push came to so far, over all its tries."""

    sending: _Sending | None = None
    refused: PushReport | None = None
    """The server's last word, where it gave one."""
    unheard: str = ""
    """Why the server was not heard, where the last try ended so."""
    unmoved: int = 0
    was_stopped: bool = False

    def last_word(self, standing: Standing) -> PushReport | None:
        """The server's refusal, where nothing has moved since: then it is no race, and trying again changes nothing."""
        if self.refused is None or self.sending is None or self.sending.base != standing.entry.sha:
            return None
        self.unmoved += 1
        return self.refused if self.unmoved == UNMOVED_TRIES or not _is_race(self.refused) else None


class GitGate:
    """Lets holders' git through."""

    def __init__(
        self,
        views: Views,
        holding: Holding,
        accounts: Accounts,
        heartbeats: Heartbeats,
        witnessing: Witnessing,
        pokes: PokeStore,
    ) -> None:
        self._views = views
        self._accounts = accounts
        self._holding = holding
        self._heartbeats = heartbeats
        self._witnessing = witnessing
        self._pokes = pokes

    async def admit(self, owner: str, name: str, claims: Claims, *, to_push: bool) -> Repository:
        """The repository, for the present holder. Whose ticket is on hold may still read. Raises Refused, Gone."""
        repo, standing, _ = await self._holding.standing(owner, name, claims.ticket, claims)
        lease = present_lease(standing.record, claims, repository_id=repo.id, ticket=claims.ticket)
        if isinstance(lease, Blocked) and (to_push or lease.code is not Code.HELD):
            raise Refused(lease)
        await self._require_account(repo, standing.record.lease)
        return repo

    async def push(self, owner: str, name: str, claims: Claims, request: PushRequest, pack: HeldPack) -> PushReport:
        """Carries a push out and says what became of it, in the words its git reads. Raises Refused where the caller
        may push nothing at all (any more), and GitHub's refusals.
        """
        course = _Course()
        for tried in range(MAX_TRIES):
            if tried:
                await asyncio.sleep(min(random.uniform(0.05, 0.2) * 2**tried, LONGEST_PAUSE_S))
            view = await self._views.look(owner, name, claims.ticket)
            report = await self._try(view, claims, request, pack, course)
            if report is not None:
                return report.about(request.commands)
        raise Refused(_undecided(course.unheard) if course.unheard else _outrun())

    async def _try(
        self, view: View, claims: Claims, request: PushRequest, pack: HeldPack, course: _Course
    ) -> PushReport | None:
        """One look, and one sending where it is still to be sent. None: nobody knows yet, or another one is due."""
        require_own(claims, view.repo.id)
        if course.sending is not None and _stands_in(view.standing, course.sending.commit):
            await self._note(view, claims)
            return PushReport(dict.fromkeys((command.ref for command in request.commands), None))
        standing, lease = _present(view, claims)
        await self._require_account(view.repo, lease)
        if (word := course.last_word(standing)) is not None:
            return word
        judged = judge(request.commands, _grounds(view, standing))
        if isinstance(judged, Stopped):
            believed = course.was_stopped or any(b.code not in _SEEN_TWICE for b in judged.refusals.values())
            course.was_stopped = True
            return _told(request, judged) if believed else None
        if course.sending is None or course.sending.base != standing.entry.sha:
            course.sending, course.unmoved = self._prepared(view, standing, lease, judged, request), 0
        sending = course.sending
        try:
            report = await view.repo.git_push(request, pack, more=sending.more, objects=sending.objects)
        except Unanswered as error:
            course.refused, course.unheard = None, error.message
            return None
        if not report.moved:
            course.refused, course.unheard = report, ""
            return None
        await self._saw(view, standing, sending)
        await self._note(view, claims)
        return report

    def _prepared(self, view: View, standing: Standing, lease: Lease, passed: Passes, request: PushRequest) -> _Sending:
        own = view.ledger.refs.active(standing.record.ticket_id)
        base = standing.entry.sha
        if passed.writes_ledger:
            return _Sending(base, next(command.new for command in request.commands if command.ref == own))
        ttl, published = (view.usable_policy or Policy()).lease.ttl, standing.record.published
        try:
            made, commit = view.ledger.drafted(
                standing,
                pushed(standing.record, lease, passed.published, ttl=ttl, now=view.now),
                f"pushed {passed.published[:12]} through the service" if passed.published else "a head set aside",
                code_parent=passed.published or (published.sha if published else None),
                when=view.now,
            )
        except NotStorable as full:
            raise Refused(record_full(full)) from full
        objects = (
            NewObject("blob", blob_bytes(made.record_text)),
            NewObject("tree", tree_bytes(made.record_text)),
            NewObject("commit", commit_bytes(made)),
        )
        return _Sending(base, commit, (Command(own, base, commit),), objects, made)

    async def _require_account(self, repo: Repository, lease: Lease | None) -> None:
        """Raises Refused where the App would do for a holder what the account that claimed may not do any more."""
        if lease is not None and (refusal := await self._accounts.may_no_more(repo, lease)) is not None:
            raise Refused(refusal)

    async def _saw(self, view: View, standing: Standing, sending: _Sending) -> None:
        """The table's witness of a commit of ours. One that its holder wrote is seen by the next look, which judges."""
        if sending.draft is not None:
            after = view.ledger.accepted(standing, sending.draft.entry(sending.commit))
            await self._witnessing.saw(view.repo, view.ledger, after)

    async def _note(self, view: View, claims: Claims) -> None:
        await self._heartbeats.beat(Holder(view.repo.id, str(claims.ticket), claims.generation, claims.nonce))
        await self._pokes.poke(view.key)


def _present(view: View, claims: Claims) -> tuple[Standing, Lease]:
    if view.frozen is not None:
        raise Refused(frozen_refusal(view))
    require_writable(view)
    if view.standing is None:
        raise Refused(Blocked(Code.NOT_FOUND, "the ticket has no ledger", "claim it first"))
    lease = present_lease(view.standing.record, claims, repository_id=view.repo.id, ticket=claims.ticket)
    if isinstance(lease, Blocked):
        raise Refused(lease)
    return view.standing, lease


def _grounds(view: View, standing: Standing) -> Grounds:
    record = standing.record
    branch = view.observation.branch(record.branch) if record.branch else None
    return Grounds(
        ticket=record.ticket_id,
        refs=view.ledger.refs,
        record=record,
        ledger_head=standing.entry.sha,
        branch_head=branch.sha if branch else None,
        ledger_past=frozenset((*(entry.sha for entry in standing.entries), *standing.earlier)),
    )


def _stands_in(standing: Standing | None, commit: str) -> bool:
    return standing is not None and commit in {*(entry.sha for entry in standing.entries), *standing.earlier}


def _is_race(report: PushReport) -> bool:
    return any(_RACE.search(reason) for reason in report.reasons)


def _told(request: PushRequest, stopped: Stopped) -> PushReport:
    """A push that is not forwarded: every ref with its reason, the others too, because it is all or nothing."""
    with_it = "not pushed, because it came together with what is refused"
    reasons = {c.ref: stopped.refusals.get(c.ref) for c in request.commands}
    remedies = dict.fromkeys(blocked.remedy for blocked in stopped.refusals.values())
    return PushReport(
        {ref: f"{blocked.code}: {blocked.reason}" if blocked else with_it for ref, blocked in reasons.items()},
        said="".join(f"next: {remedy}\n" for remedy in remedies).encode(),
    )


def _undecided(reason: str) -> Blocked:
    return Blocked(
        Code.UNKNOWN_OUTCOME,
        f"GitHub does not say whether the push was carried out: {reason}",
        "push again: nothing happens twice",
        retryable=True,
    )


def _outrun() -> Blocked:
    reason = f"others wrote to the ticket {MAX_TRIES} times in between"
    return Blocked(Code.LOST_RACE, reason, "push again", retryable=True)
