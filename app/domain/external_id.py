"""The `external_id` of our check-runs: a witness of how far a ledger had come, written where only our App can write.

`42:3:17:0123456789ab` = ticket (or child: `42.docs-1`), generation, sequence, first twelve characters of the ledger
commit. Several tickets on one SHA are joined by spaces.
"""

import re
from dataclasses import dataclass

from app.domain.ticket_id import TicketId, ticket_id

_ONE = re.compile(r"^([1-9][0-9a-z.-]{0,45}):([0-9]{1,9}):([0-9]{1,9}):([0-9a-f]{12})$")


@dataclass(frozen=True)
class Projected:
    """Which ledger commit a check-run shows."""

    ticket: TicketId
    generation: int
    sequence: int
    commit_prefix: str

    def __str__(self) -> str:
        return f"{self.ticket}:{self.generation}:{self.sequence}:{self.commit_prefix}"


def parse(external_id: str) -> tuple[Projected, ...]:
    """What an external id says; parts that are not of this form are passed over."""
    found = (_ONE.match(part) for part in external_id.split(" "))
    read = ((ticket_id(m[1]), m) for m in found if m)
    return tuple(Projected(ticket, int(m[2]), int(m[3]), m[4]) for ticket, m in read if ticket is not None)
