"""The agent API: six calls about one ticket. Each checks who calls and what was sent, and hands on to the loop."""

from typing import Annotated, Protocol

from fastapi import APIRouter, Depends, Path, Request, Security
from fastapi.security import HTTPBearer
from pydantic import AfterValidator, WithJsonSchema

from app.domain.agent_api import (
    CheckpointRequest,
    ClaimRequest,
    ErrorBody,
    EvidenceRequest,
    Grant,
    HandoffRequest,
    HeartbeatAnswer,
    HeartbeatRequest,
    WriteAnswer,
)
from app.domain.brief import Brief
from app.domain.run_claims import RunClaims
from app.domain.ticket_id import MAX_NUMBER, TICKET, TicketId, ticket_id
from app.domain.token import Claims
from app.domain.validation_api import ValidationRequest
from app.service.bodies import StrictRoute
from app.service.callers import Callers

API = "/api/v1"


class Tickets(Protocol):
    """What the agent API needs of the loop; `controller.controller.Controller` does it. All calls raise Refused."""

    async def claim(
        self,
        owner: str,
        name: str,
        ticket: TicketId,
        request: ClaimRequest,
        login: str,
        run: RunClaims | None = None,
    ) -> Grant: ...
    async def brief(self, owner: str, name: str, ticket: TicketId, run: RunClaims | None = None) -> Brief: ...
    async def evidence(
        self, owner: str, name: str, ticket: TicketId, claims: Claims, request: EvidenceRequest
    ) -> WriteAnswer: ...
    async def checkpoint(
        self, owner: str, name: str, ticket: TicketId, claims: Claims, request: CheckpointRequest
    ) -> WriteAnswer: ...
    async def validation(
        self, owner: str, name: str, ticket: TicketId, claims: Claims, request: ValidationRequest
    ) -> WriteAnswer: ...
    async def handoff(
        self, owner: str, name: str, ticket: TicketId, claims: Claims, request: HandoffRequest
    ) -> WriteAnswer: ...
    async def heartbeat(
        self, owner: str, name: str, ticket: TicketId, claims: Claims, request: HeartbeatRequest
    ) -> HeartbeatAnswer: ...


def _tickets(request: Request) -> Tickets:
    tickets: Tickets = request.app.state.tickets
    return tickets


def _callers(request: Request) -> Callers:
    callers: Callers = request.app.state.callers
    return callers


TicketsPort = Annotated[Tickets, Depends(_tickets)]
CallersPort = Annotated[Callers, Depends(_callers)]
Owner = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,38}$", description="The account.")]
Repo = Annotated[str, Path(pattern=r"^(\.?[A-Za-z0-9_-][A-Za-z0-9._-]{0,98}|\.\.[A-Za-z0-9._-]{1,97})$")]


def _names_a_ticket(text: str) -> str:
    if ticket_id(text) is None:
        raise ValueError(f"not the number of an Issue (1 to {MAX_NUMBER}) or a child of one like 42.docs-1")
    return text


def _ticket(
    ticket: Annotated[
        str,
        AfterValidator(_names_a_ticket),
        WithJsonSchema({"type": "string", "pattern": TICKET}),
        Path(description="The Issue's number, or a child of its ticket like `42.docs-1`."),
    ],
) -> TicketId:
    found = ticket_id(ticket)
    assert found is not None, "the validator above let it pass"
    return found


Ticket = Annotated[TicketId, Depends(_ticket)]

# Only for the published description: the token is read from the header, so that its absence is told in our words.
_user_token = HTTPBearer(
    scheme_name="GitHub user token",
    description="The token of the GitHub account that works, asked of GitHub; or the OIDC token of the workflow run "
    "that the App started for the ticket, a fresh one for every call. Neither is stored or logged.",
    auto_error=False,
)
LEASE_TOKEN = HTTPBearer(
    scheme_name="Lease token", description="The `lease_token` that a claim returned.", auto_error=False
)

ERRORS = {
    401: "The token is missing or is not accepted.",
    403: "The account or lease may not do this.",
    404: "No such repository or ticket that the caller may see.",
    409: "The state of the ticket forbids it: the code says why, the next action what to do.",
    413: "The body or the checkpoint is too large.",
    422: "A field is not valid; the message names it.",
    503: "GitHub or the service gives no answer now; the same call with the same key may be repeated.",
}

router = APIRouter(
    prefix=API + "/repos/{owner}/{repo}/tickets/{ticket}",
    tags=["agent"],
    route_class=StrictRoute,
    responses={status: {"model": ErrorBody, "description": text} for status, text in ERRORS.items()},
)


@router.get("/brief", summary="Everything a fresh agent must know", dependencies=[Security(_user_token)])
async def brief(
    owner: Owner, repo: Repo, ticket: Ticket, request: Request, tickets: TicketsPort, callers: CallersPort
) -> Brief:
    """The ticket as GitHub and its ledger show it now. Reads only. The caller's account needs read permission; a
    workflow run has to be the one that was started for the ticket.
    """
    caller = await callers.may_see(request.headers.get("authorization"), owner, repo)
    return await tickets.brief(owner, repo, ticket, caller.run)


@router.post("/claim", summary="Become the ticket's holder", dependencies=[Security(_user_token)])
async def claim(
    owner: Owner,
    repo: Repo,
    ticket: Ticket,
    request: Request,
    body: ClaimRequest,
    tickets: TicketsPort,
    callers: CallersPort,
) -> Grant:
    """A new generation with a fresh lease, or the reason why not. The caller's account needs write permission; a
    workflow run has to be the one that was started under the `attempt` it sends.

    The same `claim_id` again gets the same grant, so a call whose answer was lost can be repeated.
    """
    caller = await callers.may_claim(request.headers.get("authorization"), owner, repo)
    return await tickets.claim(owner, repo, ticket, body, caller.login, caller.run)


@router.post("/evidence", summary="Report the workspace after a recovery", dependencies=[Security(LEASE_TOKEN)])
async def evidence(
    owner: Owner,
    repo: Repo,
    ticket: Ticket,
    request: Request,
    body: EvidenceRequest,
    tickets: TicketsPort,
    callers: CallersPort,
) -> WriteAnswer:
    """What the agent's side found: the commit it stands on, whether the tree is clean, what `verify` said."""
    claims = callers.holder(request.headers.get("authorization"), ticket)
    return await tickets.evidence(owner, repo, ticket, claims, body)


@router.post("/checkpoint", summary="Save what a successor must know", dependencies=[Security(LEASE_TOKEN)])
async def checkpoint(
    owner: Owner,
    repo: Repo,
    ticket: Ticket,
    request: Request,
    body: CheckpointRequest,
    tickets: TicketsPort,
    callers: CallersPort,
) -> WriteAnswer:
    """Facts, decisions and next steps, at most 40 KiB. Secrets, machine paths and unknown fields are left out and
    reported in `changes`. The same `key` again gets the stored answer.
    """
    claims = callers.holder(request.headers.get("authorization"), ticket)
    return await tickets.checkpoint(owner, repo, ticket, claims, body)


@router.post("/validation", summary="Record what was checked", dependencies=[Security(LEASE_TOKEN)])
async def validation(
    owner: Owner,
    repo: Repo,
    ticket: Ticket,
    request: Request,
    body: ValidationRequest,
    tickets: TicketsPort,
    callers: CallersPort,
) -> WriteAnswer:
    """The latest result of one profile, on exactly one snapshot. Checks that did not finish are named `not_run`."""
    claims = callers.holder(request.headers.get("authorization"), ticket)
    return await tickets.validation(owner, repo, ticket, claims, body)


@router.post("/heartbeat", summary="Say that the holder lives", dependencies=[Security(LEASE_TOKEN)])
async def heartbeat(
    owner: Owner,
    repo: Repo,
    ticket: Ticket,
    request: Request,
    body: HeartbeatRequest,
    tickets: TicketsPort,
    callers: CallersPort,
) -> HeartbeatAnswer:
    """Once a minute, and after every push with the new ledger head."""
    claims = callers.holder(request.headers.get("authorization"), ticket)
    return await tickets.heartbeat(owner, repo, ticket, claims, body)


@router.post("/handoff", summary="Give the ticket back", dependencies=[Security(LEASE_TOKEN)])
async def handoff(
    owner: Owner,
    repo: Repo,
    ticket: Ticket,
    request: Request,
    body: HandoffRequest,
    tickets: TicketsPort,
    callers: CallersPort,
) -> WriteAnswer:
    """Ends the lease in good order: nobody holds the ticket, and the next claim is not a recovery from a crash."""
    claims = callers.holder(request.headers.get("authorization"), ticket)
    return await tickets.handoff(owner, repo, ticket, claims, body)
