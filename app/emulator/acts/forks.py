"""Forks: the network of a repository, how a new one is made, and how its objects reach the repository it came from."""

from __future__ import annotations

from app.emulator.acts.events import announce, announce_reach
from app.emulator.acts.repositories import tell_arrival
from app.emulator.errors import ApiError
from app.emulator.render import Render
from app.emulator.state import Account, Actor, Repository
from app.emulator.world import World


def network(world: World, repo: Repository) -> list[Repository]:
    """The other repositories of the same network of forks."""
    return [r for r in world.repos.values() if r is not repo and r.source is repo.source]


def fork(
    world: World, repo: Repository, owner: Account, actor: Actor, name: str | None, *, default_branch_only: bool
) -> Repository:
    """A fork under another account, or what that account has of the network already.

    It has the branches and tags and nothing else of the refs. Raises 403 for an empty repository and where forking is
    switched off, 422 for a name that is taken.
    """
    if repo.git.is_empty():
        reason = "it contains no Git content. Empty repositories cannot be forked."
        raise ApiError(403, f"The repository exists, but {reason}")
    if repo.private and not repo.settings.allow_forking:
        raise ApiError(403, "The repository exists, but forking is disabled.")
    present = next((r for r in [repo, *network(world, repo)] if r.owner is owner), None)
    if present is not None:
        return present
    made = world.add_repo(
        owner, name or _free_name(world, owner, repo.name), private=repo.private, default_branch=repo.default_branch
    )
    made.parent, made.description = repo, repo.description
    branches = [repo.default_branch] if default_branch_only else ["*"]
    made.git.fetch(repo.git, *[f"refs/heads/{b}:refs/heads/{b}" for b in branches], "refs/tags/*:refs/tags/*")
    if actor.account is not owner:
        made.collaborators[actor.account.login.lower()] = "admin"
    announce(world, repo, "fork", {"forkee": Render(world).minimal_repository(made)}, actor)
    tell_arrival(world, made, actor)
    return made


def remove(world: World, repo: Repository, actor: Actor) -> None:
    """Delete a repository; its forks live on, the oldest of them as the source of the others."""
    announce(world, repo, "repository", {"action": "deleted"}, actor)
    for installation in world.installations_on(repo):
        announce_reach(world, installation, "removed", [repo], actor)
    heirs = [r for r in world.repos.values() if r.parent is repo]
    for index, heir in enumerate(heirs):
        heir.parent = repo.parent or (heirs[0] if index else None)
    for installation in world.installations.values():
        if installation.repositories is not None:
            installation.repositories.discard(repo.id)
    del world.repos[repo.id]


def fetch_head(repo: Repository, head_repo: Repository, sha: str) -> None:
    """Bring a commit of another repository of the network into this one."""
    if head_repo is not repo and repo.git.kind(sha) is None:
        repo.git.fetch(head_repo.git, sha)


def _free_name(world: World, owner: Account, name: str) -> str:
    """The name of a fork; GitHub puts a number behind it where the account has a repository of that name."""
    tried, number = name, 0
    while world.repo(owner.login, tried) is not None:
        number += 1
        tried = f"{name}-{number}"
    return tried
