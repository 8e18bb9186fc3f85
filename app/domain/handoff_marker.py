"""How the App finds its own comments again: a marker in the first line, and always the author's App id beside it."""

import re

from app.domain.ticket_id import TicketId, ticket_id

HANDOFF = "<!-- agent-recovery:handoff:"
"""How the first line of every handoff comment begins."""
_OURS = re.compile(r"<!-- agent-recovery:(?:handoff|report):([1-9][0-9a-z.-]{0,45})[: ]")


def marker_of(ticket: TicketId) -> str:
    """The first line of a ticket's handoff comment."""
    return f"{HANDOFF}{ticket} -->"


def report_marker(ticket: TicketId, edge: str) -> str:
    """The first line of a report that a person must act on; `edge` names the happening, so it is told once."""
    return f"<!-- agent-recovery:report:{ticket}:{edge} -->"


def ticket_of_comment(body: str) -> TicketId | None:
    """The ticket or child that a comment with one of our markers in its first line is about; anybody may write such a
    line.
    """
    found = _OURS.match(body)
    return ticket_id(found[1]) if found else None
