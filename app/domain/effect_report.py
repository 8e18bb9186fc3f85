"""Telling a person of an unknown effect: once for each key, when looking did not settle it."""

from collections.abc import Iterator

from app.domain.effect import Effect
from app.domain.effect_journal import MAX_UNSETTLED, blocker, digest, probe_at, unknown
from app.domain.handoff_marker import report_marker
from app.domain.mention import mention
from app.domain.observation import Issue, Observation
from app.domain.plan import AskAboutEffect, ProbeEffect, RemoveComment, Wait
from app.domain.record import Record
from app.domain.ticket_id import TicketId
from app.domain.untrusted import inline

LOOKS_BEFORE_ASKING = 2
"""A probe may be a moment too early: only the second look that finds nothing calls a person."""


def settling(record: Record, observation: Observation) -> Iterator[ProbeEffect | AskAboutEffect | RemoveComment | Wait]:
    """What is to be done about the unknown effects of a ticket: look, wait until it is time to look again, ask. About
    as many as the service lets stand at once: a holder may have pushed any number of them.
    """
    for effect in unknown(record)[:MAX_UNSETTLED]:
        at = probe_at(effect)
        if at is not None and at <= observation.now:
            yield ProbeEffect(effect.key, "its end is unknown, and its probe tells whether it happened")
        elif at is not None:
            yield Wait(f"the effect {effect.key} is unknown; its probe is run again", at)
        if at is None or effect.probes >= LOOKS_BEFORE_ASKING:
            yield from _asking(record, observation, effect)


def effect_report(ticket: TicketId, action: AskAboutEffect, author: Issue | None) -> str:
    """One report on an effect that nobody knows the end of: what is known, and what a person can do."""
    return (
        f"{report_marker(ticket, action.edge)}\n"
        f"{mention(author)}**Ticket #{ticket} waits for a person to look at one effect**: "
        f"{inline(action.reason, 700)}.\n\n"
        "Nothing is done a second time by itself, because no answer never means that nothing happened.\n"
    )


def _asking(record: Record, observation: Observation, effect: Effect) -> Iterator[AskAboutEffect | RemoveComment]:
    # Of one that shrank the digest is all that is left, so it is the same happening before and after.
    edge = f"effect-{digest(effect.key) if effect.kind else effect.key}"
    marker = report_marker(record.ticket_id, edge)
    comments = {c.id: c for p in observation.pulls for c in p.comments} | {c.id: c for c in observation.issue_comments}
    told = sorted(id for id, comment in comments.items() if comment.body.startswith(marker))
    if not told:
        yield AskAboutEffect(edge, blocker(effect, record.ticket_id))
    for double in told[1:]:
        yield RemoveComment(double, "it is told already; the oldest report stays")
