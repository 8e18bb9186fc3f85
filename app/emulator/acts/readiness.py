"""What happens by itself once conditions are met: auto-merges, and the steps of merge queues.

Every event of a repository may have met a condition, so each orders one look at what waits there. The look comes in
the background, as on GitHub, and again every second while a queue has entries, for queues also wait for time to pass.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from weakref import WeakSet

from app.emulator.acts.auto_merge import merge_if_ready
from app.emulator.acts.merge_queue import step
from app.emulator.state import Repository
from app.emulator.world import World

TICK_S = 1.0
_TICKING: WeakSet[Repository] = WeakSet()


@dataclass(eq=False)
class Readiness:
    """One look at everything that waits in a repository."""

    repo: Repository

    def run(self, world: World) -> None:
        """Merge and queue what is ready."""
        for number in sorted(self.repo.guard.armed):
            merge_if_ready(world, self.repo, number)
        for branch in list(self.repo.guard.queues):
            step(world, self.repo, branch)
        if self.repo.guard.queues:
            _look_again(world, self.repo)


def look_soon(world: World, repo: Repository) -> None:
    """Order a look, unless one is ordered already."""
    waiting = [*world.background.ordered, *world.background.ripe]
    if not any(isinstance(job, Readiness) and job.repo is repo for job in waiting):
        world.background.later(Readiness(repo))


def look_at_all(world: World) -> None:
    """After a start: order a look wherever something waits."""
    for repo in world.repos.values():
        if repo.guard.waits:
            look_soon(world, repo)


def _look_again(world: World, repo: Repository) -> None:
    if repo in _TICKING:
        return
    try:
        asyncio.get_running_loop().call_later(TICK_S, _tick, world, repo)
    except RuntimeError:
        return  # without an event loop the next event alone brings it about
    _TICKING.add(repo)


def _tick(world: World, repo: Repository) -> None:
    _TICKING.discard(repo)
    look_soon(world, repo)
