"""What a ticket's holder does about its children, and how a child ends: spawn, ask anew, adopt, cancel, result.

Each is one compare-and-set of the holder's own ledger that takes the other ledger along (the ownership protocol, R19).
What if it happened and we did not hear: the key is found in the ledger and gets its answer. What if two of us do it, or
the child moves meanwhile: the whole update is refused, and everything is read and judged afresh. What if our lease is
gone: the fence refuses before anything is made.
"""

from app.controller.briefing import frozen_refusal
from app.controller.holding import Along, Build, Holding, Written, or_refuse, require_own
from app.controller.pokes import PokeStore
from app.controller.view import View, Views
from app.domain.agent_api import WriteAnswer, WriteRequest
from app.domain.child_api import NamedChildRequest, RespawnRequest, ResultRequest, SpawnRequest
from app.domain.child_changes import Both, adopted, cancelled, finished, respawned, spawned
from app.domain.fence import present_lease
from app.domain.keys import TicketKey
from app.domain.model import ZERO_SHA
from app.domain.outcome import Blocked, Code, Refused
from app.domain.record import Lease, Record
from app.domain.shown_child import Children
from app.domain.ticket_id import Child, TicketId
from app.domain.token import Claims
from app.github.refs import Occupied, RefUpdate, RefValue


class Parenting:
    """Writes about children."""

    def __init__(self, views: Views, holding: Holding, pokes: PokeStore) -> None:
        self._views = views
        self._holding = holding
        self._pokes = pokes

    async def children(self, owner: str, name: str, ticket: int, claims: Claims) -> Children:
        """All children of a ticket as they stand now, to its holder. Writes nothing. Raises Refused, GitHubError."""
        view = await self._views.look(owner, name, ticket)
        require_own(claims, view.repo.id)
        record = view.record
        if view.frozen is not None:
            raise Refused(frozen_refusal(view))
        if record is None:
            raise Refused(Blocked(Code.NOT_FOUND, f"#{ticket} has no ledger", "claim it first"))
        or_refuse(present_lease(record, claims, repository_id=view.repo.id, ticket=ticket))
        return Children(
            ticket=ticket,
            generation=record.generation,
            predecessor_sha=record.checkpoint.predecessor_sha,
            published_sha=record.published.sha if record.published else None,
            children=view.family.shown(record),
        )

    async def spawn(
        self, owner: str, name: str, ticket: TicketId, claims: Claims, request: SpawnRequest
    ) -> WriteAnswer:
        """Birth of a child together with its place on the parent's list."""

        def build(view: View, record: Record, lease: Lease) -> Written:
            both = or_refuse(spawned(record, request.name, request.task, view.family.seen, now=view.now))

            async def along() -> Along:
                return Along(await view.ledger.beside(None, both.child, "spawned", when=view.now))

            return Written(both.parent, f"spawned {request.name}", along=along)

        return await self._write(owner, name, ticket, claims, request, build, f"spawn {request.name}")

    async def respawn(self, owner: str, name: str, ticket: int, claims: Claims, request: RespawnRequest) -> WriteAnswer:
        """A child's work asked for anew; where the snapshot is another, its branch is kept aside and begun again."""

        def build(view: View, record: Record, lease: Lease) -> Written:
            both = or_refuse(respawned(record, request.name, request.task, view.family.seen, now=view.now))
            base = view.family.standings[request.name]

            async def along() -> Along:
                aside = await _branch_aside(view, both) if both.starts_over else ()
                return Along((*await view.ledger.beside(base, both.child, "spawned anew", when=view.now), *aside))

            return Written(both.parent, f"spawned {request.name} anew", along=along)

        return await self._write(owner, name, ticket, claims, request, build, f"respawn {request.name}")

    async def adopt(
        self, owner: str, name: str, ticket: int, claims: Claims, request: NamedChildRequest
    ) -> WriteAnswer:
        """An orphan on the parent's list."""

        def build(view: View, record: Record, lease: Lease) -> Written:
            return Written(or_refuse(adopted(record, request.name, view.family.seen)), f"adopted {request.name}")

        return await self._write(owner, name, ticket, claims, request, build, f"adopt {request.name}")

    async def cancel(
        self, owner: str, name: str, ticket: int, claims: Claims, request: NamedChildRequest
    ) -> WriteAnswer:
        """A child ended: its ledger moves to `done/` in the update that notes it in the parent's."""

        def build(view: View, record: Record, lease: Lease) -> Written:
            both = or_refuse(cancelled(record, request.name, view.family.seen, now=view.now))
            base = view.family.standings[request.name]

            async def along() -> Along:
                return Along(await view.ledger.beside(base, both.child, "cancelled", to="done", when=view.now))

            return Written(both.parent, f"cancelled {request.name}", along=along)

        return await self._write(owner, name, ticket, claims, request, build, f"cancel {request.name}")

    async def result(
        self, owner: str, name: str, ticket: TicketId, claims: Claims, request: ResultRequest
    ) -> WriteAnswer:
        """A child's result and its end. The result is the ledger commit that ends it; the ref of its generation, made
        in the same update, keeps it. What somebody else put in that place is kept aside.
        """
        if not isinstance(ticket, Child):
            raise Refused(Blocked(Code.USAGE, "only a child gives a result", "say `agent-recovery ready`"))

        def build(view: View, record: Record, lease: Lease) -> Written:
            ended = or_refuse(finished(record, lease, view.head, request, now=view.now))
            slot = view.ledger.refs.result(ticket, lease.generation)
            return Written(ended, f"result: {request.outcome}", along=lambda: _into(view, slot))

        answer = await self._write(owner, name, ticket, claims, request, build, "result")
        await self._pokes.poke(str(TicketKey(f"{owner}/{name}", ticket.parent)))
        return answer

    async def _write(
        self, owner: str, name: str, ticket: TicketId, claims: Claims, request: WriteRequest, build: Build, to: str
    ) -> WriteAnswer:
        return await self._holding.write(owner, name, ticket, claims, request, build, to=to)


async def _into(view: View, slot: str) -> Along:
    """The slot of a result. Nobody else's place: what a zombie put there is kept aside and counts for nothing."""
    taken = await view.repo.place_of_ref(slot)
    if isinstance(taken, Occupied):
        reason, remedy = f"the ref {taken.by} leaves no room for the result", f"delete the ref {taken.by}"
        raise Refused(Blocked(Code.BRANCH_BLOCKED, reason, remedy, retryable=True))
    if taken is None:
        return Along(kept_at=RefValue(slot, ZERO_SHA))
    return Along(await _aside(view, taken.sha), RefValue(slot, taken.sha))


async def _aside(view: View, sha: str) -> tuple[RefUpdate, ...]:
    kept = view.ledger.refs.recovered(view.ticket, sha)
    return () if await view.repo.place_of_ref(kept) is not None else (RefUpdate(kept, ZERO_SHA, sha),)


async def _branch_aside(view: View, both: Both) -> tuple[RefUpdate, ...]:
    """The child's branch deleted, its head kept: a new snapshot is begun with an empty branch."""
    branch = both.child.branch
    head = await view.repo.exact_ref(f"refs/heads/{branch}")
    if head is None:
        return ()
    return (RefUpdate(f"refs/heads/{branch}", head, ZERO_SHA), *await _aside(view, head))
