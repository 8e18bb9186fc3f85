"""Renamed and transferred repositories, renamed people and organizations: ids stay, old names lead on.

Sources: docs.github.com "Renaming a repository", "Transferring a repository", "Changing your username"; the events
`repository` (renamed, transferred), `installation_target` (renamed) and `organization` (renamed) of the webhook
reference.
"""

from __future__ import annotations

import re

from app.emulator.acts.events import announce, announce_reach, announce_to_owner
from app.emulator.errors import ApiError
from app.emulator.render import Render
from app.emulator.state import Account, Actor, Repository
from app.emulator.world import World

_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}\Z")
_LOGIN = re.compile(r"[A-Za-z0-9](?:-?[A-Za-z0-9]){0,38}\Z")


def rename_repository(world: World, repo: Repository, name: str, actor: Actor) -> None:
    """Give a repository another name; the old one leads to it until somebody takes it. Raises 422."""
    if name == repo.name:
        return
    _check_free(world, repo, repo.owner, name)
    old = repo.name
    _leave(world, repo)
    repo.name = name
    world.arrived(repo)
    announce(
        world, repo, "repository", {"action": "renamed", "changes": {"repository": {"name": {"from": old}}}}, actor
    )


def transfer_repository(world: World, repo: Repository, owner: Account, actor: Actor, name: str | None = None) -> None:
    """Hand a repository to another owner, as GitHub does once the receiver has accepted. Raises 422.

    Whoever owned it stays no collaborator by that alone; an installation of the old owner no longer reaches it, one
    of the new owner for all repositories does at once.
    """
    _check_free(world, repo, owner, name or repo.name)
    former, before = repo.owner, {i.id for i in world.installations_on(repo, suspended=True)}
    _leave(world, repo)
    for installation in world.installations.values():
        if installation.repositories is not None:
            installation.repositories.discard(repo.id)
    repo.owner, repo.name = owner, name or repo.name
    world.arrived(repo)
    key = "organization" if former.type == "Organization" else "user"
    shown = Render(world).organization(former) if key == "organization" else Render(world).account(former)
    announce(
        world,
        repo,
        "repository",
        {"action": "transferred", "changes": {"owner": {"from": {key: shown}}}},
        actor,
    )
    _tell_installations(world, repo, before, actor)


def _tell_installations(world: World, repo: Repository, before: set[int], actor: Actor) -> None:
    after = {i.id for i in world.installations_on(repo, suspended=True)}
    for number, action in [(n, "removed") for n in before - after] + [(n, "added") for n in after - before]:
        announce_reach(world, world.installations[number], action, [repo], actor)


def rename_account(world: World, account: Account, login: str, actor: Actor) -> None:
    """Give a person or organization another login. Its repositories lead on from their old names; the old login itself
    answers 404 and is free for anybody. Raises 422.
    """
    if login == account.login:
        return
    if not _LOGIN.match(login) or (world.account(login) not in (None, account)):
        raise ApiError(422, f"The login {login} is taken or not allowed")
    own = [r for r in world.repos.values() if r.owner is account]
    for repo in own:
        _leave(world, repo)
    old = account.login
    del world.accounts[old.lower()]
    account.login = login
    world.accounts[login.lower()] = account
    for repo in own:
        world.arrived(repo)
    _carry_roles(world, old, login)
    announce_to_owner(world, account, "organization", {"action": "renamed", "changes": {"login": {"from": old}}}, actor)
    shown = Render(world)
    for installation in world.installations.values():
        if installation.account is account:
            payload = {
                "action": "renamed",
                "account": shown.account(account),
                "changes": {"login": {"from": old}},
                "target_type": account.type,
                "installation": shown.short_installation(installation),
                "sender": shown.account(actor.account),
            }
            world.deliveries.record(installation.app, "installation_target", payload, installation)


def _carry_roles(world: World, old: str, new: str) -> None:
    for repo in world.repos.values():
        if old.lower() in repo.collaborators:
            repo.collaborators[new.lower()] = repo.collaborators.pop(old.lower())


def _check_free(world: World, repo: Repository, owner: Account, name: str) -> None:
    if not _NAME.match(name):
        raise _refused("name is invalid")
    if world.repo(owner.login, name) not in (None, repo):
        raise _refused("name already exists on this account")


def _refused(message: str) -> ApiError:
    entry = {"resource": "Repository", "code": "custom", "field": "name", "message": message}
    return ApiError(422, "Validation Failed", [entry])


def _leave(world: World, repo: Repository) -> None:
    world.moved[repo.full_name.lower()] = repo.id
    world.moved_at[repo.id] = world.clock.stamp()
