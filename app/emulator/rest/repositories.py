"""Repositories, branches, collaborators."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from app.emulator.acts import repositories
from app.emulator.acts.branch_names import rename_branch
from app.emulator.acts.moves import rename_repository, transfer_repository
from app.emulator.acts.refs import RefRefusal, RuleRefusal, commit_files
from app.emulator.auth import at_least, holds, require, visible_repo
from app.emulator.errors import ApiError, forbidden_to_app, invalid, not_found
from app.emulator.people import role_flags
from app.emulator.people_roles import best_role
from app.emulator.render_protection import RenderProtection, is_protected
from app.emulator.repos import is_ref_name
from app.emulator.rest.forks import lineage
from app.emulator.rest.table import accepted, find_account, open_repo, render, routes
from app.emulator.routing import Body, Request, Response, paginated
from app.emulator.state import ROLES, Account, Repository


@routes.add("GET", "/repos/{owner}/{repo}")
def repository(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    user = request.identity.user
    role = found.role_of(user) if user is not None else None
    return Response.json(render(request).repository(found, role) | lineage(request, found))


@routes.add("PATCH", "/repos/{owner}/{repo}")
def change_repository(request: Request, owner: str, repo: str) -> Response:
    body, world, identity = request.body, request.world, request.identity
    found = visible_repo(world, identity, owner, repo)
    # The one write an archived repository takes is that which opens it again.
    opened = found.archived and body.maybe("archived", bool) is False
    request.accepted = accepted("write", ("administration",))
    require(identity, found, "write", "administration", archived=opened)
    for name, kind in (("default_branch", str), ("description", str), ("archived", bool)):
        body.maybe(name, kind)
    given = body.data | {"private": _private(body)}
    repositories.change_repository(world, found, identity.actor, given)
    if "name" in body:
        rename_repository(world, found, body.need("name", str), identity.actor)
    return Response.json(render(request).repository(found) | lineage(request, found))


def _private(body: Body) -> bool | None:
    """What a body says about who sees the repository: by ``visibility``, or by ``private``. Raises 422."""
    visibility = body.maybe("visibility", str)
    if visibility is None:
        return body.maybe("private", bool)
    if visibility not in ("public", "private"):
        raise ApiError(422, f"Invalid request.\n\n{visibility} is not a member of [public, private].")
    return visibility == "private"


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
        raise forbidden_to_app() if request.identity.app else ApiError(401, "Requires authentication")
    return _create(request, request.identity.user)


@routes.add("POST", "/orgs/{org}/repos")
def create_org_repository(request: Request, org: str) -> Response:
    account = find_account(request, org)
    if account.type != "Organization":
        raise not_found()
    request.accepted = accepted("write", ("administration",))
    _check_creator(request, account)
    return _create(request, account)


def _check_creator(request: Request, org: Account) -> None:
    """May this identity add a repository to the organization? Its members may; of those the emulator knows who has a
    role in one of its repositories, and while it has none, anybody counts as its founder. Raises 401 and 403."""
    identity, world = request.identity, request.world
    if identity.installation is not None:
        held = identity.token.permissions if identity.token is not None else {}
        if identity.installation.account is not org or not holds(held, "administration", "write"):
            raise forbidden_to_app()
    elif identity.user is None:
        raise forbidden_to_app() if identity.app else ApiError(401, "Requires authentication")
    elif best_role(world, org, identity.user) == "none" and any(r.owner is org for r in world.repos.values()):
        raise ApiError(403, "You need admin access to the organization before adding a repository to it.")


def _create(request: Request, owner: Account) -> Response:
    body, world = request.body, request.world
    creator = request.identity.account
    name, private = body.need("name", str), _private(body)
    repo = repositories.create_repository(
        world, owner, name, request.identity.actor, private=bool(private), default_branch="main"
    )
    if creator is not owner and creator.type == "User":
        repo.collaborators[creator.login.lower()] = "admin"
    repo.description = body.maybe("description", str)
    if body.get("auto_init", bool, False):
        commit_files(world, repo, repo.default_branch, {"README.md": f"# {repo.name}\n"}, request.identity.actor)
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
def shown_branch(request: Request, owner: str, repo: str, branch: str) -> Response:
    found = open_repo(request, owner, repo, "read", "contents")
    oid = found.git.branch(branch)
    if oid is None:
        raise ApiError(404, "Branch not found")
    shown = _branch(request, found, branch, oid)
    links = {"self": f"{request.base_url}/repos/{found.full_name}/branches/{quote(branch)}"}
    links["html"] = f"{request.world.url}/{found.full_name}/tree/{quote(branch)}"
    return Response.json(shown | {"commit": render(request).commit(found, oid), "_links": links})


@routes.add("POST", "/repos/{owner}/{repo}/branches/{branch*}/rename")
def rename(request: Request, owner: str, repo: str, branch: str) -> Response:
    found = open_repo(request, owner, repo, "write", "contents")
    new = request.body.need("new_name", str)
    if found.git.branch(branch) is None:
        raise ApiError(404, "Branch not found")
    if branch == found.default_branch:
        require(request.identity, found, "write", "administration")
    if not is_ref_name(f"refs/heads/{new}"):
        raise invalid("Branch", "name")
    if found.git.branch(new) is not None:
        raise ApiError(422, f"Branch {new} already exists")
    try:
        rename_branch(request.world, found, branch, new, request.identity.actor)
    except RuleRefusal as refusal:
        raise ApiError(403, refusal.violations.message) from refusal
    except RefRefusal as refusal:
        raise ApiError(422, f"Branch {branch} cannot be renamed to {new}") from refusal
    answer: Response = shown_branch(request, owner, repo, new)
    answer.status = 201
    return answer


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
    return {"permissions": role_flags(repo.role_of(account)), "role_name": repo.role_name(account)}


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
    if account.type != "User":
        # Bots and organizations have no role, whatever they may do (anthropics/claude-code-action#1018).
        raise ApiError(404, f"{account.login} is not a user")
    role = found.role_of(account)
    legacy = {"maintain": "write", "triage": "read"}.get(role, role)
    return Response.json(
        {
            "permission": legacy,
            "role_name": found.role_name(account),
            "user": render(request).account(account) | _role(found, account),
        }
    )


@routes.add("PUT", "/repos/{owner}/{repo}/collaborators/{login}")
def add_collaborator(request: Request, owner: str, repo: str, login: str) -> Response:
    """Gives a role at once: the invitation, which GitHub sends to people outside, counts as accepted."""
    found = open_repo(request, owner, repo, "write", "administration")
    account = find_account(request, login)
    asked = request.body.get("permission", str, "push")
    role = {"pull": "read", "push": "write"}.get(asked, asked)
    # A person's repository knows no roles between (github/rest-api-description#7010).
    organization = found.owner.type == "Organization"
    known = (*ROLES[1:], *found.owner.custom_roles) if organization else ("read", "write", "admin")
    if role not in known:
        raise invalid("Repository", "permission")
    repositories.set_role(request.world, found, account, role, request.identity.actor)
    return Response(204)


@routes.add("DELETE", "/repos/{owner}/{repo}/collaborators/{login}")
def remove_collaborator(request: Request, owner: str, repo: str, login: str) -> Response:
    found = open_repo(request, owner, repo, "write", "administration")
    account = request.world.account(login)
    if account is not None:
        repositories.take_role(request.world, found, account, request.identity.actor)
    return Response(204)
