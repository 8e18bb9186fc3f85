"""Repositories, branches, collaborators."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from app.emulator.acts.events import announce_reach
from app.emulator.acts.moves import rename_repository, transfer_repository
from app.emulator.acts.refs import commit_files
from app.emulator.auth import at_least
from app.emulator.errors import ApiError, invalid, not_found
from app.emulator.people import role_flags
from app.emulator.render_protection import RenderProtection, is_protected
from app.emulator.repo_settings import changed
from app.emulator.rest.forks import lineage
from app.emulator.rest.table import find_account, open_repo, render, routes
from app.emulator.routing import Request, Response, paginated
from app.emulator.state import Account, Actor, Repository


@routes.add("GET", "/repos/{owner}/{repo}")
def repository(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    user = request.identity.user
    role = found.role_of(user) if user is not None else None
    return Response.json(render(request).repository(found, role) | lineage(request, found))


@routes.add("PATCH", "/repos/{owner}/{repo}")
def change_repository(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "write", "administration")
    body = request.body
    branch = body.maybe("default_branch", str)
    if branch is not None:
        if found.git.branch(branch) is None:
            raise invalid("Repository", "default_branch")
        found.default_branch = branch
        found.git.set_head(branch)
    found.settings = changed(found.settings, body.data)
    found.archived = body.get("archived", bool, found.archived)
    found.private = body.get("private", bool, found.private)
    found.description = body.get("description", str, found.description or "") or None
    if "name" in body:
        rename_repository(request.world, found, body.need("name", str), request.identity.actor)
    return Response.json(render(request).repository(found) | lineage(request, found))


@routes.add("POST", "/repos/{owner}/{repo}/transfer")
def transfer(request: Request, owner: str, repo: str) -> Response:
    """Transfers at once: the receiver's acceptance, which GitHub asks of people, counts as given."""
    found = open_repo(request, owner, repo, "write", "administration")
    body = request.body
    receiver = find_account(request, body.need("new_owner", str))
    shown = render(request).minimal_repository(found)
    transfer_repository(request.world, found, receiver, request.identity.actor, body.maybe("new_name", str))
    return Response.json(shown, 202)


@routes.add("POST", "/user/repos")
def create_own_repository(request: Request) -> Response:
    if request.identity.user is None:
        raise ApiError(403, "Resource not accessible by integration")
    return _create(request, request.identity.user)


@routes.add("POST", "/orgs/{org}/repos")
def create_org_repository(request: Request, org: str) -> Response:
    account = find_account(request, org)
    if account.type != "Organization":
        raise not_found()
    return _create(request, account)


def _create(request: Request, owner: Account) -> Response:
    body = request.body
    world = request.world
    creator = request.identity.account
    repo = world.add_repo(
        owner, body.need("name", str), private=body.get("private", bool, False), default_branch="main"
    )
    if creator is not owner:
        repo.collaborators[creator.login.lower()] = "admin"
    if body.get("auto_init", bool, False):
        commit_files(world, repo, repo.default_branch, {"README.md": f"# {repo.name}\n"}, Actor(creator))
    for installation in world.installations.values():
        if installation.account is owner and installation.repositories is None:
            announce_reach(world, installation, "added", [repo], Actor(creator))
    return Response.json(render(request).repository(repo, "admin") | lineage(request, repo), 201)


def _branch(request: Request, repo: Repository, name: str, oid: str) -> dict[str, Any]:
    api = f"{request.base_url}/repos/{repo.full_name}"
    return {
        "name": name,
        "commit": {"sha": oid, "url": f"{api}/commits/{oid}"},
    } | RenderProtection(render(request), repo, name).short(name)


@routes.add("GET", "/repos/{owner}/{repo}/branches")
def branches(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "read", "contents")
    heads = [(n.removeprefix("refs/heads/"), oid) for n, oid in found.git.refs("refs/heads/")]
    if request.flag("protected"):
        heads = [h for h in heads if is_protected(found, h[0])]
    return paginated(request, heads, lambda h: _branch(request, found, *h))


@routes.add("GET", "/repos/{owner}/{repo}/branches/{branch*}")
def branch(request: Request, owner: str, repo: str, branch: str) -> Response:
    found = open_repo(request, owner, repo, "read", "contents")
    oid = found.git.branch(branch)
    if oid is None:
        raise ApiError(404, "Branch not found")
    shown = _branch(request, found, branch, oid)
    links = {"self": f"{request.base_url}/repos/{found.full_name}/branches/{quote(branch)}"}
    links["html"] = f"{request.world.url}/{found.full_name}/tree/{quote(branch)}"
    return Response.json(shown | {"commit": render(request).commit(found, oid), "_links": links})


@routes.add("GET", "/repos/{owner}/{repo}/collaborators")
def collaborators(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    user = request.identity.user
    if user is not None and not at_least(found.role_of(user), "write"):
        raise ApiError(403, "Must have push access to view repository collaborators.")
    people = [found.owner] if found.owner.type == "User" else []
    people += [a for a in (request.world.account(x) for x in found.collaborators) if a is not None]
    shown = render(request)
    return paginated(request, people, lambda a: shown.account(a) | _role(found, a))


def _role(repo: Repository, account: Account) -> dict[str, Any]:
    role = repo.role_of(account)
    return {"permissions": role_flags(role), "role_name": role}


@routes.add("GET", "/repos/{owner}/{repo}/collaborators/{login}")
def is_collaborator(request: Request, owner: str, repo: str, login: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    account = request.world.account(login)
    if account is None or not (account is found.owner or login.lower() in found.collaborators):
        raise not_found()
    return Response(204)


@routes.add("GET", "/repos/{owner}/{repo}/collaborators/{login}/permission")
def permission(request: Request, owner: str, repo: str, login: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    user = request.identity.user
    if user is not None and not at_least(found.role_of(user), "write"):
        raise ApiError(403, "Must have push access to view collaborator permission.")
    account = find_account(request, login)
    role = found.role_of(account)
    legacy = {"maintain": "write", "triage": "read"}.get(role, role)
    return Response.json(
        {
            "permission": legacy,
            "role_name": role,
            "user": render(request).account(account) | _role(found, account),
        }
    )


@routes.add("PUT", "/repos/{owner}/{repo}/collaborators/{login}")
def add_collaborator(request: Request, owner: str, repo: str, login: str) -> Response:
    found = open_repo(request, owner, repo, "write", "administration")
    account = find_account(request, login)
    asked = request.body.get("permission", str, "push")
    found.collaborators[account.login.lower()] = {"pull": "read", "push": "write"}.get(asked, asked)
    return Response(204)


@routes.add("DELETE", "/repos/{owner}/{repo}/collaborators/{login}")
def remove_collaborator(request: Request, owner: str, repo: str, login: str) -> Response:
    found = open_repo(request, owner, repo, "write", "administration")
    found.collaborators.pop(login.lower(), None)
    return Response(204)
