"""Who may push to a branch: who has write access, and maintainers whom a contributor has let into his fork."""

from __future__ import annotations

from app.emulator.acts.forks import network
from app.emulator.auth import Identity
from app.emulator.state import Repository
from app.emulator.world import World


def may_push_to(world: World, identity: Identity, repo: Repository, branch: str) -> bool:
    """May this identity push to the branch?"""
    return identity.allows(repo, "contents", "write") or branch in maintained_branches(world, identity, repo)


def maintained_branches(world: World, identity: Identity, repo: Repository) -> set[str]:
    """The branches of a fork that open pull requests let this identity push to ("Allow edits by maintainers")."""
    return {
        pull.head_ref
        for home in network(world, repo)
        for pull in home.pulls()
        if pull.head_repo is repo
        and pull.state == "open"
        and pull.maintainer_can_modify
        and identity.allows(home, "contents", "write")
    }
