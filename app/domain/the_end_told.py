"""What people are told of a ticket that has ended: why, and what brings it back. Calm: an end is no fault."""

from app.domain.model import instant_text
from app.domain.record import Record
from app.domain.returning import may_return

_BECAUSE = {
    "merged": "Its PR was merged",
    "issue_closed": "Its Issue was closed",
    "issue_gone": "Its Issue was deleted or transferred",
    "command": "A person ended it",
}


def why_it_ended(record: Record) -> str:
    """One sentence without its full stop."""
    if record.ended is None:
        return f"The ticket is {record.status}"
    return f"{_BECAUSE[record.ended.because]}, seen at {instant_text(record.ended.at)}"


def after_the_end(record: Record) -> str:
    """What stands now, and the way back."""
    if not may_return(record):
        return "Branch and commits are left as they are. A person brings the ticket back with `/recovery recover`."
    issue = f"#{record.ticket}"
    return (
        f"Branch and commits are left as they are. If there is work left, reopen {issue}: the next "
        f"`agent-recovery recover {record.ticket_id}` goes on in generation {record.generation + 1}."
    )
