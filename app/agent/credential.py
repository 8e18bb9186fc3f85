"""`agent-recovery git-credential`: hands git the user's own token, for one repository only.

Wanted properties: the token stands in the environment and nowhere else; it is given for the clone URL of the lease in
this workspace and for no other host, port, scheme or path; what git offers to store or erase is ignored.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from app.agent.environment import url_problem
from app.agent.held import FILE, HeldLease
from app.agent.home import Home
from app.domain.outcome import Refused

_LINE = re.compile(r"([a-z_]+)(?:\[\])?=(.*)")


def answer(request: str, start: Path, environment: Mapping[str, str] = os.environ) -> str:
    """What to print for git's `get` request: user name and password, or nothing when they are not for this request."""
    asked = {found[1]: found[2] for line in request.splitlines() if (found := _LINE.fullmatch(line))}
    token = environment.get("GITHUB_TOKEN", "").strip()
    url = _clone_url(start)
    if not token or url is None or not token.isprintable() or not _is_for(asked, url):
        return ""
    return f"username=x-access-token\npassword={token}\n"


def _clone_url(start: Path) -> str | None:
    try:
        lease = Home.find(start).load(FILE, HeldLease)
    except (Refused, OSError):
        return None
    if lease is None or url_problem(lease.clone_url):
        return None
    return lease.clone_url


def _is_for(asked: dict[str, str], url: str) -> bool:
    parts = urlsplit(url)
    same_place = (asked.get("protocol"), asked.get("host", "").lower()) == (parts.scheme, parts.netloc.lower())
    path = asked.get("path", "").strip("/")
    return same_place and path == parts.path.strip("/")
