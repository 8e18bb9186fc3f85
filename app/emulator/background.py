"""What GitHub does a little later than it answers: jobs that run after the request that ordered them.

A job runs after the next request to the emulated GitHub was answered, or when nobody has asked anything for
:data:`PATIENCE_S`, whichever comes first. So a client that looks at once sees the old state, and one that waits for a
webhook gets it.
"""

from __future__ import annotations

import asyncio
import traceback
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from app.emulator.world import World

PATIENCE_S = 0.25


class Job(Protocol):
    """Something to do later; it holds data alone, so that it can be stored."""

    def run(self, world: World) -> None:
        """Do it. Refusals are the job's own to remember; nobody is there to be told."""


class Background:
    """The jobs that wait. Those ordered during a request are ripe after the one that follows."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.ordered: list[Job] = []
        self.ripe: list[Job] = []

    def later(self, job: Job) -> None:
        """Order a job."""
        self.ordered.append(job)
        try:
            asyncio.get_running_loop().call_later(PATIENCE_S, self.run_all)
        except RuntimeError:
            return  # without an event loop the next requests alone bring it about

    def request_done(self) -> None:
        """A request was answered: run what was ordered before it."""
        due, self.ripe, self.ordered = self.ripe, self.ordered, []
        self._run(due)

    def run_all(self) -> None:
        """Run everything that waits, and what that orders in turn."""
        while self.ripe or self.ordered:
            due, self.ripe, self.ordered = self.ripe + self.ordered, [], []
            self._run(due)

    def drop(self) -> None:
        """Forget what waits."""
        self.ripe, self.ordered = [], []

    def _run(self, jobs: list[Job]) -> None:
        for job in jobs:
            try:
                job.run(self._world)
            except Exception:  # a fault of our own must not become the answer to somebody else's request
                traceback.print_exc()
