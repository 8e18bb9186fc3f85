"""When a ticket has to be looked at although nothing happened: the next moment at which time alone changes something.

No event tells that a holder fell silent. Whoever looks at a ticket says when its holder would count as dead, when it
will have gone too long without a checkpoint, and when an interrupted ticket becomes too old; the ticket is due then.
"""

from datetime import datetime, timedelta

from app.domain import gates
from app.domain.attempt import open_one, waits_until
from app.domain.lease import Live, Suspect, liveness, past
from app.domain.policy import Policy
from app.domain.record import TERMINAL, Record
from app.domain.run_seen import RunSeen

A_MOMENT = timedelta(seconds=1)
"""The rules say "later than", and moments are of whole seconds."""
RUN_AGAIN = timedelta(minutes=5)
"""How soon a workflow run that goes on is looked at once more: the event that tells its end may be lost."""


def changes_at(
    record: Record,
    policy: Policy,
    *,
    now: datetime,
    heartbeat_at: datetime | None = None,
    run_ended: bool = False,
    run: RunSeen | None = None,
) -> datetime | None:
    """The next of these moments after `now`; None where time changes nothing. A sign of life until then only moves it:
    the look at that moment asks again.
    """
    if record.status in TERMINAL:
        return None
    found: list[datetime] = []
    if run is not None and not run.has_ended:
        found.append(now + RUN_AGAIN)
    if (started := open_one(record)) is not None:
        found.append(waits_until(started, policy, run))
    holder = liveness(record, policy, now=now, heartbeat_at=heartbeat_at, run_ended=run_ended)
    granted = past(record.lease.granted_at, now) if record.lease is not None else None
    if isinstance(holder, Live | Suspect):
        found.append(holder.until)
        saved = past(record.saved_at, now)
        known = [moment for moment in (granted, saved) if moment is not None]
        if record.status == "working" and known:
            found.append(max(known) + policy.checkpoint.max_gap)
        if record.status == "recovering" and granted is not None:
            found.append(granted + policy.lease.recovering_ttl)
    elif gates.is_interrupted(record):
        sign = gates.last_sign(record, now=now, heartbeat_at=heartbeat_at)
        if sign is not None:
            found.append(sign + policy.resume.max_age)
    return min((moment + A_MOMENT for moment in found if moment >= now), default=None)
