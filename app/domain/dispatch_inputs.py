"""What an agent that the App starts is told, and how the name of its run is read.

Everybody who may read the repository sees inputs and names of runs, so no secret stands in them: the run proves who it
is by the token that GitHub gives to it.
"""

import re

from app.domain.ticket_id import MAX_NUMBER, TicketId

_MAX_NAME = 1000
_MAX_NUMBERS = 3
_NUMBER = re.compile(r"(?<![0-9A-Za-z._-])#?([1-9][0-9]{0,9})(?![0-9A-Za-z_-])(?!\.[0-9a-z])")
_ATTEMPT = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{16}(?![0-9A-Za-z])")


def inputs_of(ticket: TicketId, *, generation: int, attempt: str, brief_url: str) -> dict[str, str]:
    """The inputs of a dispatched run, all of them texts: `generation` is the one to claim from, `attempt` what the
    claim is to name, and `brief_url` where everything else stands.
    """
    return {"ticket": str(ticket), "generation": str(generation), "attempt": attempt, "brief_url": brief_url}


def tickets_named(title: str) -> tuple[int, ...]:
    """The tickets that the name of a run may speak of, such as `Ticket 42, attempt 0123456789abcdef`: whole numbers, at
    most three, and only where an attempt stands in it too. Anybody who may start runs chooses names: it is a hint, and
    proves nothing.
    """
    if len(title) > _MAX_NAME or not _ATTEMPT.search(title):
        return ()
    numbers = (int(found) for found in _NUMBER.findall(_ATTEMPT.sub(" ", title)))
    return tuple(dict.fromkeys(n for n in numbers if n <= MAX_NUMBER))[:_MAX_NUMBERS]
