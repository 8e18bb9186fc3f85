"""What a holder says of effects outside Git, and the service's own looks at them.

What if it happened and we did not hear: the record says "dispatching" before anything is done, so silence is unknown
and never nothing. What if two of us do it: one attempt is let through by the ledger's compare-and-set, the other reads
that. What if the lease is gone: each of the three words is a write of the holder, checked against the fence.
"""

import asyncio
from collections.abc import Sequence

from app.controller.holding import Holding, require_own
from app.controller.probing import Prober
from app.controller.view import View, Views
from app.domain.agent_api import WriteAnswer
from app.domain.effect_api import EffectDispatch, EffectIntent, EffectList, EffectLook, EffectOutcome
from app.domain.effect_journal import Noted, dispatched, find, intended, reported, seen
from app.domain.effect_probe import CannotTell, Sighting
from app.domain.effect_state import state_of
from app.domain.fence import present_lease
from app.domain.outcome import Blocked, Refused
from app.domain.plan import ProbeEffect
from app.domain.record import Record
from app.domain.ticket_id import TicketId
from app.domain.token import Claims


class Effecting:
    """The journal of effects as the agent API and the loop use it."""

    def __init__(self, views: Views, holding: Holding, prober: Prober) -> None:
        self._views = views
        self._holding = holding
        self._prober = prober

    async def intend(
        self, owner: str, name: str, ticket: TicketId, claims: Claims, request: EffectIntent
    ) -> WriteAnswer:
        """Write down what is meant to be done, before it is done."""
        return await self._holding.effect(
            owner,
            name,
            ticket,
            claims,
            request,
            lambda view, record, lease: intended(record, lease, request, now=view.now),
            word=f"{request.effect}/intent",
        )

    async def dispatch(
        self, owner: str, name: str, ticket: TicketId, claims: Claims, key: str, request: EffectDispatch
    ) -> WriteAnswer:
        """Let one execution through, under the present lease: `go` in the answer is the only leave to begin."""
        return await self._holding.effect(
            owner,
            name,
            ticket,
            claims,
            request,
            lambda view, record, lease: dispatched(record, lease, key, request.attempt, now=view.now),
            word=f"{key}/dispatch",
        )

    async def result(
        self, owner: str, name: str, ticket: TicketId, claims: Claims, key: str, request: EffectOutcome
    ) -> WriteAnswer:
        """Write down how the execution that was let through ended."""
        return await self._holding.effect(
            owner,
            name,
            ticket,
            claims,
            request,
            lambda view, record, lease: reported(record, request, key, now=view.now),
            word=f"{key}/result",
        )

    async def probe(
        self, owner: str, name: str, ticket: TicketId, claims: Claims, key: str, request: EffectLook
    ) -> WriteAnswer:
        """Run the effect's probe now and write down what it shows. Nothing outside is asked for who does not hold the
        ticket, nor again for a call that has its answer.
        """
        view = await self._views.look(owner, name, ticket)
        require_own(claims, view.repo.id)
        sighting: Sighting = CannotTell("there was nothing to look for")
        record = view.record
        if record is not None and view.frozen is None and record.answered(request.key) is None:
            lease = present_lease(record, claims, repository_id=view.repo.id, ticket=ticket)
            if isinstance(lease, Blocked):
                raise Refused(lease)
            sighting = await self._seen(view, record, key)
        return await self._holding.effect(
            owner,
            name,
            ticket,
            claims,
            request,
            lambda view, record, lease: seen(record, key, sighting, now=view.now),
            word=f"{key}/probe",
        )

    async def known(self, owner: str, name: str, ticket: TicketId, claims: Claims) -> EffectList:
        """The ticket's effects, for its holder."""
        repo, standing, _ = await self._holding.standing(owner, name, ticket, claims)
        record = standing.record
        lease = present_lease(record, claims, repository_id=repo.id, ticket=ticket)
        if isinstance(lease, Blocked):
            raise Refused(lease)
        return EffectList(
            generation=record.generation,
            effects=tuple(state_of(effect) for effect in record.effects),
            remembered=len(record.effect_keys),
        )

    async def looked(self, view: View, record: Record, actions: Sequence[ProbeEffect]) -> Record:
        """The record after the loop ran these probes, all at once. Raises GitHubError where GitHub does not answer."""
        sightings = await asyncio.gather(*(self._seen(view, record, action.key) for action in actions))
        for action, sighting in zip(actions, sightings, strict=True):
            noted = seen(record, action.key, sighting, now=view.now)
            record = noted.record if isinstance(noted, Noted) else record
        return record

    async def _seen(self, view: View, record: Record, key: str) -> Sighting:
        effect = find(record, key)
        if effect is None or effect.state not in ("dispatching", "unknown"):
            return CannotTell("there was nothing to look for")
        return await self._prober.look(view.repo, effect)
