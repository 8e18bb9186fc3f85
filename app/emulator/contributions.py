"""What anybody who may read a repository may do there, and what a person's token must hold for it.

GitHub lets a reader open Issues, comment and react; a fine-grained token or one by which an App acts for a person must
hold the write permission all the same (docs.github.com, "Permissions required for fine-grained PATs").
"""

from __future__ import annotations

import re

from app.emulator.auth import holds
from app.emulator.errors import ApiError, forbidden_to_app
from app.emulator.routing import Request, Route

_PARAMETER = re.compile(r"\{[^}]*\}")
_CONTRIBUTIONS: dict[tuple[str, str], tuple[str, ...]] = {
    ("POST", "/repos/{}/{}/issues"): ("issues",),
    ("PATCH", "/repos/{}/{}/issues/{}"): ("issues", "pull_requests"),
    ("POST", "/repos/{}/{}/issues/{}/comments"): ("issues", "pull_requests"),
    ("PATCH", "/repos/{}/{}/issues/comments/{}"): ("issues", "pull_requests"),
    ("DELETE", "/repos/{}/{}/issues/comments/{}"): ("issues", "pull_requests"),
    ("POST", "/repos/{}/{}/issues/comments/{}/reactions"): ("issues", "pull_requests"),
    ("POST", "/repos/{}/{}/pulls"): ("pull_requests",),
    ("PATCH", "/repos/{}/{}/pulls/{}"): ("pull_requests",),
}


def check_contribution(request: Request, route: Route) -> None:
    """Refuse a contribution that the token of a person was not made for. Raises 403."""
    token, permissions = (
        request.identity.token,
        _CONTRIBUTIONS.get((request.method, _PARAMETER.sub("{}", route.pattern))),
    )
    if token is None or permissions is None or token.kind not in ("fine_grained", "user_to_server"):
        return
    request.accepted = "; ".join(f"{name}=write" for name in permissions)
    repo = request.world.repo(*request.segments[1:3])
    if repo is None or not request.identity.sees(repo):
        return
    by_app = token.kind == "user_to_server"
    grants = [i.permissions for i in request.identity.reach if i.covers(repo)] if by_app else [token.permissions]
    if not request.identity.reaches(repo) or not any(holds(g, p, "write") for g in grants for p in permissions):
        raise forbidden_to_app() if by_app else ApiError(403, "Resource not accessible by personal access token")
