"""The `external_id` of our check-runs: a witness of how far a ledger had come, written where only our App can write.

`42:3:17:0123456789ab` = ticket, generation, sequence, first twelve characters of the ledger commit. Several tickets
on one SHA are joined by spaces.
"""

import re
from dataclasses import dataclass

_ONE = re.compile(r"^([1-9][0-9]{0,9}):([0-9]{1,9}):([0-9]{1,9}):([0-9a-f]{12})$")


@dataclass(frozen=True)
class Projected:
    """Which ledger commit a check-run shows."""

    ticket: int
    generation: int
    sequence: int
    commit_prefix: str

    def __str__(self) -> str:
        return f"{self.ticket}:{self.generation}:{self.sequence}:{self.commit_prefix}"


def parse(external_id: str) -> tuple[Projected, ...]:
    """What an external id says; parts that are not of this form are passed over."""
    found = (_ONE.match(part) for part in external_id.split(" "))
    return tuple(Projected(int(m[1]), int(m[2]), int(m[3]), m[4]) for m in found if m)
