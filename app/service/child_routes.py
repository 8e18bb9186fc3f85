"""The agent API about children: what a ticket's holder does about them, and how a child gives its result.

The child itself is claimed, checkpoints and hands off by the paths of every ticket (`…/tickets/42.docs-1/…`).
"""

from typing import Annotated, Protocol

from fastapi import APIRouter, Depends, Path, Request, Security

from app.domain.agent_api import ErrorBody, WriteAnswer
from app.domain.child_api import NamedChildRequest, RespawnRequest, ResultRequest, SpawnRequest
from app.domain.shown_child import Children
from app.domain.ticket_id import MAX_NUMBER, TicketId
from app.domain.token import Claims
from app.service.agent_routes import API, ERRORS, LEASE_TOKEN, CallersPort, Owner, Repo, Ticket
from app.service.bodies import StrictRoute


class Parents(Protocol):
    """What these calls need of the loop; `controller.controller.Controller` does it. All raise Refused."""

    async def children(self, owner: str, name: str, ticket: int, claims: Claims) -> Children: ...
    async def spawn(self, owner: str, name: str, ticket: int, claims: Claims, request: SpawnRequest) -> WriteAnswer: ...
    async def respawn(
        self, owner: str, name: str, ticket: int, claims: Claims, request: RespawnRequest
    ) -> WriteAnswer: ...
    async def adopt(
        self, owner: str, name: str, ticket: int, claims: Claims, request: NamedChildRequest
    ) -> WriteAnswer: ...
    async def cancel_child(
        self, owner: str, name: str, ticket: int, claims: Claims, request: NamedChildRequest
    ) -> WriteAnswer: ...
    async def result(
        self, owner: str, name: str, ticket: TicketId, claims: Claims, request: ResultRequest
    ) -> WriteAnswer: ...


def _parents(request: Request) -> Parents:
    parents: Parents = request.app.state.tickets
    return parents


ParentsPort = Annotated[Parents, Depends(_parents)]
Number = Annotated[int, Path(alias="ticket", ge=1, le=MAX_NUMBER, description="The number of the parent's Issue.")]

router = APIRouter(
    prefix=API + "/repos/{owner}/{repo}/tickets/{ticket}",
    tags=["children"],
    route_class=StrictRoute,
    responses={status: {"model": ErrorBody, "description": text} for status, text in ERRORS.items()},
)


@router.get("/children", summary="A ticket's children", dependencies=[Security(LEASE_TOKEN)])
async def children(
    owner: Owner, repo: Repo, ticket: Number, request: Request, parents: ParentsPort, callers: CallersPort
) -> Children:
    """Each as it stands now: running, interrupted, completed, stale, orphaned … and which is to be integrated next.
    Reads only; the brief shows the same to everybody who may read the repository.
    """
    claims = callers.holder(request.headers.get("authorization"), ticket)
    return await parents.children(owner, repo, ticket, claims)


@router.post("/children/spawn", summary="Give a part of the work to a child", dependencies=[Security(LEASE_TOKEN)])
async def spawn(
    owner: Owner,
    repo: Repo,
    ticket: Number,
    request: Request,
    body: SpawnRequest,
    parents: ParentsPort,
    callers: CallersPort,
) -> WriteAnswer:
    """The child starts at what the ticket has published. It is born and listed in one update."""
    claims = callers.holder(request.headers.get("authorization"), ticket)
    return await parents.spawn(owner, repo, ticket, claims, body)


@router.post("/children/respawn", summary="Ask for a child's work anew", dependencies=[Security(LEASE_TOKEN)])
async def respawn(
    owner: Owner,
    repo: Repo,
    ticket: Number,
    request: Request,
    body: RespawnRequest,
    parents: ParentsPort,
    callers: CallersPort,
) -> WriteAnswer:
    """At the ticket's present snapshot; for a child that failed, went stale or was interrupted."""
    claims = callers.holder(request.headers.get("authorization"), ticket)
    return await parents.respawn(owner, repo, ticket, claims, body)


@router.post("/children/adopt", summary="List an orphan", dependencies=[Security(LEASE_TOKEN)])
async def adopt(
    owner: Owner,
    repo: Repo,
    ticket: Number,
    request: Request,
    body: NamedChildRequest,
    parents: ParentsPort,
    callers: CallersPort,
) -> WriteAnswer:
    """A child whose ledger stands though no record lists it; nothing of it is integrated before."""
    claims = callers.holder(request.headers.get("authorization"), ticket)
    return await parents.adopt(owner, repo, ticket, claims, body)


@router.post("/children/cancel", summary="End a child", dependencies=[Security(LEASE_TOKEN)])
async def cancel(
    owner: Owner,
    repo: Repo,
    ticket: Number,
    request: Request,
    body: NamedChildRequest,
    parents: ParentsPort,
    callers: CallersPort,
) -> WriteAnswer:
    """Whoever holds the child is fenced out; what it published stays on its branch."""
    claims = callers.holder(request.headers.get("authorization"), ticket)
    return await parents.cancel_child(owner, repo, ticket, claims, body)


@router.post("/completion", summary="Give a child's result", dependencies=[Security(LEASE_TOKEN)])
async def result(
    owner: Owner,
    repo: Repo,
    ticket: Ticket,
    request: Request,
    body: ResultRequest,
    parents: ParentsPort,
    callers: CallersPort,
) -> WriteAnswer:
    """With it the child ends: it is claimed by nobody any more, and its parent's holder integrates the result."""
    claims = callers.holder(request.headers.get("authorization"), ticket)
    return await parents.result(owner, repo, ticket, claims, body)
