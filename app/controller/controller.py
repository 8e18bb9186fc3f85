"""The controller's public face: what the HTTP side calls, and the loop it starts and stops."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import structlog

from app.controller.accounts import Accounts
from app.controller.act import Actor
from app.controller.authors import Authors
from app.controller.briefing import brief_of
from app.controller.claiming import Claiming
from app.controller.clock import Clock
from app.controller.database import Database
from app.controller.discovering import Discovering
from app.controller.dispatching import Dispatching
from app.controller.ears import Ears
from app.controller.effect_decisions import Decision, EffectDecisions
from app.controller.effecting import Effecting
from app.controller.enrolling import is_the_loops
from app.controller.fencing_off import FencingOff
from app.controller.git_gate import GitGate
from app.controller.heartbeats import Heartbeats
from app.controller.holding import Holding
from app.controller.http_probe import HttpGet
from app.controller.journal import Journal
from app.controller.keyring import Keyring
from app.controller.known_runs import KnownRuns
from app.controller.landing import Lander
from app.controller.loop import Loop
from app.controller.others import Others
from app.controller.parenting import Parenting
from app.controller.person_commands import Done, PersonCommands, Word
from app.controller.pokes import PokeStore
from app.controller.policy_checks import PolicyShowing
from app.controller.probing import Prober
from app.controller.project import Projector
from app.controller.rebuilding import Rebuilding
from app.controller.release_hearing import DoneRelease, ReleaseWord
from app.controller.release_rebuilding import BegunAnew
from app.controller.releases import Releases
from app.controller.reporting import Reporter
from app.controller.resuming import Resuming
from app.controller.round import Rounds
from app.controller.run_binding import require_run
from app.controller.said_on import SaidOns
from app.controller.stops import Stops
from app.controller.sweep import Sweeper
from app.controller.sweep_marks import SweepMarks
from app.controller.turn import Ended
from app.controller.turns import Turns
from app.controller.view import NoIssue, Views
from app.controller.witnesses import Witnesses
from app.controller.witnessing import Witnessing
from app.domain.agent_api import (
    CheckpointRequest,
    ClaimRequest,
    EvidenceRequest,
    Grant,
    HandoffRequest,
    HeartbeatAnswer,
    HeartbeatRequest,
    WriteAnswer,
)
from app.domain.brief import Brief
from app.domain.child_api import NamedChildRequest, RespawnRequest, ResultRequest, SpawnRequest
from app.domain.effect_api import EffectDispatch, EffectIntent, EffectList, EffectLook, EffectOutcome
from app.domain.effect_state import EffectState
from app.domain.keys import TicketKey, TrunkKey
from app.domain.outcome import Blocked, Code, Refused
from app.domain.rebuild import Rebuild
from app.domain.release_record import Person, Source
from app.domain.release_verbs import ReleaseVerb
from app.domain.run_claims import RunClaims
from app.domain.shown_child import Children
from app.domain.ticket_id import TicketId, number_of
from app.domain.token import Claims
from app.domain.validation_api import ValidationRequest
from app.github.budget import counting
from app.github.client import GitHub
from app.github.errors import GitHubError
from app.github.held_pack import HeldPack
from app.github.relayed_push import PushReport, PushRequest
from app.github.repository import Repository

log = structlog.get_logger()

_TOLD = (Code.FROZEN, Code.ATTEMPTS_EXHAUSTED, Code.TOO_OLD)
"""Refusals that the loop shows to people."""

AFTER_A_BRIEF = timedelta(seconds=20)
"""When the loop looks at a ticket whose brief was asked for: whoever asks mostly takes it next, and a look in the
middle of that would only be made twice.
"""


LOCAL_URL = "http://127.0.0.1:8080"
"""Where agents reach a service that says nothing else."""


class Controller:
    """Everything the service does to tickets. `writes` off: reads and briefs only, no write to GitHub at all."""

    def __init__(
        self,
        *,
        github: GitHub,
        database: Database,
        pokes: PokeStore,
        keys: Keyring,
        clock: Clock,
        boot_id: str | None = None,
        writes: bool = True,
        resume: bool = True,
        workers: int = 4,
        http_get: HttpGet | None = None,
        stops: Stops | None = None,
        dispatching: Dispatching | None = None,
    ) -> None:
        authors = Authors(boot_id)
        dispatching = dispatching or Dispatching(LOCAL_URL, runs=KnownRuns(database, clock))
        heartbeats = Heartbeats(database, clock)
        witnesses = Witnesses(database)
        witnessing = Witnessing(witnesses, keys)
        projector = Projector(keys, resumes=resume)
        journal = Journal(witnessing)
        actor = Actor(projector, Lander(pokes), dispatching)
        self._writes = writes
        self._resumes = resume
        self._pokes = pokes
        self._views = Views(github, keys, heartbeats, witnessing)
        reporter = Reporter(projector)
        fencing = FencingOff(journal, reporter)
        self._claiming = Claiming(self._views, journal, actor, keys, authors, pokes, fencing, resume=resume)
        self._commands = PersonCommands(self._views, fencing)
        accounts = Accounts(github)
        self._holding = Holding(self._views, journal, projector, heartbeats, witnessing, pokes, accounts)
        self._gate = GitGate(self._views, self._holding, accounts, heartbeats, witnessing, pokes)
        self._effect_decisions = EffectDecisions(self._views, journal)
        self._effecting = Effecting(self._views, self._holding, Prober(http_get or HttpGet()))
        self._parenting = Parenting(self._views, self._holding, pokes)
        others = Others(self._views, pokes)
        self._stops = stops or Stops(database, writes=writes)
        self._resuming = Resuming(database, self._views, pokes, self._stops, clock, resumes=resume)
        turns = Turns(database, pokes)
        rounds = Rounds(
            self._views,
            journal,
            actor,
            projector,
            reporter,
            authors,
            self._effecting,
            fencing,
            pokes,
            others,
            turns,
            self._resuming,
        )
        self._rounds = rounds
        self._rebuilding = Rebuilding(self._views, witnessing)
        discovering = Discovering(self._views, pokes, others)
        marks = SweepMarks(database)
        self._sweeper = Sweeper(github, self._views, pokes, discovering, marks, self._resuming)
        policy = PolicyShowing(self._views)
        self._releases = Releases(self._views, keys, witnesses, marks, authors, pokes, clock)
        self._loop = Loop(
            rounds, self._sweeper, policy, self._releases, pokes, clock, self._stops, self._resuming, workers
        )
        self._said_ons = SaidOns(self._views)

    def lend(self, ears: Ears) -> None:
        """Hear from now on what persons say in comments and by buttons; before `work`."""
        self._loop.lend(ears)
        self._sweeper.lend(ears)

    @property
    def said_ons(self) -> SaidOns:
        """What a number means on which somebody says something; only reads."""
        return self._said_ons

    async def claim(
        self,
        owner: str,
        name: str,
        ticket: TicketId,
        request: ClaimRequest,
        login: str,
        run: RunClaims | None = None,
    ) -> Grant:
        """Make `login` the holder of a ticket. `run`: the workflow run that claims, where no account does. Raises
        Refused, GitHubError.
        """
        self._require_writes()
        with counting("claim"):
            async with self._telling(owner, name, ticket), _naming(ticket):
                return await self._claiming.claim(owner, name, ticket, request, login, run)

    async def brief(self, owner: str, name: str, ticket: TicketId, run: RunClaims | None = None) -> Brief:
        """What a fresh agent must know about a ticket. Writes nothing itself; the loop looks at the ticket, whatever
        events were lost. `run`: the workflow run that asks, where no account does. Raises Refused, GitHubError.
        """
        with counting("brief"):
            async with _naming(ticket):
                view = await self._views.look(owner, name, ticket)
                if run is not None:
                    await require_run(view, run)
        if view.frozen is not None:
            await self._pokes.poke(view.key)
        elif is_the_loops(view):
            await self._pokes.poke(view.key, due_at=view.now + AFTER_A_BRIEF)
        return brief_of(view, view.record, just_granted=False, resumes=self._resumes)

    async def evidence(
        self, owner: str, name: str, ticket: TicketId, claims: Claims, request: EvidenceRequest
    ) -> WriteAnswer:
        """End a recovery with what the agent's side found. Raises Refused, GitHubError."""
        self._require_writes()
        with counting("evidence"):
            async with self._telling(owner, name, ticket):
                return await self._holding.evidence(owner, name, ticket, claims, request)

    async def checkpoint(
        self, owner: str, name: str, ticket: TicketId, claims: Claims, request: CheckpointRequest
    ) -> WriteAnswer:
        """Store a checkpoint of the holder. Raises Refused, GitHubError."""
        self._require_writes()
        with counting("checkpoint"):
            async with self._telling(owner, name, ticket):
                return await self._holding.checkpoint(owner, name, ticket, claims, request)

    async def validation(
        self, owner: str, name: str, ticket: TicketId, claims: Claims, request: ValidationRequest
    ) -> WriteAnswer:
        """Record what was checked on a snapshot. Raises Refused, GitHubError."""
        self._require_writes()
        with counting("validation"):
            async with self._telling(owner, name, ticket):
                return await self._holding.validation(owner, name, ticket, claims, request)

    async def handoff(
        self, owner: str, name: str, ticket: TicketId, claims: Claims, request: HandoffRequest
    ) -> WriteAnswer:
        """Give the ticket back. Raises Refused, GitHubError."""
        self._require_writes()
        with counting("handoff"):
            async with self._telling(owner, name, ticket):
                return await self._holding.handoff(owner, name, ticket, claims, request)

    async def heartbeat(
        self, owner: str, name: str, ticket: TicketId, claims: Claims, request: HeartbeatRequest
    ) -> HeartbeatAnswer:
        """Note that the holder lives. Raises Refused, GitHubError."""
        with counting("heartbeat"):
            async with self._telling(owner, name, ticket):
                return await self._holding.heartbeat(owner, name, ticket, claims, request)

    async def lease(self, owner: str, name: str, ticket: TicketId, claims: Claims) -> Grant:
        """The present lease's grant again, for its holder. Writes nothing. Raises Refused, GitHubError."""
        with counting("lease"):
            async with self._telling(owner, name, ticket):
                return await self._claiming.granted(owner, name, ticket, claims)

    async def git_access(self, owner: str, name: str, claims: Claims, *, to_push: bool) -> Repository:
        """The repository, where the lease is the ticket's present one. Raises Refused, GitHubError."""
        if to_push:
            self._require_writes()
            await self._stops.require(claims.repository_id, f"{owner}/{name}")
        with counting("git"):
            async with self._telling(owner, name, claims.ticket):
                return await self._gate.admit(owner, name, claims, to_push=to_push)

    async def git_push(self, owner: str, name: str, claims: Claims, request: PushRequest, pack: HeldPack) -> PushReport:
        """Push what a holder's git sent, in one update with the ledger. Raises Refused, GitHubError."""
        self._require_writes()
        with counting("git"):
            async with self._telling(owner, name, claims.ticket):
                return await self._gate.push(owner, name, claims, request, pack)

    async def rebuild(
        self, owner: str, name: str, ticket: TicketId, *, by: str, accept_loss: bool = False, dry_run: bool = False
    ) -> Rebuild:
        """Begin a frozen ledger anew, because the person `by` says so. Raises Refused, GitHubError."""
        self._require_writes()
        with counting("rebuild"):
            async with _naming(ticket):
                made = await self._rebuilding.rebuild(
                    owner, name, ticket, by=by, accept_loss=accept_loss, dry_run=dry_run
                )
        await self._pokes.poke(str(TicketKey(f"{owner}/{name}", ticket)))
        return made

    async def intend_effect(
        self, owner: str, name: str, ticket: TicketId, claims: Claims, request: EffectIntent
    ) -> WriteAnswer:
        """Write down what is meant to be done outside Git. Raises Refused, GitHubError."""
        self._require_writes()
        with counting("effect"):
            return await self._effecting.intend(owner, name, ticket, claims, request)

    async def dispatch_effect(
        self, owner: str, name: str, ticket: TicketId, claims: Claims, key: str, request: EffectDispatch
    ) -> WriteAnswer:
        """Let one execution of an effect through. Raises Refused, GitHubError."""
        self._require_writes()
        with counting("effect"):
            return await self._effecting.dispatch(owner, name, ticket, claims, key, request)

    async def report_effect(
        self, owner: str, name: str, ticket: TicketId, claims: Claims, key: str, request: EffectOutcome
    ) -> WriteAnswer:
        """Write down how an effect ended. Raises Refused, GitHubError."""
        self._require_writes()
        with counting("effect"):
            return await self._effecting.result(owner, name, ticket, claims, key, request)

    async def probe_effect(
        self, owner: str, name: str, ticket: TicketId, claims: Claims, key: str, request: EffectLook
    ) -> WriteAnswer:
        """Look whether an effect happened, and write that down. Raises Refused, GitHubError."""
        self._require_writes()
        with counting("effect"):
            return await self._effecting.probe(owner, name, ticket, claims, key, request)

    async def effects(self, owner: str, name: str, ticket: TicketId, claims: Claims) -> EffectList:
        """The effects of a ticket, for its holder. Writes nothing. Raises Refused, GitHubError."""
        with counting("effect"):
            return await self._effecting.known(owner, name, ticket, claims)

    async def children(self, owner: str, name: str, ticket: int, claims: Claims) -> Children:
        """The children of a ticket as they stand, to its holder. Writes nothing. Raises Refused, GitHubError."""
        with counting("children"):
            return await self._parenting.children(owner, name, ticket, claims)

    async def spawn(self, owner: str, name: str, ticket: int, claims: Claims, request: SpawnRequest) -> WriteAnswer:
        """Give a part of the ticket to a child. Raises Refused, GitHubError."""
        self._require_writes()
        with counting("spawn"):
            async with self._telling(owner, name, ticket):
                return await self._parenting.spawn(owner, name, ticket, claims, request)

    async def respawn(self, owner: str, name: str, ticket: int, claims: Claims, request: RespawnRequest) -> WriteAnswer:
        """Ask for a child's work anew, at the ticket's present snapshot. Raises Refused, GitHubError."""
        self._require_writes()
        with counting("respawn"):
            async with self._telling(owner, name, ticket):
                return await self._parenting.respawn(owner, name, ticket, claims, request)

    async def adopt(
        self, owner: str, name: str, ticket: int, claims: Claims, request: NamedChildRequest
    ) -> WriteAnswer:
        """List an orphan among the ticket's children. Raises Refused, GitHubError."""
        self._require_writes()
        with counting("adopt"):
            async with self._telling(owner, name, ticket):
                return await self._parenting.adopt(owner, name, ticket, claims, request)

    async def cancel_child(
        self, owner: str, name: str, ticket: int, claims: Claims, request: NamedChildRequest
    ) -> WriteAnswer:
        """End a child. Raises Refused, GitHubError."""
        self._require_writes()
        with counting("cancel"):
            async with self._telling(owner, name, ticket):
                return await self._parenting.cancel(owner, name, ticket, claims, request)

    async def result(
        self, owner: str, name: str, ticket: TicketId, claims: Claims, request: ResultRequest
    ) -> WriteAnswer:
        """Store a child's result, which ends it. Raises Refused, GitHubError."""
        self._require_writes()
        with counting("result"):
            async with self._telling(owner, name, ticket):
                return await self._parenting.result(owner, name, ticket, claims, request)

    async def decide_effect(
        self, owner: str, name: str, ticket: TicketId, event: str, decision: Decision
    ) -> EffectState:
        """Write down what a person decided about an effect. Raises Refused, GitHubError."""
        self._require_writes()
        with counting("effect"):
            async with _naming(ticket):
                state = await self._effect_decisions.decide(owner, name, ticket, event, decision)
        await self._pokes.poke(str(TicketKey(f"{owner}/{name}", ticket)))
        return state

    async def hear(self, owner: str, name: str, ticket: TicketId, word: Word, *, dry_run: bool = False) -> Done:
        """Carry out what a person says about a ticket. With `dry_run` nothing is written. Raises Refused with what
        stands in the way, GitHubError.
        """
        if not dry_run:
            self._require_writes()
        with counting("command"):
            async with _naming(ticket):
                try:
                    return await self._commands.hear(owner, name, ticket, word, dry_run=dry_run)
                finally:
                    if not dry_run:
                        await self._pokes.poke(str(TicketKey(f"{owner}/{name}", ticket)))

    async def hear_release(
        self,
        owner: str,
        name: str,
        pull: int,
        *,
        id: str,
        verb: str,
        by: Person,
        rule: ReleaseVerb,
        source: Source | None = None,
        dry_run: bool = False,
    ) -> DoneRelease:
        """Carry out what a person says on the PR of a release. `source`: the comment in which it stands, which is read
        again before it is judged. With `dry_run` nothing is written. Raises Refused with what stands in the way,
        GitHubError.
        """
        if not dry_run:
            self._require_writes()
        with counting("command"):
            return await self._releases.hear(
                owner, name, pull, ReleaseWord(id, verb, by, rule, source), dry_run=dry_run
            )

    async def rebuild_release(
        self, owner: str, name: str, branch: str, *, id: str, by: str, dry_run: bool = False
    ) -> BegunAnew:
        """Begin a release's frozen ledger anew, because the person `by` says so. `id`: the command's; the same one
        again is only answered. With `dry_run` nothing is written. Raises Refused, GitHubError.
        """
        if not dry_run:
            self._require_writes()
        with counting("rebuild"):
            return await self._releases.rebuild(owner, name, branch, id=id, by=by, dry_run=dry_run)

    async def release_status(self, owner: str, name: str, pull: int) -> str:
        """How a release stands, in Markdown. Writes nothing. Raises Refused, GitHubError."""
        with counting("command"):
            return await self._releases.status(owner, name, pull)

    async def start_up(self) -> None:
        """Poke every ticket in progress, whatever events were lost. Failures are logged; the sweep comes again."""
        try:
            poked = await self._sweeper.start_up()
        except GitHubError as error:
            log.warning("start-up sweep not finished", error=str(error))
        else:
            log.info("start-up sweep", poked=poked)

    async def round(self, key: TicketKey | TrunkKey) -> Ended:
        """Run one key's round now, as a worker of the loop would. Raises GitHubError."""
        return await (self._releases.round(key) if isinstance(key, TrunkKey) else self._rounds.run(key))

    @property
    def resuming(self) -> Resuming:
        """What lets agents be started and tickets be given up, after an outage above all."""
        return self._resuming

    async def reached(self, answered: bool) -> None:
        """GitHub answered the service, or did not."""
        await self._resuming.reached(answered=answered)

    async def tick(self) -> None:
        """What the loop does every few seconds, now."""
        await self._resuming.tick()

    async def look_at_repository(self, owner: str, name: str) -> Ended:
        """Run a repository's own key now, as a worker of the loop would. Raises GitHubError."""
        return await self._loop.look_at_repository(owner, name)

    async def work(self, stop: asyncio.Event) -> None:
        """Run the loop until `stop` is set. With writes off pokes are kept and nothing is run."""
        if self._writes:
            await self._loop.run(stop)
        else:
            await stop.wait()

    @asynccontextmanager
    async def _telling(self, owner: str, name: str, ticket: TicketId) -> AsyncIterator[None]:
        """Moving a ledger ref sends no webhook, a lease that runs out neither: who comes upon what a person must know
        lets the loop tell it at once.
        """
        try:
            yield
        except Refused as refused:
            if refused.blocked.code in _TOLD:
                await self._pokes.poke(str(TicketKey(f"{owner}/{name}", ticket)))
            raise

    def _require_writes(self) -> None:
        if not self._writes:
            raise Refused(
                Blocked(
                    Code.WRITES_OFF,
                    "the operator has switched all writes off",
                    "try again when AGENT_RECOVERY_WRITES is on again",
                    retryable=True,
                )
            )


@asynccontextmanager
async def _naming(ticket: TicketId) -> AsyncIterator[None]:
    """Says that the number is wrong to callers who may see the repository; a lease of another one learns nothing."""
    try:
        yield
    except NoIssue as missing:
        reason, remedy = f"there is no Issue #{number_of(ticket)}", "check the repository and the number"
        raise Refused(Blocked(Code.NOT_FOUND, reason, remedy)) from missing
