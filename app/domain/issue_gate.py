"""The Issue's own say: in a claim, before any other gate, there must be one, and it must be open; a word of a person
needs one that was claimed.
"""

from app.domain.observation import Issue, Observation
from app.domain.outcome import Blocked, Code
from app.domain.ticket_id import TicketId, number_of


def open_issue(observation: Observation, ticket: TicketId) -> Issue | Blocked:
    """The Issue of a ticket that may be claimed as far as its Issue goes, else why it may not."""
    number, issue = number_of(ticket), observation.issue
    if observation.is_pull_request:
        reason = f"#{number} is a pull request, not an Issue"
        return Blocked(Code.NOT_A_TICKET, reason, "claim the number of the Issue that the pull request is for")
    if issue is None:
        return Blocked(Code.NOT_FOUND, f"there is no Issue #{number}", "check the repository and the number")
    if issue.state != "OPEN":
        remedy = "reopen the Issue if there is work left, then claim again"
        return Blocked(Code.ISSUE_CLOSED, f"Issue #{number} is closed", remedy)
    return issue


def no_ticket(ticket: TicketId) -> Blocked:
    """The answer to a word about an Issue that no agent has claimed yet."""
    remedy = f"an agent that runs `agent-recovery recover {ticket}` claims it; if another was meant, check the number"
    return Blocked(Code.NOT_FOUND, f"#{ticket} is no ticket: nobody has claimed it", remedy)
