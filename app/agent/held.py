"""The lease this workspace holds: `.agent-recovery/lease.json`, and the identity that every write shows.

The file holds the lease token, so it is mode 0600 and ignored by git. What a grant says is checked before it is
kept, because its names end up in git's arguments.
"""

import base64
import binascii
import os
from collections.abc import Mapping
from dataclasses import dataclass

from app.agent.environment import dispatched_generation, git_url, repository, service_url, ticket, url_problem, usage
from app.agent.home import LEASE_FILE, Home
from app.domain.agent_api import Grant
from app.domain.branches import owner_of_branch
from app.domain.model import Instant, Message, Sha
from app.domain.outcome import Blocked, Code, Refused
from app.domain.refs import BRANCH_NAMESPACE, DEFAULT_NAMESPACE, LedgerRefs
from app.domain.ticket_id import TicketField, TicketId
from app.domain.token import Claims, Forged
from app.domain.token import read as read_token

FILE = LEASE_FILE


class HeldLease(Message):
    """A grant as it is kept, with what later commands learn: the ledger's head and the published commit."""

    service_url: str
    claim_id: str
    repository: str
    repository_id: int
    ticket: TicketField
    generation: int
    nonce: str
    lease_token: str
    expires_at: Instant
    heartbeat_every_s: int
    clone_url: str
    ledger_ref: str
    ledger_head: Sha
    namespace: str
    branch: str
    trunk: str
    base_sha: Sha
    published_sha: Sha | None
    head_sha: Sha
    public_keys: dict[str, str]
    verify: tuple[tuple[str, ...], ...] = ()
    ttl_s: int = 900
    max_gap_s: int = 1800
    through_service: bool = False
    """A workflow run holds it: whatever other token stands in its environment, its git goes through the service."""
    ended: str | None = None
    """Why this lease is over, as far as this workspace ended it itself."""

    @property
    def identity(self) -> tuple[int, str]:
        return self.generation, self.nonce

    @property
    def git_url(self) -> str:
        """Where this agent's git reaches the repository: GitHub, where the agent has a token of its own; else the
        service, which takes the lease token.
        """
        own = os.environ.get("GITHUB_TOKEN", "").strip() and not self.through_service
        return self.clone_url if own else self.service_git_url

    @property
    def service_git_url(self) -> str:
        return git_url(self.service_url, self.repository)

    @property
    def addresses(self) -> tuple[str, ...]:
        """Every address under which the repository may stand in this clone's configuration."""
        return self.clone_url, self.service_git_url

    def keys(self) -> dict[str, bytes]:
        """The service's public seal keys as raw bytes."""
        return {kid: base64.b64decode(text) for kid, text in self.public_keys.items()}


def from_grant(
    grant: Grant, *, url: str, name: str, number: TicketId, claim_id: str, through_service: bool = False
) -> HeldLease:
    """The grant as a lease to keep. Raises Refused when anything in it is not safe to act on."""
    problem = _problem(grant, name, number)
    if problem:
        raise Refused(
            Blocked(
                Code.UNAVAILABLE,
                f"the service's grant cannot be used: {problem}",
                "check AGENT_RECOVERY_URL; tell the operator of the service",
            )
        )
    kept = grant.model_dump(exclude={"repository", "brief"})
    return HeldLease(
        **kept,
        service_url=url,
        claim_id=claim_id,
        repository=name,
        repository_id=grant.repository.id,
        clone_url=grant.repository.clone_url,
        through_service=through_service,
    )


def _problem(grant: Grant, name: str, number: TicketId) -> str | None:
    if f"{grant.repository.owner}/{grant.repository.name}".lower() != name.lower() or grant.ticket != number:
        return "it is for another ticket"
    about_url = url_problem(grant.repository.clone_url)
    if about_url:
        return f"the clone URL is refused: {about_url}"
    if owner_of_branch(grant.branch) != number:
        return "the branch is not a branch of this ticket"
    if grant.namespace not in (DEFAULT_NAMESPACE, BRANCH_NAMESPACE):
        return "the ledger's namespace is unknown"
    if grant.ledger_ref != LedgerRefs(grant.namespace).active(number):
        return "the ledger ref is not this ticket's"
    if read_token(grant.lease_token) != Claims(grant.repository.id, number, grant.generation, grant.nonce):
        return "the lease token does not belong to it"
    try:
        keys = [base64.b64decode(text, validate=True) for text in grant.public_keys.values()]
    except (binascii.Error, ValueError):
        return "a public key is malformed"
    if not keys or any(len(key) != 32 for key in keys):
        return "a public key is missing or malformed"
    if not all(command and all("\0" not in word for word in command) for command in grant.verify):
        return "a verify command is malformed"
    return None


@dataclass(frozen=True)
class Identity:
    """Who writes: the service, the ticket, and the lease token with what it says of itself."""

    url: str
    repository: str
    ticket: TicketId
    claims: Claims
    token: str


def held_lease(home: Home) -> HeldLease:
    """The lease of this workspace. Raises Refused: there is none, or this workspace ended it itself."""
    lease = home.load(FILE, HeldLease)
    if lease is None:
        raise usage("no lease in this folder (.agent-recovery/lease.json)", "run `agent-recovery recover TICKET` first")
    _refuse_ended(lease)
    return lease


def identity(home: Home, environment: Mapping[str, str] = os.environ) -> Identity:
    """The identity for writes: the environment's values over the saved lease's. Raises Refused."""
    lease = home.load(FILE, HeldLease)
    token = environment.get("AGENT_RECOVERY_LEASE_TOKEN", "").strip()
    if not token:
        lease = held_lease(home)
        token = lease.lease_token
    claims = read_token(token)
    if isinstance(claims, Forged):
        raise usage("the lease token is malformed", "take it from the claim's answer, or unset it")
    number = ticket(None, claims.ticket, environment)
    told = environment.get("AGENT_RECOVERY_GENERATION", "")
    # An agent that was started for the ticket was told the generation before its own.
    from_ = dispatched_generation(environment)
    generation = told if from_ is None else str(from_ + 1)
    if number != claims.ticket or (generation and generation != str(claims.generation)):
        raise usage(
            "AGENT_RECOVERY_TICKET or AGENT_RECOVERY_GENERATION differs from what the lease token says",
            "set all of them from one claim, or unset them",
        )
    return Identity(
        url=service_url(lease.service_url if lease else None, environment),
        repository=repository(None, lease.repository if lease else None, environment),
        ticket=number,
        claims=claims,
        token=token,
    )


def _refuse_ended(lease: HeldLease) -> None:
    if lease.ended:
        raise Refused(
            Blocked(
                Code.ENDED,
                f"this workspace's lease (generation {lease.generation}) is over: {lease.ended}",
                f"run `agent-recovery recover {lease.ticket}` in a new empty folder",
            )
        )
