"""The words of a ticket's PR: for reviewers, so a linked Issue and nothing of the journal."""

from app.domain.observation import Issue
from app.domain.ticket_id import Child, TicketId, number_of
from app.domain.untrusted import as_title

TITLE_BYTES = 200


def pull_title(issue: Issue, ticket: TicketId | None = None) -> str:
    """The Issue's title on one line and without effect, with the ticket's number where the title alone would be empty;
    a child's name stands before it.
    """
    title = as_title(issue.title, TITLE_BYTES) or f"Ticket {issue.number}"
    return f"{ticket.name}: {title}" if isinstance(ticket, Child) else title


def pull_body(ticket: TicketId) -> str:
    """The linked-Issue line. It leaves a reference on the Issue's timeline, off the default branch too. A child's PR
    says whose part it is.
    """
    line = f"Ticket: #{number_of(ticket)}\n"
    if not isinstance(ticket, Child):
        return line
    return f"{line}\nPart `{ticket.name}` of the ticket. The ticket's holder merges it into the ticket's own branch.\n"
