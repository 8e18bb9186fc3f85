"""Repositories as their owners change them: made, edited, hidden, archived, shared, each with its events.

Source of the events: docs.github.com, "Webhook events and payloads" (`repository`, `public`, `member`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.emulator.acts.events import announce, announce_reach
from app.emulator.errors import invalid
from app.emulator.render import Render
from app.emulator.repo_settings import changed as changed_settings
from app.emulator.state import Account, Actor, Repository
from app.emulator.world import World

# What the older member of an event calls the roles it has no word for.
_LEGACY = {"maintain": "write", "triage": "read"}


def create_repository(
    world: World, owner: Account, name: str, actor: Actor, *, private: bool, default_branch: str
) -> Repository:
    """A new empty repository. Every App on all of the owner's repositories hears that it reaches one more; so does the
    App that made it. Raises 422 for a name that is taken."""
    made = world.add_repo(owner, name, private=private, default_branch=default_branch)
    tell_arrival(world, made, actor)
    return made


def tell_arrival(world: World, repo: Repository, actor: Actor) -> None:
    """Tell of a repository that is new: the installations that reach it, then what they hear of it.

    An App that creates a repository is given it, also where it was installed on chosen ones alone (docs.github.com,
    "Reviewing and modifying installed GitHub Apps").
    """
    for installation in world.installations.values():
        chosen = installation.repositories
        if installation.app is actor.app and installation.account is repo.owner and chosen is not None:
            chosen.add(repo.id)
    for installation in world.installations_on(repo):
        announce_reach(world, installation, "added", [repo], actor)
    announce(world, repo, "repository", {"action": "created"}, actor)


def change_repository(world: World, repo: Repository, actor: Actor, given: Mapping[str, Any]) -> None:
    """Change ``settings``, ``default_branch``, ``description``, ``private`` and ``archived`` as far as they are given;
    what stays as it was is told to nobody. Raises 422, and changes nothing then."""
    settings = changed_settings(repo.settings, dict(given))
    branch = given.get("default_branch")
    if branch is not None and repo.git.branch(branch) is None:
        raise invalid("Repository", "default_branch")
    if given.get("archived") is False:
        set_archived(world, repo, False, actor)
    repo.settings = settings
    edits: dict[str, Any] = {}
    if "description" in given and (given["description"] or None) != repo.description:
        edits["description"] = {"from": repo.description}
        repo.description = given["description"] or None
    if branch is not None and branch != repo.default_branch:
        edits["default_branch"] = {"from": repo.default_branch}
        repo.default_branch = branch
        repo.git.set_head(branch)
    if edits:
        announce(world, repo, "repository", {"action": "edited", "changes": edits}, actor)
    if given.get("private") is not None:
        set_private(world, repo, given["private"], actor)
    if given.get("archived"):
        set_archived(world, repo, True, actor)


def set_private(world: World, repo: Repository, private: bool, actor: Actor) -> None:
    """Hide a repository or show it to all."""
    if repo.private is private:
        return
    repo.private = private
    announce(world, repo, "repository", {"action": "privatized" if private else "publicized"}, actor)
    if not private:
        announce(world, repo, "public", {}, actor)


def set_archived(world: World, repo: Repository, archived: bool, actor: Actor) -> None:
    """Make a repository read-only, or open it again."""
    if repo.archived is archived:
        return
    repo.archived = archived
    announce(world, repo, "repository", {"action": "archived" if archived else "unarchived"}, actor)


def set_role(world: World, repo: Repository, person: Account, role: str, actor: Actor) -> None:
    """Give somebody a role, as GitHub does once the invitation is accepted; "none" takes it away."""
    if role == "none":
        return take_role(world, repo, person, actor)
    before = repo.collaborators.get(person.login.lower())
    if before == role:
        return
    repo.collaborators[person.login.lower()] = role
    short = _short(repo, role)
    if before is None:
        _tell(world, repo, person, "added", actor, {"permission": {"to": short}, "role_name": {"to": role}})
    else:
        was = _short(repo, before)
        changes = {"old_permission": {"from": was}, "permission": {"from": was, "to": short}}
        _tell(world, repo, person, "edited", actor, changes)


def _short(repo: Repository, role: str) -> str:
    base = repo.base_role(role)
    return _LEGACY.get(base, base)


def take_role(world: World, repo: Repository, person: Account, actor: Actor) -> None:
    """Take somebody's role away; who has none stays without a word."""
    if repo.collaborators.pop(person.login.lower(), None) is not None:
        _tell(world, repo, person, "removed", actor, {})


def _tell(
    world: World, repo: Repository, person: Account, action: str, actor: Actor, changes: Mapping[str, Any]
) -> None:
    shown = {"action": action, "member": Render(world).account(person)} | ({"changes": changes} if changes else {})
    announce(world, repo, "member", shown, actor)
