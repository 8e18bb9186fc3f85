"""The words of a ticket's PR: for reviewers, so a linked Issue and nothing of the journal."""

from app.domain.observation import Issue
from app.domain.plain_text import cut, one_line

TITLE_BYTES = 200


def pull_title(issue: Issue) -> str:
    """The Issue's title on one line, with the ticket's number where the title alone would be empty."""
    title = cut(one_line(issue.title), TITLE_BYTES)
    return title or f"Ticket {issue.number}"


def pull_body(ticket: int) -> str:
    """The linked-Issue line. It leaves a reference on the Issue's timeline, off the default branch too."""
    return f"Ticket: #{ticket}\n"
