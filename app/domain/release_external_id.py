"""The `external_id` of the release guard's check-runs: a witness of how far a release's ledger had come, written where
only our App can write.

`release:0f1e2d3c4b5a:17:0123456789ab` = first twelve characters of the SHA-256 of the branch's name (a name may hold
anything, an external id should not), sequence, first twelve characters of the ledger commit. Several releases on one
commit are joined by spaces. It is never the form of a ticket's, so neither is taken for the other.
"""

import hashlib
import re
from dataclasses import dataclass

NOT_A_RELEASE = "not-a-release"
"""Of a head that no release PR brings: no ledger's witness."""
UNBORN = "release"
"""Of a release whose ledger does not stand yet."""

_ONE = re.compile(r"^release:([0-9a-f]{12}):([0-9]{1,9}):([0-9a-f]{12})$")


@dataclass(frozen=True)
class ReleaseWitness:
    """Which ledger commit of which release a check-run shows."""

    digest: str
    sequence: int
    commit_prefix: str

    def __str__(self) -> str:
        return f"release:{self.digest}:{self.sequence}:{self.commit_prefix}"


def digest_of_branch(branch: str) -> str:
    """The twelve characters that stand for a branch's name."""
    return hashlib.sha256(branch.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def witness(branch: str, sequence: int, commit: str) -> ReleaseWitness:
    """What a check-run says of this ledger commit."""
    return ReleaseWitness(digest_of_branch(branch), sequence, commit[:12])


def witnesses_in(external_id: str) -> tuple[ReleaseWitness, ...]:
    """What an external id says; parts that are not of this form are passed over."""
    found = (_ONE.match(part) for part in external_id.split(" "))
    return tuple(ReleaseWitness(m[1], int(m[2]), m[3]) for m in found if m)


def of_branch(external_id: str, branch: str) -> tuple[ReleaseWitness, ...]:
    """What an external id says of one release."""
    digest = digest_of_branch(branch)
    return tuple(w for w in witnesses_in(external_id) if w.digest == digest)
