"""What a push to a head branch means for what guards the base: approvals grow stale."""

from __future__ import annotations

from app.emulator.acts.forks import network
from app.emulator.acts.reviews import dismiss_stale
from app.emulator.state import Actor, Repository
from app.emulator.world import World


def head_pushed(world: World, repo: Repository, branch: str, actor: Actor) -> None:
    """Let every open pull request of the branch, also in other repositories, feel that its head has moved."""
    for home in [repo, *network(world, repo)]:
        for pull in home.pulls():
            if pull.state == "open" and pull.head_repo is repo and pull.head_ref == branch:
                dismiss_stale(world, pull, actor)
