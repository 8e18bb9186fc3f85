"""The report on a ticket whose PR the App does not open: what is missing or contradicts, and who can settle it."""

from app.domain.handoff_marker import report_marker
from app.domain.mention import mention
from app.domain.observation import Comment, Issue, Observation
from app.domain.plain_text import cut
from app.domain.pull_evidence import Uncertain
from app.domain.ticket_id import TicketId
from app.domain.untrusted import inline

_REASON_BYTES = 700


def edge_of(found: Uncertain) -> str:
    """One edge for each kind of gap: what changes within it edits the report, which tells nobody a second time."""
    return f"no-pull-{found.gap}"


def missing_pull_report(ticket: TicketId, found: Uncertain, issue: Issue | None) -> str:
    """The report's text. Names of branches and fields in it are strangers' words, neutralised."""
    return (
        f"{report_marker(ticket, edge_of(found))}\n"
        f"{mention(issue)}**No pull request is opened for ticket #{ticket}**, because it is not "
        f"certain where its work is or goes.\n\n"
        f"- What was found: {inline(cut(found.reason, _REASON_BYTES), _REASON_BYTES)}\n"
        f"- What settles it: {inline(cut(found.remedy, _REASON_BYTES), _REASON_BYTES)}\n\n"
        "Nothing is changed until then, and the App looks again by itself.\n"
    )


def reports_of(ticket: TicketId, found: Uncertain, observation: Observation) -> tuple[Comment, ...]:
    """The reports of this gap that stand already, oldest first."""
    marker = report_marker(ticket, edge_of(found))
    comments = [*(c for pull in observation.pulls for c in pull.comments), *observation.issue_comments]
    ours = {c.id: c for c in comments if c.body.startswith(marker)}
    return tuple(sorted(ours.values(), key=lambda c: c.id))
