"""Whether the marker index tells the truth: a ticket is in progress if and only if its ledger stands under `active/`
(the second specification, 40.3; the ownership protocol, I4). Read from the repository itself, by nothing of the App's.

It is judged after every request, so at every point at which a process can die.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pygit2

OVER = frozenset({"landed", "cancelled", "abandoned"})
ACTIVE, DONE = "refs/agent-recovery/active/", "refs/agent-recovery/done/"


@dataclass
class MarkerIndex:
    """The index of one bare repository. `faults`: where it lied, and when; `seen`: how often it was judged."""

    bare: Path
    known: set[str] = field(default_factory=set)
    """Tickets that have had a ledger."""
    faults: list[str] = field(default_factory=list)
    seen: int = 0
    losing: bool = False
    """Somebody took refs away on purpose: a ledger may be in neither place."""

    def judge(self, when: str = "") -> None:
        """Look at every ledger now."""
        repository = pygit2.Repository(str(self.bare))
        active, done = (self._heads(repository, prefix) for prefix in (ACTIVE, DONE))
        self.seen += 1
        for ticket in sorted(self.known | active.keys() | done.keys()):
            fault = self._fault(repository, ticket, active.get(ticket), done.get(ticket))
            if fault is None and "." in ticket and ticket in active and ticket.partition(".")[0] not in active:
                fault = "is in progress, and its parent is not"
            if fault is not None:
                self.faults.append(f"#{ticket} {fault} (after {when})")
        self.known |= active.keys() | done.keys()

    def _fault(
        self, repository: pygit2.Repository, ticket: str, active: pygit2.Oid | None, done: pygit2.Oid | None
    ) -> str | None:
        if active is None and done is None:
            return None if self.losing else "has no ledger any more"
        here = _record(repository, active if active is not None else done)
        in_progress = here["status"] not in OVER
        if active is not None and done is not None:
            unborn = in_progress and not here.get("lease") and not here.get("generation")
            return None if active == done and unborn else "stands in both places and is no unfinished birth"
        if in_progress != (active is not None):
            return f"is {here['status']} and stands under {'active' if active is not None else 'done'}/"
        return None

    @staticmethod
    def _heads(repository: pygit2.Repository, prefix: str) -> dict[str, pygit2.Oid]:
        names = repository.references.iterator()
        found = {}
        for reference in names:
            if reference.name.startswith(prefix):
                found[reference.name.removeprefix(prefix)] = reference.target
        return found


def _record(repository: pygit2.Repository, commit: Any) -> dict[str, Any]:
    tree = repository[commit].peel(pygit2.Commit).tree
    found: dict[str, Any] = json.loads(repository[tree["record.json"].id].data)
    return found


class Watched(httpx.AsyncBaseTransport):
    """A way to GitHub; the index is judged after every request that went it."""

    def __init__(self, inner: httpx.AsyncBaseTransport, index: MarkerIndex) -> None:
        self._inner, self._index = inner, index

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send it on, and judge what GitHub holds before its answer is heard."""
        response = await self._inner.handle_async_request(request)
        self._index.judge(f"{request.method} {request.url.path}")
        return response

    async def aclose(self) -> None:
        """Close the way."""
        await self._inner.aclose()
