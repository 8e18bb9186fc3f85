"""Forks, and deleting repositories."""

from __future__ import annotations

from typing import Any

from app.emulator.acts import following, forks
from app.emulator.acts.branch_updates import sync_fork
from app.emulator.auth import require
from app.emulator.errors import ApiError, forbidden_to_app
from app.emulator.rest.table import accepted, open_repo, render, routes
from app.emulator.routing import Request, Response, paginated
from app.emulator.state import Account, Repository, Token


def lineage(request: Request, repo: Repository) -> dict[str, Any]:
    """What the full form of a repository adds: the size of its network, and where a fork comes from."""
    counts = {"network_count": len(forks.network(request.world, repo)), "subscribers_count": 0}
    if repo.parent is None:
        return counts
    shown = render(request)
    return counts | {"parent": shown.repository(repo.parent), "source": shown.repository(repo.source)}


@routes.add("GET", "/repos/{owner}/{repo}/forks")
def list_forks(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    made = [r for r in request.world.repos.values() if r.parent is found and request.identity.sees(r)]
    made.sort(key=lambda r: r.id, reverse=request.query.get("sort", "newest") != "oldest")
    return paginated(request, made, render(request).minimal_repository)


@routes.add("POST", "/repos/{owner}/{repo}/forks")
def create_fork(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "read", "contents")
    request.accepted = "administration=write,contents=read"
    body = request.body
    made = forks.fork(
        request.world,
        found,
        _target(request, body.maybe("organization", str)),
        request.identity.actor,
        body.maybe("name", str),
        default_branch_only=body.get("default_branch_only", bool, False),
    )
    return Response.json(render(request).repository(made, "admin") | lineage(request, made), 202)


def _target(request: Request, organization: str | None) -> Account:
    """The account to fork to. An App must be installed there for all repositories and administer them."""
    identity = request.identity
    if organization is None:
        account: Account | None = identity.account
    else:
        account = request.world.account(organization)
    if identity.installation is not None:
        app, wanted = identity.installation.app, account if organization is not None else None
        there = [i for i in request.world.installations.values() if i.app is app and i.account is wanted]
        if not any(i.repositories is None and i.permissions.get("administration") == "write" for i in there):
            raise forbidden_to_app()
    if account is None or (organization is not None and account.type != "Organization"):
        raise ApiError(
            422,
            "Validation Failed",
            [{"resource": "Fork", "code": "invalid", "field": "organization", "value": organization}],
        )
    return account


@routes.add("POST", "/repos/{owner}/{repo}/merge-upstream")
def merge_upstream(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "write", "contents")
    branch = request.body.need("branch", str)
    kind = sync_fork(request.world, found, branch, request.identity.actor)
    upstream = f"{found.parent.owner.login}:{branch}" if found.parent is not None else branch
    message = {
        "none": f"This branch is not behind the upstream {upstream}.",
        "fast-forward": f"Successfully fetched and fast-forwarded from upstream {upstream}.",
        "merge": f"Successfully fetched and merged from upstream {upstream}.",
    }[kind]
    return Response.json({"message": message, "merge_type": kind, "base_branch": upstream})


def _may_delete(token: Token | None) -> bool:
    """A classic token needs the scope ``delete_repo``, which ``repo`` does not include."""
    return token is None or token.scopes is None or "delete_repo" in token.scopes


@routes.add("DELETE", "/repos/{owner}/{repo}")
def delete_repository(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    request.accepted = accepted("write", ("administration",))
    identity = request.identity
    if identity.installation is not None:
        require(identity, found, "write", "administration")
    elif identity.user is None:
        raise ApiError(401, "Requires authentication")
    elif not identity.allows(found, "administration", "write") or not _may_delete(identity.token):
        raise ApiError(403, "Must have admin rights to Repository.")
    following.head_repository_gone(request.world, found, identity.actor)
    forks.remove(request.world, found, identity.actor)
    return Response(204)
