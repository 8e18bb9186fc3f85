"""Names of the ledger's refs.

Where the ledger lies is the marker: a ticket is in progress exactly while its ref stands under `active/`.
The names are built here and nowhere else; a prefix read of GitHub's matching-refs must be filtered with `ticket_of`.
"""

import hashlib
import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote, unquote

from app.domain.ticket_id import Child, TicketId, number_of, ticket_id

DEFAULT_NAMESPACE = "refs/agent-recovery"
BRANCH_NAMESPACE = "refs/heads/agent-recovery"
"""For places that refuse custom refs (policy `ledger.namespace`)."""

Place = Literal["active", "done"]

_LONGEST_LEAF = 180
"""Characters of a ref's last part: git keeps it as the name of a file."""
_GENERATION = re.compile(r"[1-9][0-9]{0,8}")


@dataclass(frozen=True)
class LedgerRefs:
    """The refs of one repository's ledgers under one namespace (full names, starting with `refs/`)."""

    namespace: str = DEFAULT_NAMESPACE

    def active(self, ticket: TicketId) -> str:
        """The ledger of a ticket in progress, or of a child (`active/42.docs-1`)."""
        return f"{self.namespace}/active/{ticket}"

    def done(self, ticket: TicketId) -> str:
        """The ledger of a landed, cancelled or abandoned ticket (and, for a moment, of a newborn one)."""
        return f"{self.namespace}/done/{ticket}"

    def at(self, place: Place, ticket: TicketId) -> str:
        return self.active(ticket) if place == "active" else self.done(ticket)

    def recovered(self, ticket: TicketId, sha: str) -> str:
        """Keeps a foreign head when a branch is put back; never read as state. A child's stand with its parent's."""
        return f"{self.namespace}/recovered/{number_of(ticket)}/{sha}"

    def result(self, child: Child, generation: int) -> str:
        """Where the result of a child's generation stands: made once, never moved (the ownership protocol, R19)."""
        return f"{self.namespace}/results/{child}.g{generation}"

    def release(self, branch: str) -> str:
        """The ledger of a release, by its trunk's short name: percent-encoded, so that no release's name leaves no room
        for another's. A name too long for that is cut, and told apart by a digest of the whole.
        """
        return f"{self.namespace}/releases/{_leaf(branch)}"

    def recovered_release(self, branch: str, sha: str) -> str:
        """Keeps the head of a release's ledger that was begun anew; never read as state."""
        return f"{self.namespace}/recovered/release.{_leaf(branch)}/{sha}"

    @property
    def releases_prefix(self) -> str:
        return f"{self.namespace}/releases/"

    @property
    def active_prefix(self) -> str:
        """What start-up lists: the active index and nothing else."""
        return f"{self.namespace}/active/"

    def ticket_of(self, ref: str) -> TicketId | None:
        """The ticket or child whose own ledger `ref` is (other refs: None)."""
        for place in ("active", "done"):
            prefix = f"{self.namespace}/{place}/"
            if ref.startswith(prefix):
                return ticket_id(ref[len(prefix) :])
        return None

    def branch_of(self, ref: str) -> str | None:
        """The trunk whose release's ledger `ref` is (other refs, and names that were cut: None)."""
        if not ref.startswith(self.releases_prefix):
            return None
        branch = unquote(ref.removeprefix(self.releases_prefix), errors="replace")
        return branch if branch and self.release(branch) == ref else None

    def result_of(self, ref: str) -> tuple[Child, int] | None:
        """The child and the generation whose result `ref` holds (other refs: None)."""
        prefix = f"{self.namespace}/results/"
        name, _, generation = ref.removeprefix(prefix).rpartition(".g")
        child = ticket_id(name) if ref.startswith(prefix) else None
        if not isinstance(child, Child) or not _GENERATION.fullmatch(generation):
            return None
        return child, int(generation)


def names_above(ref: str) -> tuple[str, ...]:
    """The full names that leave no room for this one while a ref of theirs stands: git keeps `a` and `a/b` in one
    place. Shortest first, from three parts on, because git itself refuses shorter ones.
    """
    parts = ref.split("/")
    return tuple("/".join(parts[:end]) for end in range(3, len(parts)))


def _leaf(branch: str) -> str:
    encoded = quote(branch, safe="")
    if len(encoded) <= _LONGEST_LEAF:
        return encoded
    digest = hashlib.sha256(branch.encode()).hexdigest()[:40]
    return f"{encoded[: _LONGEST_LEAF - 41]}%{digest}"
