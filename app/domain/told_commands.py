"""Commands in the texts that the App tells people and agents: `/recovery …`, to be said on the ticket's Issue or PR.

Every text names them in this one form, in a code span, because a comment is where most people read it; the operator's
terminal puts its own form in their place.
"""

from app.domain.ticket_id import Child, TicketId


def of(ticket: TicketId) -> str:
    """What a command needs that is about a child, with a blank before it: it is said where its ticket is. Nothing for a
    ticket.
    """
    return f" {ticket}" if isinstance(ticket, Child) else ""
