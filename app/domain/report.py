"""Reports: what a person must act on is a new comment that mentions the right person, once per edge."""

from dataclasses import dataclass

from app.domain.fence_commit import Disarming
from app.domain.handoff_marker import report_marker
from app.domain.landing_actions import TellOfMerge
from app.domain.mention import mention
from app.domain.observation import Comment, Issue, Observation, Pull
from app.domain.plan import AskPerson, RestoreBranch, WarnOfGap
from app.domain.ticket_id import TicketId
from app.domain.told_commands import of
from app.domain.untrusted import inline


@dataclass(frozen=True)
class Frozen:
    """A ledger that must not be acted on: moved back, forked, missing though it was seen, tampered with, unreadable or
    of a newer schema. `edge` names this very happening in a word, `found` and `expected` are commits or sequences.
    """

    edge: str
    reason: str
    found: str
    expected: str
    is_ours: bool = True
    """Something besides the refs witnesses that the ticket was ever in the App's care. Anybody with write access can
    make a ref for any Issue: what only a ref says is told to who claims, and to nobody else.
    """


def frozen_report(ticket: TicketId, frozen: Frozen, issue: Issue | None) -> str:
    """One report on a frozen ticket: what was seen, what it means, what a person can do."""
    return (
        f"{report_marker(ticket, frozen.edge)}\n"
        f"{mention(issue)}**Agent Recovery has stopped acting on ticket #{ticket}.** {frozen.reason}\n\n"
        f"- Seen now: {frozen.found}\n- Expected: {frozen.expected}\n\n"
        "Its branch and its PR are left as they are, nobody is granted the ticket, and nothing is put back by itself: "
        "the record of who holds the ticket cannot be trusted until a person has looked. "
        "Find out who moved the ref under `refs/agent-recovery/` (it needs write access to the repository). "
        "Then either push the expected commit back to that ref, or let the App begin the record anew from what it "
        f"sealed here, with this command in a comment: `/recovery recover{of(ticket)}`.\n"
    )


def unrestored_report(ticket: TicketId, edge: str, action: RestoreBranch, words: str, issue: Issue | None) -> str:
    """One report on a branch that GitHub does not let us put back: what, why, what a person can do."""
    return (
        f"{report_marker(ticket, edge)}\n"
        f"{mention(issue)}**The branch of ticket #{ticket} could not be put back**, because {action.reason}.\n\n"
        f"- Branch: {inline(action.branch, 200)}\n- Published commit: {action.published} (safe in the ledger)\n"
        f"- GitHub says: {inline(words, 300)}\n\n"
        "Remove what stands in the way (a rule for this branch, or a branch below its name) and it is put back by "
        "itself, or let the holder run `agent-recovery push`.\n"
    )


def unfenced_report(ticket: TicketId, edge: str, made: Disarming, words: str, issue: Issue | None) -> str:
    """One report on a merge that could not be kept from happening: what, why, what a person can do."""
    return (
        f"{report_marker(ticket, edge)}\n"
        f"{mention(issue)}**Whether ticket #{ticket} lands is unresolved.** A merge of {made.on} was sent to GitHub, "
        "and the branch could not be moved away from that commit.\n\n"
        f"- Branch: {inline(made.branch, 200)}\n- GitHub says: {inline(words, 300)}\n\n"
        "Until it is merged or the branch moves, it can still be merged. Let the App push to the branch (a rule may "
        "stand in the way), push a commit to it, or close the PR; then repeat the command.\n"
    )


def stuck_report(ticket: TicketId, action: AskPerson, issue: Issue | None) -> str:
    """One report on a ticket that nothing resumes any more: why, and the way back."""
    return (
        f"{report_marker(ticket, action.edge)}\n"
        f"{mention(issue)}**Ticket #{ticket} waits for a person**, because {action.reason}.\n\n"
        f"Its work is kept as it is. The way back: {action.remedy}; then an agent runs "
        f"`agent-recovery recover {ticket}`.\n"
    )


def merge_report(ticket: TicketId, action: TellOfMerge, issue: Issue | None) -> str:
    """One report on a merge that did not go as it was meant to: what happened, what a person decides."""
    return (
        f"{report_marker(ticket, action.edge)}\n"
        f"{mention(issue)}**Look at a merge of ticket #{ticket}**: {inline(action.reason, 400)}.\n\n"
        "The App undoes nothing and does nothing more about it: whether the work stays there, is reverted, or is "
        "merged where it was to go is for you to say. Close the Issue if the ticket is over; where it was put on hold, "
        f"this command in a comment lets it go on: `/recovery unhold{of(ticket)}`.\n"
    )


def gap_report(ticket: TicketId, action: WarnOfGap, issue: Issue | None) -> str:
    """One report on a holder that works on without saving: what would be lost, and what saves it."""
    return (
        f"{report_marker(ticket, action.edge)}\n"
        f"{mention(issue)}**The agent on ticket #{ticket} has not saved its work for too long**: {action.reason}.\n\n"
        "It is alive, and nothing is taken from it. What it did since then is lost if its machine stops now. It saves "
        "with `agent-recovery push`; `agent-recovery run -- COMMAND` does so by itself, and the handoff comment shows "
        "when it has.\n"
    )


def where_told(ticket: TicketId, frozen: Frozen, observation: Observation, pull: Pull | None) -> tuple[Comment, ...]:
    """The reports of this edge that stand already, oldest first, wherever the ticket's PRs are by now."""
    marker = report_marker(ticket, frozen.edge)
    return tuple(c for c in _reports(observation, pull) if c.body.startswith(marker))


def is_told_further(ticket: TicketId, frozen: Frozen, observation: Observation) -> bool:
    """Whether a report stands that knew of more than is known now, because the service's table was lost since: the
    same kind of edge after a higher sequence. It tells of this happening too.
    """
    kind, _, number = frozen.edge.rpartition("-")
    start = report_marker(ticket, f"{kind}-").removesuffix(" -->")
    numbers = (c.body.removeprefix(start).partition(" ")[0] for c in _reports(observation) if c.body.startswith(start))
    return number.isdecimal() and any(int(n) > int(number) for n in numbers if n.isascii() and n.isdecimal())


def _reports(observation: Observation, pull: Pull | None = None) -> list[Comment]:
    pulls = (*observation.pulls, *((pull,) if pull else ()))
    comments = [*(c for p in pulls for c in p.comments), *observation.issue_comments]
    return sorted({c.id: c for c in comments}.values(), key=lambda c: c.id)
