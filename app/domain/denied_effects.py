"""Effects that nobody approved: what the loop writes down, and what a person is told, once for each effect in each
generation.

The service lets none through (`domain/effect_journal.py`), and notes in the ledger that one was asked for. A holder
that pushes by git may call one dispatching without having asked. The commit approves nothing, and what was done cannot
be taken back; so a person learns of it.
"""

from collections.abc import Iterator

from app.domain.attendance import Way, attendance
from app.domain.effect import Effect, is_approved, needs_approval, rule_of
from app.domain.effect_journal import MAX_UNSETTLED, digest
from app.domain.handoff_marker import report_marker
from app.domain.mention import mention
from app.domain.observation import Issue, Observation
from app.domain.plan import AskForApproval, NoteDenied, RemoveComment
from app.domain.record import Record
from app.domain.ticket_id import TicketId
from app.domain.told_commands import of
from app.domain.untrusted import inline

MOST_TOLD = MAX_UNSETTLED
"""Reports about one ticket in one generation: as many as effects may wait at once. More would be a wall."""


def denials(record: Record, observation: Observation) -> Iterator[NoteDenied | AskForApproval | RemoveComment]:
    """What is to be done about effects of the present lease that nobody approved."""
    found = [e for e in record.effects if _is_present(record, e) and (_waits(record, e) or _went_past(record, e))]
    comments = {c.id: c.body for p in observation.pulls for c in p.comments}
    comments |= {c.id: c.body for c in observation.issue_comments}
    room = MOST_TOLD - sum(_tells_of(body, record) for body in comments.values())
    for effect in found:
        if effect.denied_in != record.generation:
            yield NoteDenied(effect.key, f"{effect.key} was begun, and nobody approved it")
        edge = _edge(effect, record.generation)
        marker = report_marker(record.ticket_id, edge)
        told = sorted(id for id, body in comments.items() if body.startswith(marker))
        if not told and room > 0:
            room -= 1
            began = effect.state != "intended"
            yield AskForApproval(edge, effect.key, effect.kind, began, _reason(record, effect))
        for double in told[1:]:
            yield RemoveComment(double, "it is told already; the oldest report stays")


def denial_report(ticket: TicketId, action: AskForApproval, issue: Issue | None) -> str:
    """One report on an effect that nobody approved: what it is, and the command that a person says."""
    head = f"{report_marker(ticket, action.edge)}\n{mention(issue)}"
    if action.began:
        return (
            f"{head}**The holder of ticket #{ticket} says that it began something nobody approved**: "
            f"{inline(action.reason, 700)}.\n\n"
            "The App let nothing through, and cannot take back what was done. Find out what became of it. This command "
            f"in a comment ends the lease of its holder: `/recovery takeover{of(ticket)}`.\n"
        )
    return (
        f"{head}**Ticket #{ticket} waits for a person's approval**: {inline(action.reason, 700)}.\n\n"
        "Nothing was done. Whoever answers for it says one of these in a comment, and the holder goes on:\n\n"
        f"- `/recovery approve{of(ticket)} {action.key}`: this very effect may be done, in this generation only\n"
        f"- `/recovery deny{of(ticket)} {action.key}`: it is not to be done\n"
    )


def noted_denied(record: Record, action: NoteDenied) -> Record:
    """The record with a note of an effect that was begun without approval."""
    effects = tuple(
        e.model_copy(update={"denied_in": record.generation}) if e.key == action.key else e for e in record.effects
    )
    return record.model_copy(update={"effects": effects})


def _is_present(record: Record, effect: Effect) -> bool:
    return record.lease is not None and effect.identity == record.identity


def _unapproved(record: Record, effect: Effect, way: Way) -> bool:
    wants = bool(effect.kind) and needs_approval(effect.kind, attendance(way))
    return wants and not is_approved(record.approvals, effect.key, record.generation)


def _waits(record: Record, effect: Effect) -> bool:
    asked = effect.denied_in == record.generation
    return effect.state == "intended" and asked and _unapproved(record, effect, Way.API)


def _went_past(record: Record, effect: Effect) -> bool:
    """Only a commit of the holder's own makes such a record: what the service lets through was approved then."""
    by_person = effect.result is not None and effect.result.by == "person"
    begun = effect.state in ("dispatching", "confirmed", "unknown") and not by_person
    return begun and _unapproved(record, effect, Way.GIT)


def _edge(effect: Effect, generation: int) -> str:
    return f"denied-{digest(effect.key)}-g{generation}"


def _tells_of(body: str, record: Record) -> bool:
    start = report_marker(record.ticket_id, "denied-").removesuffix(" -->")
    return body.startswith(start) and body.partition("\n")[0].strip().endswith(f"-g{record.generation} -->")


def _reason(record: Record, effect: Effect) -> str:
    why = rule_of(effect.kind).why
    return f"{effect.key} ({effect.kind}) in generation {record.generation}, {effect.state}: {why}"
