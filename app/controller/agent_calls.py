"""The controller towards agents."""

from datetime import timedelta

from app.controller.briefing import brief_of
from app.controller.calling import Calls, naming
from app.controller.claiming import Claiming
from app.controller.effecting import Effecting
from app.controller.enrolling import is_the_loops
from app.controller.git_gate import GitGate
from app.controller.holding import Holding
from app.controller.parenting import Parenting
from app.controller.run_binding import require_run
from app.controller.stops import Stops
from app.controller.view import Views
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
from app.domain.run_claims import RunClaims
from app.domain.shown_child import Children
from app.domain.ticket_id import TicketId
from app.domain.token import Claims
from app.domain.validation_api import ValidationRequest
from app.github.budget import counting
from app.github.held_pack import HeldPack
from app.github.relayed_push import PushReport, PushRequest
from app.github.repository import Repository

AFTER_A_BRIEF = timedelta(seconds=20)
"""When the loop looks at a ticket whose brief was asked for: whoever asks mostly takes it next, and a look in the
middle of that would only be made twice.
"""


class AgentCalls(Calls):
    """What agents ask of the service, by its HTTP side: claims, what a holder writes, effects, children, git."""

    _resumes: bool
    _views: Views
    _stops: Stops
    _claiming: Claiming
    _holding: Holding
    _gate: GitGate
    _effecting: Effecting
    _parenting: Parenting

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
            async with self._telling(owner, name, ticket), naming(ticket):
                return await self._claiming.claim(owner, name, ticket, request, login, run)

    async def brief(self, owner: str, name: str, ticket: TicketId, run: RunClaims | None = None) -> Brief:
        """What a fresh agent must know about a ticket. Writes nothing itself; the loop looks at the ticket, whatever
        events were lost. `run`: the workflow run that asks, where no account does. Raises Refused, GitHubError.
        """
        with counting("brief"):
            async with naming(ticket):
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
