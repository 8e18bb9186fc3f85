"""Claiming a ticket: the claim id stands on disk before the call, so a lost response costs nothing.

Wanted properties (the ownership protocol, R16): the same id gives the same grant again; an id is thrown away only
after a definite refusal, and then at most one fresh claim follows in the same command.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from pydantic import ValidationError

from app.agent import held
from app.agent.api import Service, is_definite
from app.agent.environment import usage
from app.agent.home import Home
from app.agent.way_in import Account, Dispatched, Handed, WayIn
from app.domain.agent_api import ClaimRequest, Grant
from app.domain.model import Message
from app.domain.outcome import Refused
from app.domain.ticket_id import TicketField, TicketId

FILE = "claim.json"

Claiming = Account | Dispatched
"""Whoever claims by itself."""


class ClaimIntent(Message):
    """What is about to be asked, as it stands in `.agent-recovery/claim.json`."""

    service_url: str
    repository: str
    ticket: TicketField
    request: ClaimRequest


@dataclass(frozen=True)
class Wish:
    """What the user asked for."""

    service_url: str
    repository: str
    ticket: TicketId
    trunk: str | None
    holder: str

    def is_for(self, intent: ClaimIntent) -> bool:
        place = (intent.service_url, intent.repository.lower(), intent.ticket)
        return place == (self.service_url, self.repository.lower(), self.ticket)


def refuse_other_ticket(home: Home, wish: Wish) -> None:
    """Raises Refused when this folder still belongs to the work on another ticket."""
    lease = home.load(held.FILE, held.HeldLease)
    if lease is None or lease.ended:
        return
    if (lease.repository.lower(), lease.ticket) != (wish.repository.lower(), wish.ticket):
        raise usage(
            f"this folder holds the lease of {lease.repository}#{lease.ticket}",
            "use a new empty folder, or hand that ticket off first (`agent-recovery handoff`)",
        )


def claim(
    home: Home, service: Service, wish: Wish, way: WayIn, before_fresh: Callable[[], None]
) -> tuple[held.HeldLease, Grant]:
    """Claims the ticket, or gets the grant of the claim this folder already made or of the lease that was handed over,
    and keeps it in lease.json.

    `before_fresh` is called before a claim that would make a new generation; it may raise Refused.
    Raises Refused as the service does.
    """
    refuse_other_ticket(home, wish)
    if isinstance(way, Handed):
        return _take(home, service, wish, way, before_fresh)
    saved = home.load(FILE, ClaimIntent)
    if saved is not None and wish.is_for(saved):
        grant = _again(home, service, saved, way)
        if grant is not None:
            return _keep(home, saved, grant, way)
    # Whoever was started for a ticket was told what to claim from: its first act is the claim.
    generation = service.brief(way.bearer).generation if way.generation is None else way.generation
    before_fresh()
    intent = ClaimIntent(
        service_url=wish.service_url,
        repository=wish.repository,
        ticket=wish.ticket,
        request=_request(wish, generation, way.attempt),
    )
    home.save(FILE, intent)
    return _keep(home, intent, _ask(home, service, intent, way), way)


def _take(
    home: Home, service: Service, wish: Wish, way: Handed, before_fresh: Callable[[], None]
) -> tuple[held.HeldLease, Grant]:
    """The lease that somebody claimed for this agent. Asked for again it is the same, so nothing is saved before."""
    grant = service.lease(way.token)
    known = home.load(held.FILE, held.HeldLease)
    if known is None or known.identity != (grant.generation, grant.nonce):
        before_fresh()
    name, number = wish.repository, wish.ticket
    lease = held.from_grant(grant, url=wish.service_url, name=name, number=number, claim_id="handed-over")
    home.save(held.FILE, lease)
    return lease, grant


def end(home: Home, why: str) -> None:
    """Notes that this folder gave its lease back, so that nothing here goes on under it."""
    lease = home.load(held.FILE, held.HeldLease)
    if lease is not None:
        home.save(held.FILE, lease.model_copy(update={"ended": why}))
    home.remove(FILE)


def _request(wish: Wish, generation: int, attempt: str | None) -> ClaimRequest:
    try:
        return ClaimRequest(
            claim_id=uuid.uuid4().hex,
            observed_generation=generation,
            trunk=wish.trunk,
            holder=wish.holder,
            attempt=attempt,
        )
    except ValidationError as error:
        wrong = ", ".join(f"--{detail['loc'][0]}" for detail in error.errors(include_input=False))
        raise usage(f"{wrong} is longer than can be, or no plain text", f"pass {wrong} as one short line") from None


def _again(home: Home, service: Service, saved: ClaimIntent, way: Claiming) -> Grant | None:
    try:
        return _ask(home, service, saved, way)
    except Refused as refused:
        if not is_definite(refused):
            raise
        return None  # that claim is over, or never was: a fresh one decides


def _ask(home: Home, service: Service, intent: ClaimIntent, way: Claiming) -> Grant:
    try:
        return service.claim(way.bearer, intent.request)
    except Refused as refused:
        if is_definite(refused):
            home.remove(FILE)
        raise


def _keep(home: Home, intent: ClaimIntent, grant: Grant, way: Claiming) -> tuple[held.HeldLease, Grant]:
    lease = held.from_grant(
        grant,
        url=intent.service_url,
        name=intent.repository,
        number=intent.ticket,
        claim_id=intent.request.claim_id,
        through_service=isinstance(way, Dispatched),
    )
    home.save(held.FILE, lease)
    return lease, grant
