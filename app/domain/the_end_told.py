"""What people are told of a ticket that has ended: why, and what brings it back. Calm: an end is no fault."""

from app.domain.model import instant_text
from app.domain.record import Record
from app.domain.returning import may_return
from app.domain.told_commands import of
from app.domain.untrusted import inline

SAID_BYTES = 400
_BECAUSE = {
    "merged": "Its PR was merged",
    "issue_closed": "Its Issue was closed",
    "issue_gone": "Its Issue was deleted or transferred",
    "command": "A person ended it",
    "pull_closed": "Its PR was closed",
    "too_old": "Nothing resumed it for too long",
    "unresumable": "There is nothing to resume it with",
}


def why_it_ended(record: Record) -> str:
    """One sentence without its full stop."""
    if record.ended is None:
        return f"The ticket is {record.status}"
    ended = record.ended
    if ended.by is None:
        return f"{_BECAUSE[ended.because]}, seen at {instant_text(ended.at)}"
    if ended.because == "pull_closed":
        return inline(f"{ended.by} closed its PR, seen at {instant_text(ended.at)}", SAID_BYTES)
    said = f": {ended.reason}" if ended.reason else ""
    return inline(f"{ended.by} ended it at {instant_text(ended.at)}{said}", SAID_BYTES)


def after_the_end(record: Record) -> str:
    """What stands now, and the way back."""
    if not may_return(record):
        issue_is_shut = record.ended is not None and record.ended.because in ("issue_closed", "issue_gone")
        first = f"a person reopens #{record.ticket} and" if issue_is_shut else "a person"
        return (
            f"Branch and commits are left as they are. It can be claimed again once {first} says so in a comment: "
            f"`/recovery recover{of(record.ticket_id)}`."
        )
    issue = f"#{record.ticket}"
    return (
        f"Branch and commits are left as they are. If there is work left, reopen {issue}: the next "
        f"`agent-recovery recover {record.ticket_id}` goes on in generation {record.generation + 1}."
    )
