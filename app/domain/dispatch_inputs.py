"""What an agent that the App starts is told, and how the name of its run is read.

Everybody who may read the repository sees inputs and names of runs, so no secret stands in them: the run proves who it
is by the token that GitHub gives to it.
"""

import re
from dataclasses import dataclass

from app.domain.ticket_id import MAX_NUMBER, TicketId

_MAX_NAME = 1000
_TICKET = re.compile(r"#([1-9][0-9]{0,9})(?![0-9a-z.]*[0-9a-z])")
_ATTEMPT = re.compile(r"(?<![0-9A-Za-z])([0-9a-f]{16})(?![0-9A-Za-z])")


@dataclass(frozen=True)
class NamedRun:
    """What a run's name says: the ticket and the attempt that it was started for."""

    ticket: int
    attempt: str


def inputs_of(ticket: TicketId, *, generation: int, attempt: str, brief_url: str) -> dict[str, str]:
    """The inputs of a dispatched run, all of them texts: `generation` is the one to claim from, `attempt` what the
    claim is to name, and `brief_url` where everything else stands.
    """
    return {"ticket": str(ticket), "generation": str(generation), "attempt": attempt, "brief_url": brief_url}


def run_named(title: str) -> NamedRun | None:
    """What the name of a run says, such as `Agent Recovery #42, attempt 0123456789abcdef`; None where it does not name
    one ticket and one attempt. Anybody who may start runs chooses names: it is a hint, and proves nothing.
    """
    if len(title) > _MAX_NAME:
        return None
    tickets, attempts = set(_TICKET.findall(title)), set(_ATTEMPT.findall(title))
    if len(tickets) != 1 or len(attempts) != 1:
        return None
    number = int(tickets.pop())
    return NamedRun(number, attempts.pop()) if number <= MAX_NUMBER else None
