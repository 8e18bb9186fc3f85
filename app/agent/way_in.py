"""By what an agent comes to its ticket: by an account of its own, which claims, or by a lease that was claimed for it.

Whoever starts an agent may claim for it and hand it the lease token alone: the agent then needs no GitHub credential at
all, and its git goes through the service.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from app.agent.api import Service
from app.agent.environment import usage, user_token
from app.domain.brief import Brief


@dataclass(frozen=True)
class Account:
    """A GitHub user token."""

    token: str = field(repr=False)


@dataclass(frozen=True)
class Handed:
    """The token of a lease that stands, and no account."""

    token: str = field(repr=False)


WayIn = Account | Handed


def way_in(environment: Mapping[str, str] = os.environ) -> WayIn:
    """What the environment gives; an account goes before. Raises Refused (`usage`) where it gives neither."""
    handed = environment.get("AGENT_RECOVERY_LEASE_TOKEN", "").strip()
    if environment.get("GITHUB_TOKEN", "").strip():
        return Account(user_token(environment))
    if not handed:
        raise usage(
            "neither GITHUB_TOKEN nor AGENT_RECOVERY_LEASE_TOKEN is set",
            "set GITHUB_TOKEN to a user token that may write to the repository, or take a claim's lease token over",
        )
    return Handed(handed)


def read_brief(service: Service, way: WayIn) -> Brief:
    """The brief. Raises Refused."""
    return service.brief(way.token) if isinstance(way, Account) else service.lease(way.token).brief
