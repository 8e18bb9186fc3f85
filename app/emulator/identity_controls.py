"""Control calls about tokens, installations and names: what people do on GitHub's pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.emulator.acts import installations
from app.emulator.acts.events import announce_installation
from app.emulator.acts.moves import rename_account, rename_repository, transfer_repository
from app.emulator.control import router
from app.emulator.errors import ApiError
from app.emulator.render import Render
from app.emulator.routing import Request
from app.emulator.state import Account, Actor, App, Installation, PullRequest, Repository
from app.emulator.world import World

if TYPE_CHECKING:
    from app.emulator.server import Server


def account_of(world: World, login: str) -> Account:
    """The account of a login. Raises 404."""
    account = world.account(login)
    if account is None:
        raise ApiError(404, f"There is no account {login}")
    return account


def repository_of(world: World, full_name: str) -> Repository:
    """The repository of that name. Raises 404."""
    repo = world.repo(*full_name.split("/", 1)) if "/" in full_name else None
    if repo is None:
        raise ApiError(404, f"There is no repository {full_name}")
    return repo


def app_of(world: World, slug: str) -> App:
    """The App of that slug. Raises 404."""
    app = world.apps.get(slug)
    if app is None:
        raise ApiError(404, f"There is no App {slug}")
    return app


def _installation(world: World, number: str) -> Installation:
    installation = world.installations.get(int(number))
    if installation is None:
        raise ApiError(404, "There is no such installation")
    return installation


@router.add("POST", "/tokens")
def add_token(server: Server, request: Request) -> Any:
    """A person's token: ``classic`` with scopes, ``fine_grained`` for an owner's repositories with permissions, or
    ``user_to_server``, by which an App acts for the person."""
    world, body = server.world, request.body
    token = world.add_user_token(account_of(world, body.need("user", str)), body.maybe("token", str))
    kind = body.get("kind", str, "classic")
    if kind == "classic":
        token.scopes = tuple(body.get("scopes", list, [])) if "scopes" in body else None
    elif kind == "fine_grained":
        token.resource_owner = account_of(world, body.need("owner", str))
        token.permissions = body.get("permissions", dict, {})
        if "repositories" in body:
            owner = token.resource_owner.login
            token.repository_ids = {repository_of(world, f"{owner}/{n}").id for n in body.need("repositories", list)}
    elif kind == "user_to_server":
        token.on_behalf_by = app_of(world, body.need("app", str))
    else:
        raise ApiError(422, f"Unknown kind of token {kind}")
    _rename_token(world, token.value, {"fine_grained": "github_pat_", "user_to_server": "ghu_"}.get(kind))
    if body.data.get("lifetime_s") is not None:
        token.expires_at = world.clock.now() + body.seconds("lifetime_s", 0)
    return {"token": token.value, "kind": kind}


def _rename_token(world: World, value: str, prefix: str | None) -> None:
    if prefix is None or not value.startswith("ghp_"):
        return
    token = world.tokens.pop(value)
    token.value = prefix + value.removeprefix("ghp_")
    world.tokens[token.value] = token


@router.add("POST", "/tokens/revoke")
def revoke_token(server: Server, request: Request) -> Any:
    """End a token at once, as its owner or GitHub's secret scanning does."""
    token = server.world.tokens.get(request.body.need("token", str))
    if token is None:
        raise ApiError(404, "There is no such token")
    token.revoked = True
    return {"revoked": True}


@router.add("POST", "/installations/{number:int}/accept")
def accept_permissions(server: Server, request: Request, number: str) -> Any:
    """Accept what the App asks for now. Before, an installation keeps what it had; so do tokens made before."""
    world = server.world
    installation = _installation(world, number)
    installation.permissions = dict(installation.app.permissions)
    installation.events = list(installation.app.events)
    actor = Actor(installation.account)
    announce_installation(world, installation, "installation", "new_permissions_accepted", actor)
    return Render(world).installation(installation)


@router.add("DELETE", "/installations/{number:int}")
def uninstall(server: Server, request: Request, number: str) -> Any:
    installation = _installation(server.world, number)
    installations.uninstall(server.world, installation)
    return {"id": installation.id}


@router.add("DELETE", "/users/{login}")
def delete_user(server: Server, request: Request, login: str) -> Any:
    """A person deletes the account: tokens and roles end, what was written stays and its author is nobody's."""
    world = server.world
    account = account_of(world, login)
    if account.type != "User" or any(repo.owner is account for repo in world.repos.values()):
        raise ApiError(422, "Only a person without repositories can be deleted")
    account.gone = True
    del world.accounts[account.login.lower()]
    for token in world.tokens.values():
        if token.user is account:
            token.revoked = True
    for repo in world.repos.values():
        repo.collaborators.pop(account.login.lower(), None)
        for issue in repo.issues.values():
            issue.assignees = [person for person in issue.assignees if person is not account]
            if isinstance(issue, PullRequest):
                waits = issue.requested_reviewers
                issue.requested_reviewers = [person for person in waits if person is not account]
    return {"login": account.login, "id": account.id}


@router.add("POST", "/repos/{owner}/{name}/rename")
def rename(server: Server, request: Request, owner: str, name: str) -> Any:
    repo = repository_of(server.world, f"{owner}/{name}")
    rename_repository(server.world, repo, request.body.need("name", str), Actor(repo.owner))
    return Render(server.world).repository(repo)


@router.add("POST", "/repos/{owner}/{name}/transfer")
def transfer(server: Server, request: Request, owner: str, name: str) -> Any:
    world, body = server.world, request.body
    repo = repository_of(world, f"{owner}/{name}")
    receiver = account_of(world, body.need("owner", str))
    transfer_repository(world, repo, receiver, Actor(repo.owner), body.maybe("name", str))
    return Render(world).repository(repo)


@router.add("POST", "/accounts/{login}/rename")
def rename_login(server: Server, request: Request, login: str) -> Any:
    account = account_of(server.world, login)
    rename_account(server.world, account, request.body.need("login", str), Actor(account))
    return Render(server.world).account(account)
