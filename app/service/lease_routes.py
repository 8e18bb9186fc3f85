"""The grant of a lease that stands, for the agent that was handed its token: all it needs, without any account."""

from typing import Annotated, Protocol

from fastapi import APIRouter, Depends, Request, Security

from app.domain.agent_api import ErrorBody, Grant
from app.domain.ticket_id import TicketId
from app.domain.token import Claims
from app.service.agent_routes import API, ERRORS, LEASE_TOKEN, CallersPort, Owner, Repo, Ticket


class Leases(Protocol):
    """What the route needs of the loop; `controller.controller.Controller` does it. Raises Refused."""

    async def lease(self, owner: str, name: str, ticket: TicketId, claims: Claims) -> Grant: ...


def _leases(request: Request) -> Leases:
    leases: Leases = request.app.state.tickets
    return leases


router = APIRouter(
    prefix=API + "/repos/{owner}/{repo}/tickets/{ticket}",
    tags=["agent"],
    responses={status: {"model": ErrorBody, "description": text} for status, text in ERRORS.items()},
)


@router.get("/lease", summary="The grant of the present lease", dependencies=[Security(LEASE_TOKEN)])
async def lease(
    owner: Owner,
    repo: Repo,
    ticket: Ticket,
    request: Request,
    leases: Annotated[Leases, Depends(_leases)],
    callers: CallersPort,
) -> Grant:
    """What the claim returned, as it is now, the brief included: for an agent that was given the lease token by whoever
    claimed, and has no GitHub account of its own. Reads only.
    """
    claims = callers.holder(request.headers.get("authorization"), ticket)
    return await leases.lease(owner, repo, ticket, claims)
