"""Which commit a command means: one that it names in full, or the head that its writer saw; never a newer one."""

from typing import NoReturn

from app.commands.verb import Actions, Said
from app.commands.words import as_whole_sha, refuse
from app.domain.outcome import Code
from app.domain.record import TERMINAL
from app.domain.ticket_id import Child, TicketId
from app.domain.told_commands import of


async def commit_named(said: Said, ticket: TicketId, words: tuple[str, ...], act: Actions) -> str:
    """The commit that the words name. Raises Refused with the whole command for the head that was seen, or is now."""
    if (sha := as_whole_sha(words)) is not None:
        return sha
    # The PR on which something is said of a child is the ticket's, not the child's.
    seen = None if isinstance(ticket, Child) else said.head_sha
    head = seen or await _present(said, ticket, act)
    verb = said.command.verb
    reason = f"`/recovery {verb}` names one commit by all 40 characters of its id"
    refuse(reason, f"look at that commit, then say `/recovery {verb}{of(ticket)} {head}`")


async def head_unknown(said: Said, ticket: TicketId, act: Actions) -> NoReturn:
    """Raises Refused with the whole command for what is there now, for whoever has looked at it."""
    command = f"`/recovery {said.command.verb}{of(ticket)} {await _present(said, ticket, act)}`"
    reason = "which commit the branch had when this was written is not known"
    refuse(reason, f"look at what is there now; to say it of exactly that: {command}", Code.BRANCH_MOVED)


async def _present(said: Said, ticket: TicketId, act: Actions) -> str:
    """Raises Refused where there is none that anything could be said of."""
    brief = await act.brief(said.owner, said.name, ticket)
    if brief.status == "landed":
        refuse(f"#{ticket} has landed", "work that is still missing belongs into a new Issue", Code.LANDED)
    if brief.status in TERMINAL and not isinstance(ticket, Child):
        refuse(f"#{ticket} is {brief.status}", "say `/recovery recover` first, where it is to go on", Code.ENDED)
    if brief.work.branch_head is None:
        remedy = f"an agent claims the ticket and pushes work first: `agent-recovery claim {ticket}`"
        refuse(f"#{ticket} has no commit yet", remedy, Code.NOT_PUBLISHED)
    return brief.work.branch_head
