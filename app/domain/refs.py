"""Names of the ledger's refs.

Where the ledger lies is the marker: a ticket is in progress exactly while its ref stands under `active/`.
The names are built here and nowhere else; a prefix read of GitHub's matching-refs must be filtered with `ticket_of`.
"""

import re
from dataclasses import dataclass
from typing import Literal

DEFAULT_NAMESPACE = "refs/agent-recovery"
BRANCH_NAMESPACE = "refs/heads/agent-recovery"
"""For places that refuse custom refs (policy `ledger.namespace`)."""

Place = Literal["active", "done"]

_TICKET = re.compile(r"^[1-9][0-9]{0,9}$")


@dataclass(frozen=True)
class LedgerRefs:
    """The refs of one repository's ledgers under one namespace (full names, starting with `refs/`)."""

    namespace: str = DEFAULT_NAMESPACE

    def active(self, ticket: int) -> str:
        """The ledger of a ticket in progress."""
        return f"{self.namespace}/active/{ticket}"

    def done(self, ticket: int) -> str:
        """The ledger of a landed, cancelled or abandoned ticket (and, for a moment, of a newborn one)."""
        return f"{self.namespace}/done/{ticket}"

    def at(self, place: Place, ticket: int) -> str:
        return self.active(ticket) if place == "active" else self.done(ticket)

    def recovered(self, ticket: int, sha: str) -> str:
        """Keeps a foreign head when a branch is put back; never read as state."""
        return f"{self.namespace}/recovered/{ticket}/{sha}"

    @property
    def active_prefix(self) -> str:
        """What start-up lists: the active index and nothing else."""
        return f"{self.namespace}/active/"

    def ticket_of(self, ref: str) -> int | None:
        """The ticket whose own ledger `ref` is (children and other refs: None)."""
        for place in ("active", "done"):
            prefix = f"{self.namespace}/{place}/"
            if ref.startswith(prefix) and _TICKET.match(ref[len(prefix) :]):
                return int(ref[len(prefix) :])
        return None


def names_above(ref: str) -> tuple[str, ...]:
    """The full names that leave no room for this one while a ref of theirs stands: git keeps `a` and `a/b` in one
    place. Shortest first, from three parts on, because git itself refuses shorter ones.
    """
    parts = ref.split("/")
    return tuple("/".join(parts[:end]) for end in range(3, len(parts)))
