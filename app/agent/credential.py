"""`agent-recovery git-credential`: hands git the token for one repository, and for nothing else.

Wanted properties: GitHub gets the user's own token, which stands in the environment and nowhere else, the service's git
endpoint gets the lease token; each is given for its own address and for no other host, port, scheme or path; what git
offers to store or erase is ignored.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from app.agent.environment import git_url, url_problem
from app.agent.home import LEASE_FILE, Home
from app.domain.keys import is_repository_name
from app.domain.model import Message
from app.domain.outcome import Refused

_LINE = re.compile(r"([a-z_]+)(?:\[\])?=(.*)")


def answer(request: str, start: Path, environment: Mapping[str, str] = os.environ) -> str:
    """What to print for git's `get` request: user name and password, or nothing when they are not for this request."""
    asked = {found[1]: found[2] for line in request.splitlines() if (found := _LINE.fullmatch(line))}
    for address, user, token in _known(start, environment):
        if token and token.isprintable() and url_problem(address) is None and _is_for(asked, address):
            return f"username={user}\npassword={token}\n"
    return ""


def _known(start: Path, environment: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Addresses with the user name and the token that belong to each: of the lease in this workspace, and, for a clone
    still to be made, of the lease that the environment names.
    """
    handed = environment.get("AGENT_RECOVERY_LEASE_TOKEN", "").strip()
    lease = _lease(start)
    if lease is not None:
        yield lease.clone_url, "x-access-token", environment.get("GITHUB_TOKEN", "").strip()
        yield lease.service_git_url, "agent", handed or lease.lease_token
    service, repository = environment.get("AGENT_RECOVERY_URL", ""), environment.get("AGENT_RECOVERY_REPO", "")
    if service and is_repository_name(repository):
        yield git_url(service.rstrip("/"), repository), "agent", handed


class _Addressed(Message):
    """What of the held lease concerns git. The whole of it takes a second program's time to import, at every call."""

    clone_url: str
    service_url: str
    repository: str
    lease_token: str

    @property
    def service_git_url(self) -> str:
        return git_url(self.service_url, self.repository)


def _lease(start: Path) -> _Addressed | None:
    try:
        return Home.find(start).load(LEASE_FILE, _Addressed)
    except (Refused, OSError):
        return None


def _is_for(asked: dict[str, str], url: str) -> bool:
    parts = urlsplit(url)
    same_place = (asked.get("protocol"), asked.get("host", "").lower()) == (parts.scheme, parts.netloc.lower())
    path = asked.get("path", "").strip("/")
    return same_place and path == parts.path.strip("/")
