"""What anybody who may read a repository may do there, and what a person's token must hold for it.

GitHub lets a reader open Issues, comment and react; a fine-grained token or one by which an App acts for a person must
hold the write permission all the same (docs.github.com, "Permissions required for fine-grained PATs").
"""

from __future__ import annotations

import re

from app.emulator.auth import Identity, holds
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


_ON_ISSUES, _ON_PULLS = ("issues", "pull_requests"), ("pull_requests",)
_MUTATIONS = {
    "addComment": _ON_ISSUES,
    "addPullRequestReview": _ON_PULLS,
    "addReaction": _ON_ISSUES,
    "closeIssue": ("issues",),
    "closePullRequest": _ON_PULLS,
    "createIssue": ("issues",),
    "createPullRequest": _ON_PULLS,
    "deleteIssue": ("issues",),
    "deleteIssueComment": _ON_ISSUES,
    "removeReaction": _ON_ISSUES,
    "reopenIssue": ("issues",),
    "reopenPullRequest": _ON_PULLS,
    "submitPullRequestReview": _ON_PULLS,
    "transferIssue": ("issues",),
    "updateIssue": ("issues",),
    "updateIssueComment": _ON_ISSUES,
    "updatePullRequest": _ON_PULLS,
}


def check_mutation(identity: Identity, field: str) -> None:
    """The same for a mutation: a token that holds the permission nowhere is refused. Raises 403."""
    token, permissions = identity.token, _MUTATIONS.get(field)
    if token is None or permissions is None or token.kind not in ("fine_grained", "user_to_server"):
        return
    by_app = token.kind == "user_to_server"
    grants = [i.permissions for i in identity.reach] if by_app else [token.permissions]
    if not any(holds(g, p, "write") for g in grants for p in permissions):
        raise forbidden_to_app() if by_app else ApiError(403, "Resource not accessible by personal access token")


def missing_scope(identity: Identity, fields: list[str]) -> str | None:
    """GitHub's sentence about a mutation that a classic token's scopes do not cover; it is said before anything is
    executed (reported by clients, such as cli/cli and peter-evans/create-or-update-project-card)."""
    token = identity.token
    if token is None or token.kind != "classic" or token.scopes is None:
        return None
    for field in fields:
        if field in _MUTATIONS and not {"repo", "public_repo"} & set(token.scopes):
            held = ", ".join(f"'{scope}'" for scope in token.scopes or ("",))
            return (
                "Your token has not been granted the required scopes to execute this query. "
                f"The '{field}' field requires one of the following scopes: ['public_repo'], "
                f"but your token has only been granted the: [{held}] scopes. "
                "Please modify your token's scopes at: https://github.com/settings/tokens."
            )
    return None


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
