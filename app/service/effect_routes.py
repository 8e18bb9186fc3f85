"""The calls about effects outside Git: what is intended, leave to begin, how it ended, a look whether it happened."""

from typing import Annotated, Protocol

from fastapi import APIRouter, Depends, Path, Request, Security

from app.domain.agent_api import ErrorBody, WriteAnswer
from app.domain.effect import EFFECT_KEY
from app.domain.effect_api import EffectDispatch, EffectIntent, EffectList, EffectLook, EffectOutcome
from app.domain.ticket_id import TicketId
from app.domain.token import Claims
from app.service.agent_routes import API, ERRORS, LEASE_TOKEN, CallersPort, Owner, Repo, Ticket
from app.service.bodies import StrictRoute


class Effects(Protocol):
    """What these calls need of the loop; `controller.controller.Controller` does it. All raise Refused."""

    async def intend_effect(
        self, owner: str, name: str, ticket: TicketId, claims: Claims, request: EffectIntent
    ) -> WriteAnswer: ...
    async def dispatch_effect(
        self, owner: str, name: str, ticket: TicketId, claims: Claims, key: str, request: EffectDispatch
    ) -> WriteAnswer: ...
    async def report_effect(
        self, owner: str, name: str, ticket: TicketId, claims: Claims, key: str, request: EffectOutcome
    ) -> WriteAnswer: ...
    async def probe_effect(
        self, owner: str, name: str, ticket: TicketId, claims: Claims, key: str, request: EffectLook
    ) -> WriteAnswer: ...
    async def effects(self, owner: str, name: str, ticket: TicketId, claims: Claims) -> EffectList: ...


def _effects(request: Request) -> Effects:
    effects: Effects = request.app.state.tickets
    return effects


EffectsPort = Annotated[Effects, Depends(_effects)]
Key = Annotated[str, Path(pattern=EFFECT_KEY, description="The effect's idempotency key.")]

router = APIRouter(
    prefix=API + "/repos/{owner}/{repo}/tickets/{ticket}/effects",
    tags=["effects"],
    route_class=StrictRoute,
    responses={status: {"model": ErrorBody, "description": text} for status, text in ERRORS.items()},
    dependencies=[Security(LEASE_TOKEN)],
)


@router.get("", summary="The effects of a ticket")
async def effects(
    owner: Owner, repo: Repo, ticket: Ticket, request: Request, port: EffectsPort, callers: CallersPort
) -> EffectList:
    """What is journaled, for the holder. Reads only."""
    claims = callers.holder(request.headers.get("authorization"), ticket)
    return await port.effects(owner, repo, ticket, claims)


@router.post("", summary="Say what is about to be done outside Git")
async def intend(
    owner: Owner,
    repo: Repo,
    ticket: Ticket,
    request: Request,
    body: EffectIntent,
    port: EffectsPort,
    callers: CallersPort,
) -> WriteAnswer:
    """Before anything is done. A key that is known is answered with what is known of it: `confirmed` and
    `failed_no_effect` are final, `unknown` is to be probed and never run again.
    """
    claims = callers.holder(request.headers.get("authorization"), ticket)
    return await port.intend_effect(owner, repo, ticket, claims, body)


@router.post("/{effect}/dispatch", summary="Ask for leave to begin")
async def dispatch(
    owner: Owner,
    repo: Repo,
    ticket: Ticket,
    effect: Key,
    request: Request,
    body: EffectDispatch,
    port: EffectsPort,
    callers: CallersPort,
) -> WriteAnswer:
    """Immediately before it is done. Only `effect.go` in the answer is leave to begin, for this attempt alone; what
    cannot be undone is refused until a person approved it in this generation (`effect_not_approved`).
    """
    claims = callers.holder(request.headers.get("authorization"), ticket)
    return await port.dispatch_effect(owner, repo, ticket, claims, effect, body)


@router.post("/{effect}/result", summary="Say how it ended")
async def result(
    owner: Owner,
    repo: Repo,
    ticket: Ticket,
    effect: Key,
    request: Request,
    body: EffectOutcome,
    port: EffectsPort,
    callers: CallersPort,
) -> WriteAnswer:
    """After it was done. `failed_no_effect` only where it is certain that nothing happened: an answer that did not come
    is `unknown`.
    """
    claims = callers.holder(request.headers.get("authorization"), ticket)
    return await port.report_effect(owner, repo, ticket, claims, effect, body)


@router.post("/{effect}/probe", summary="Look whether it happened")
async def probe(
    owner: Owner,
    repo: Repo,
    ticket: Ticket,
    effect: Key,
    request: Request,
    body: EffectLook,
    port: EffectsPort,
    callers: CallersPort,
) -> WriteAnswer:
    """Runs the effect's probe and writes down what it shows. An effect that is found is `confirmed`; one that is not
    stays `unknown`.
    """
    claims = callers.holder(request.headers.get("authorization"), ticket)
    return await port.probe_effect(owner, repo, ticket, claims, effect, body)
