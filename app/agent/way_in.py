"""By what an agent comes to its ticket: by an account of its own, which claims, as the workflow run that the App
started for the ticket, which claims too, or by a lease that was claimed for it.

Whoever starts an agent may claim for it and hand it the lease token alone: the agent then needs no GitHub credential at
all, and its git goes through the service. So does that of a workflow run, which shows who it is by a token for each
call.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from app.agent.actions_token import ActionsToken
from app.agent.api import Service
from app.agent.environment import (
    ID_TOKEN_SECRET,
    ID_TOKEN_URL,
    audience,
    dispatched_attempt,
    dispatched_generation,
    usage,
    user_token,
)
from app.domain.brief import Brief


@dataclass(frozen=True)
class Account:
    """A GitHub user token. `attempt`: under which the operator's command started this agent, if it did."""

    token: str = field(repr=False)
    attempt: str | None = None
    generation: int | None = None

    def bearer(self) -> str:
        """What goes with a call."""
        return self.token


@dataclass(frozen=True)
class Dispatched:
    """The workflow run that the App started, under this attempt, to claim from this generation (None: whatever the
    brief shows).
    """

    tokens: ActionsToken
    attempt: str
    generation: int | None = None

    def bearer(self) -> str:
        """What goes with a call, and with no other. Raises Refused."""
        return self.tokens.fresh()


@dataclass(frozen=True)
class Handed:
    """The token of a lease that stands, and no account."""

    token: str = field(repr=False)


WayIn = Account | Dispatched | Handed


def way_in(service_url: str, environment: Mapping[str, str] = os.environ) -> WayIn:
    """What the environment gives: a workflow run that was started for the ticket goes before an account, and that
    before a lease. Raises Refused (`usage`) where it gives none.
    """
    handed = environment.get("AGENT_RECOVERY_LEASE_TOKEN", "").strip()
    attempt, generation = dispatched_attempt(environment), dispatched_generation(environment)
    url, secret = environment.get(ID_TOKEN_URL, "").strip(), environment.get(ID_TOKEN_SECRET, "").strip()
    if attempt is not None and url and secret:
        return Dispatched(ActionsToken(url, secret, audience(service_url, environment)), attempt, generation)
    if environment.get("GITHUB_TOKEN", "").strip():
        return Account(user_token(environment), attempt, generation)
    if handed:
        return Handed(handed)
    if attempt is not None:
        raise usage(
            "AGENT_RECOVERY_ATTEMPT is set, and nothing shows who comes with it: this is no job that may ask GitHub "
            "for a token of its run, and GITHUB_TOKEN is not set",
            "in a workflow, give the job `permissions: id-token: write`, and run this in a step of its own; elsewhere, "
            "set GITHUB_TOKEN to a user token that may write to the repository",
        )
    if url and secret:
        raise usage(
            "AGENT_RECOVERY_ATTEMPT is not set: the App did not start this workflow run",
            "let the App start it: `/recovery recover` in a comment on the Issue",
        )
    raise usage(
        "neither GITHUB_TOKEN nor AGENT_RECOVERY_LEASE_TOKEN is set",
        "set GITHUB_TOKEN to a user token that may write to the repository, or take a claim's lease token over",
    )


def read_brief(service: Service, way: WayIn) -> Brief:
    """The brief. Raises Refused."""
    return service.lease(way.token).brief if isinstance(way, Handed) else service.brief(way.bearer)
