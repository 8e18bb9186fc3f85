"""What a push to a head branch means for what guards the base: approvals grow stale, an auto-merge may end."""

from __future__ import annotations

from app.emulator.acts.forks import network
from app.emulator.acts.reviews import dismiss_stale
from app.emulator.acts.standing_orders import disable_auto_merge
from app.emulator.state import Actor, Repository
from app.emulator.world import World


def head_pushed(world: World, repo: Repository, branch: str, actor: Actor) -> None:
    """Let every open pull request of the branch, also in other repositories, feel that its head has moved."""
    for home in [repo, *network(world, repo)]:
        for pull in home.pulls():
            if pull.state == "open" and pull.head_repo is repo and pull.head_ref == branch:
                dismiss_stale(world, pull, actor)
                if pull.auto_merge is not None and not _may_write(pull.repo, actor):
                    disable_auto_merge(world, pull, actor, "The head was pushed to by a user without write access")


def _may_write(repo: Repository, actor: Actor) -> bool:
    return actor.app is not None or repo.role_of(actor.account) in ("write", "maintain", "admin")
