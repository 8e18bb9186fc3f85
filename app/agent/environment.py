"""What the agent's environment says: which service, which repository, which tokens.

Wanted properties: a token travels only over TLS or to this machine itself; nothing here prints or stores a token.
Identity by environment: `AGENT_RECOVERY_URL`, `_REPO`, `_TICKET`, `_GENERATION`, `_LEASE_TOKEN`, and `GITHUB_TOKEN`. An
agent that was started for a ticket also has `AGENT_RECOVERY_ATTEMPT`; its `_GENERATION` is the one it claims from.
"""

import os
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from app.domain.keys import is_repository_name
from app.domain.outcome import Blocked, Code, Refused
from app.domain.ticket_id import TicketId, ticket_id

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
ID_TOKEN_URL = "ACTIONS_ID_TOKEN_REQUEST_URL"
ID_TOKEN_SECRET = "ACTIONS_ID_TOKEN_REQUEST_TOKEN"
"""By these a workflow run gets tokens that show which run it is, and so does whoever else knows them."""
SECRET_VARIABLES = ("GITHUB_TOKEN", "GH_TOKEN", "AGENT_RECOVERY_LEASE_TOKEN", ID_TOKEN_URL, ID_TOKEN_SECRET)
"""Never handed to the repository's own commands."""

_ATTEMPT = re.compile(r"[0-9a-f]{16}")
_GENERATION = re.compile(r"[0-9]{1,9}")
_PLAIN_URL = re.compile(r"[!-~]+")


def usage(reason: str, remedy: str) -> Refused:
    """The refusal of a call that was wrong from the start."""
    return Refused(Blocked(Code.USAGE, reason, remedy))


def git_url(service: str, repository_name: str) -> str:
    """Where the service's git endpoint has the repository. `service` has no slash at its end."""
    return f"{service}/git/{repository_name}.git"


def url_problem(url: str) -> str | None:
    """Why a URL is not one to send a token to, or None. Only https, or http on this machine; no credentials in it."""
    if not _PLAIN_URL.fullmatch(url) or len(url) > 2000:
        return "it is not a plain URL"
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname, parts.port
    except ValueError:
        return "it is not a URL"
    if parts.scheme not in ("http", "https") or not host:
        return "it is not an http(s) URL"
    if "@" in parts.netloc:
        return "it holds credentials"
    if parts.query or parts.fragment or "\\" in url:
        return "it has a query, a fragment or a backslash"
    if parts.scheme == "http" and host not in LOOPBACK:
        return "it is http and not on this machine: tokens travel over https only"
    return None


def service_url(saved: str | None = None, environment: Mapping[str, str] = os.environ) -> str:
    """The service's base URL without a trailing slash: from the environment, else the one saved with the lease.

    Raises Refused (`usage`).
    """
    url = environment.get("AGENT_RECOVERY_URL") or saved
    if not url:
        raise usage("AGENT_RECOVERY_URL is not set", "set it to the address of the Agent Recovery service")
    problem = url_problem(url)
    if problem:
        raise usage(
            f"AGENT_RECOVERY_URL cannot be used: {problem}", "use an https:// address (http:// only on 127.0.0.1)"
        )
    return url.rstrip("/")


def user_token(environment: Mapping[str, str] = os.environ) -> str:
    """The agent's own GitHub user token. Raises Refused (`usage`)."""
    token = environment.get("GITHUB_TOKEN", "").strip()
    if not token:
        raise usage("GITHUB_TOKEN is not set", "set it to a GitHub user token that may write to the repository")
    if not _PLAIN_URL.fullmatch(token):
        raise usage("GITHUB_TOKEN holds characters that no token has", "set it to the token alone")
    return token


def dispatched_attempt(environment: Mapping[str, str] = os.environ) -> str | None:
    """The attempt under which this agent was started, if it was. Raises Refused (`usage`)."""
    attempt = environment.get("AGENT_RECOVERY_ATTEMPT", "").strip()
    if attempt and not _ATTEMPT.fullmatch(attempt):
        raise usage("AGENT_RECOVERY_ATTEMPT is no attempt", "set it to the input `attempt` of the run, as it is")
    return attempt or None


def dispatched_generation(environment: Mapping[str, str] = os.environ) -> int | None:
    """The generation that an agent which was started for a ticket claims from; None where it was not, or was not told.
    Raises Refused (`usage`).
    """
    generation = environment.get("AGENT_RECOVERY_GENERATION", "").strip()
    if dispatched_attempt(environment) is None or not generation:
        return None
    if not _GENERATION.fullmatch(generation):
        raise usage(
            "AGENT_RECOVERY_GENERATION is no generation", "set it to the input `generation` of the run, as it is"
        )
    return int(generation)


def audience(service: str, environment: Mapping[str, str] = os.environ) -> str:
    """For whom a token that shows this workflow run is made: the service, by its address or by the name it goes by."""
    return environment.get("AGENT_RECOVERY_OIDC_AUDIENCE", "").strip().rstrip("/") or service


def repository(option: str | None, saved: str | None = None, environment: Mapping[str, str] = os.environ) -> str:
    """`owner/name` by option, environment or the saved lease. Raises Refused (`usage`)."""
    name = option or environment.get("AGENT_RECOVERY_REPO") or saved
    if not name:
        raise usage("no repository named", "pass --repo owner/name or set AGENT_RECOVERY_REPO")
    if not is_repository_name(name):
        raise usage("the repository is not written owner/name", "pass --repo owner/name")
    return name


def ticket(option: str | None, saved: TicketId | None = None, environment: Mapping[str, str] = os.environ) -> TicketId:
    """The ticket or child by argument, environment or the saved lease. Raises Refused (`usage`)."""
    if option is not None:
        named = ticket_id(option)
        if named is None:
            raise usage(f"{option!r} is no ticket", "pass the Issue's number, or a child of its ticket like 42.docs-1")
        return named
    named = ticket_id(environment.get("AGENT_RECOVERY_TICKET", "")) or saved
    if named is None:
        raise usage("no ticket named", "pass the Issue's number (or a child: 42.docs-1), or set AGENT_RECOVERY_TICKET")
    return named


def without_secrets(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment for commands that are not ours: everything but the tokens."""
    return {name: value for name, value in environment.items() if name not in SECRET_VARIABLES}
