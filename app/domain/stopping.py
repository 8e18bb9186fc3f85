"""Why nothing resumes a ticket by itself any more, and what a person's word makes of that.

Two ways to stop. Its attempts are used up: it stays in progress, as `exhausted`, with its lease, so that a late holder
that did make progress goes on. It is too old, or there is nothing to resume it with: it is abandoned. Neither is ever
silent: the ledger says it, a comment of its own tells the person who started the ticket, once for each generation, and
the images show it. What stopped a ticket is the same news tomorrow, whatever else comes true of it by then.
"""

from datetime import datetime
from typing import cast

from app.domain.derived import derived
from app.domain.dispatched import Stopped, Stopping
from app.domain.effect_journal import interrupted
from app.domain.handoff_marker import report_marker
from app.domain.record import Attempts, Record, Status
from app.domain.told_commands import of

OPENING = frozenset({"fired", "unknown"})


def edge_of(record: Record) -> str:
    """Names the happening in reports: one for each generation, and another after a person said that it may go on."""
    lease, intent = record.lease, record.intent
    if intent is None or (lease is not None and intent.at <= lease.granted_at):
        return f"stuck-g{record.generation}"
    return f"stuck-g{record.generation}-since-{int(intent.at.timestamp())}"


def stopped_by(record: Record, because: Stopping, reason: str, *, now: datetime) -> Stopped:
    return Stopped(because=because, edge=edge_of(record), reason=reason, at=now, before=record.status)


def marker_of_stop(record: Record, stopped: Stopped) -> str:
    """The first line of the comment that tells it."""
    return report_marker(record.ticket_id, stopped.edge)


def way_back(record: Record, stopped: Stopped) -> str:
    """What a person does so that the ticket goes on, in words for the report."""
    looks = {
        "attempts": "a person looks at what stops it",
        "too_old": "a person looks whether the plan still fits",
        "unresumable": "a person mends that",
    }[stopped.because]
    return f"{looks}, and says in a comment on #{record.ticket}: `/recovery recover{of(record.ticket_id)}`"


def exhausted(record: Record, stopped: Stopped, *, now: datetime) -> Record:
    """The record that waits for a person; its last holder keeps the lease that nobody took over (R15)."""
    return _derived(record.model_copy(update={"status": "exhausted", "stopped": _told(record, stopped)}), now)


def giving_up(record: Record, stopped: Stopped, *, now: datetime) -> Record:
    """The record of a ticket that is being abandoned, while its ledger still lies among those in progress: nobody
    holds it any more, and nobody is let in until a person was told and it lies among the ended ones.
    """
    since = record.attempts.interrupted_at or now
    after = interrupted(record, now=now).model_copy(
        update={
            "status": "unclaimed",
            "lease": None,
            "stopped": _told(record, stopped),
            "attempts": record.attempts.model_copy(update={"interrupted_at": since}),
        }
    )
    return _derived(after, now)


def is_giving_up(record: Record) -> bool:
    """Whether the ticket is on its way to be abandoned."""
    return record.stopped is not None and record.stopped.because != "attempts" and record.status == "unclaimed"


def is_told(record: Record) -> bool:
    """Whether a person was told why the ticket stopped, or GitHub refused to take the comment."""
    if record.stopped is None:
        return False
    marker = marker_of_stop(record, record.stopped)
    # A refused report of something else tells nothing of this stop.
    reports = (p for p in record.open if p.kind == "report_create" and p.target.marker == marker)
    refused = any(p.state == "blocked" for p in reports)
    return record.stopped.told is not None or refused


def may_end(record: Record) -> bool:
    """Whether a ticket that is being abandoned may go to the ended ones now."""
    under_way = any(p.kind == "report_create" and p.state in OPENING for p in record.open)
    return is_giving_up(record) and is_told(record) and not under_way


def going_on(record: Record) -> Record:
    """The record at the word of a person who lets the ticket go on: as it was when it stopped, and its attempts count
    anew.
    """
    attempts = record.attempts.model_copy(update={"count": 0})
    update: dict[str, object] = {"stopped": None, "attempts": attempts}
    if record.status == "exhausted":
        update["status"] = before(record)
    return record.model_copy(update=update)


def before(record: Record) -> Status:
    """The status in which an exhausted ticket stopped."""
    kept = record.stopped.before if record.stopped is not None else "working"
    known = kept in ("unclaimed", "recovering", "working", "waiting")
    return cast(Status, kept) if known and (record.lease is not None or kept == "unclaimed") else "unclaimed"


def progress_made(record: Record, attempts: Attempts, wanted: Status) -> tuple[Status, Stopped | None]:
    """Status and stop after a late holder's checkpoint: one that shows progress brings an exhausted ticket back."""
    if record.status != "exhausted":
        return wanted, record.stopped
    return (wanted, None) if attempts.count == 0 else ("exhausted", record.stopped)


def _told(record: Record, stopped: Stopped) -> Stopped:
    """Told once: what was told of the same edge counts for this one."""
    same = record.stopped is not None and record.stopped.edge == stopped.edge
    return stopped.model_copy(update={"told": record.stopped.told}) if same and record.stopped else stopped


def _derived(record: Record, now: datetime) -> Record:
    return record.model_copy(update={"checkpoint": derived(record, record.checkpoint, now=now)})
