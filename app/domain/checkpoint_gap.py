"""How long a live holder may work without a checkpoint: the policy's `checkpoint.max_gap`.

What would be lost if the holder's machine went away now is what it did since its last hard checkpoint, so that time is
bounded and its excess is told: in the brief, in the handoff comment, and once a generation where people read. Told
late at worst: a push is noted by the service when it next writes to the ledger, and no clock but the service's counts.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.domain.handoff_marker import report_marker
from app.domain.lease import Live, Liveness, Suspect, past
from app.domain.model import instant_text
from app.domain.observation import Observation
from app.domain.plan import NoteSaved, RemoveComment, WarnOfGap
from app.domain.policy import Policy, duration_text
from app.domain.record import Record

_SHA = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Overdue:
    """A holder works on and `since` nothing of it was saved; `ever`: it had saved something under this lease."""

    since: datetime
    max_gap: timedelta
    ever: bool

    @property
    def reason(self) -> str:
        what = "its last hard checkpoint is of" if self.ever else "it has saved nothing since it took the ticket at"
        return f"{what} {instant_text(self.since)}, and checkpoint.max_gap is {duration_text(self.max_gap)}"


def overdue(record: Record | None, policy: Policy, holder: Liveness, *, now: datetime) -> Overdue | None:
    """Whether the holder, alive and working, has gone without a hard checkpoint for longer than the policy allows."""
    if record is None or record.lease is None or record.status != "working" or not isinstance(holder, Live | Suspect):
        return None
    granted, saved = past(record.lease.granted_at, now), past(record.saved_at, now)
    known = [moment for moment in (granted, saved) if moment is not None]
    if not known or now <= max(known) + policy.checkpoint.max_gap:
        return None
    ever = saved is not None and (granted is None or saved > granted)
    return Overdue(max(known), policy.checkpoint.max_gap, ever)


def keeps_the_work(record: Record, stands_at: str | None) -> bool:
    """Whether a checkpoint whose maker stands at this commit leaves nothing committed behind on its machine.

    `stands_at` is its word (`checkpoint_sha_or_snapshot`); one that names no commit is believed.
    """
    if stands_at is None or not _SHA.fullmatch(stands_at):
        return True
    published = record.published.sha if record.published else record.base_sha
    return published is None or stands_at == published


def saved(record: Record, *, now: datetime) -> Record:
    """The record with the note that its holder has just saved all that it committed."""
    return record.model_copy(update={"saved_at": now})


def shows_a_push(record: Record, tail: int) -> bool:
    """Whether the holder pushed since the service last wrote: then code and checkpoint came together."""
    return tail > 0 and record.published_now is not None


def telling(
    record: Record, observation: Observation, late: Overdue, *, tail: int
) -> Iterator[NoteSaved | WarnOfGap | RemoveComment]:
    """What is done about it: a push that nobody noted yet is noted, else a person is told, once a generation. A double
    goes, the oldest stays.
    """
    if shows_a_push(record, tail):
        yield NoteSaved("the holder pushed since the service last wrote")
        return
    edge = f"gap-g{record.generation}"
    marker = report_marker(record.ticket_id, edge)
    comments = {c.id: c for p in observation.pulls for c in p.comments} | {c.id: c for c in observation.issue_comments}
    told = sorted(id for id, comment in comments.items() if comment.body.startswith(marker))
    if not told:
        yield WarnOfGap(edge, late.reason)
    for double in told[1:]:
        yield RemoveComment(double, "it is told already; the oldest report stays")
