"""Who writes: a boot id made at every process start, and a number for each run of a key within it.

A permit's author is one run. A run of this process that has ended is known dead, so what it left open is adopted at
once; an author of another process is only ever outwaited.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager


class Authors:
    """The runs of this process."""

    def __init__(self, boot_id: str | None = None) -> None:
        self._boot = boot_id or secrets.token_hex(6)
        self._count = 0
        self._running: set[str] = set()

    @contextmanager
    def run(self) -> Iterator[str]:
        """One run's author id, alive until the block ends."""
        self._count += 1
        author = f"{self._boot}.{self._count}"
        self._running.add(author)
        try:
            yield author
        finally:
            self._running.discard(author)

    def is_running(self, author: str) -> bool:
        """True only of runs of this very process that go on."""
        return author in self._running

    def is_dead(self, author: str) -> bool:
        """True only of runs of this very process that have ended."""
        return author.startswith(f"{self._boot}.") and author not in self._running
