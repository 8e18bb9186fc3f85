"""Whether a lease's holder is alive.

Clocks decide here when something is tried, never whether it is safe: safety is the ledger's compare-and-set. The rule
is the ownership protocol, R15: dead = past expiry and grace with no heartbeat known, or its Actions run completed, or
handed off. A heartbeat is known for as long as a lease: the ledger is stamped only when half of a term is gone, so its
expiry alone would rob a holder that was heard of less than one term ago. A time more than 60 s in the future counts as
missing. A lease past its expiry that nobody took over is still the current one: its writes pass and renew it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from app.domain.policy import Policy
from app.domain.record import TERMINAL, Lease, Record

FUTURE_TOLERANCE = timedelta(seconds=60)
MISSED_BEATS = 3
LONGEST_TTL = timedelta(hours=4)
"""The upper bound of `lease.ttl`: no honest expiry lies further ahead, whatever the policy said when it was stamped."""


@dataclass(frozen=True)
class Nobody:
    """No holder: never claimed, handed off, or ended."""

    reason: str


@dataclass(frozen=True)
class Live:
    """The holder shows itself. `until` is when a claim could pass if it stopped now."""

    until: datetime


@dataclass(frozen=True)
class Suspect:
    """The holder missed three heartbeats (or none is known), but its lease still runs until `until`."""

    since: datetime
    until: datetime


@dataclass(frozen=True)
class Dead:
    """The holder is gone and a claim need not wait. `since` is when that became so, as far as it is known."""

    reason: str
    since: datetime | None


Liveness = Nobody | Live | Suspect | Dead


def liveness(
    record: Record | None,
    policy: Policy,
    *,
    now: datetime,
    heartbeat_at: datetime | None = None,
    run_ended: bool = False,
) -> Liveness:
    """The state of the holder at `now`, GitHub's clock. `heartbeat_at` is the last heartbeat the service knows of (None
    also after its table was lost); `run_ended` says that exactly the lease's run and attempt completed.
    """
    if record is None:
        return Nobody("nobody has claimed this ticket yet")
    if record.status in TERMINAL:
        return Nobody(f"the ticket is {record.status}")
    if record.lease is None:
        return Nobody("nobody holds the ticket: it is new or was handed off")
    lease = record.lease
    if run_ended:
        return Dead("the workflow run that held it has ended", None)
    if record.status == "exhausted":
        # Only progress brings such a holder back, not a sign of life: the wait for a person has begun.
        return Dead("its attempts are used up", record.stopped.at if record.stopped is not None else None)
    if record.status == "recovering":
        granted = past(lease.granted_at, now)
        # A recovery whose beginning is not known has no time left.
        deadline = granted + policy.lease.recovering_ttl if granted is not None else None
        if deadline is None or now > deadline:
            return Dead("its recovery showed no evidence in time", deadline)
    return _by_signs(lease, policy, now, heartbeat_at)


def past(moment: datetime | None, now: datetime) -> datetime | None:
    """`moment`, or None where it is missing or lies more than 60 s ahead of `now` (R15)."""
    return moment if moment is not None and moment <= now + FUTURE_TOLERANCE else None


def _by_signs(lease: Lease, policy: Policy, now: datetime, heartbeat_at: datetime | None) -> Liveness:
    patience = policy.lease.heartbeat * MISSED_BEATS
    believable = lease.expires_at <= now + LONGEST_TTL + FUTURE_TOLERANCE
    beat = past(heartbeat_at, now)
    terms = [lease.expires_at] if believable else []
    terms += [beat + policy.lease.ttl] if beat is not None else []
    end = max(terms) + policy.lease.grace if terms else None
    # A fresh grant is a sign of life too: the first heartbeat is still to come.
    sign = max((moment for moment in (beat, past(lease.granted_at, now)) if moment is not None), default=None)
    if beat is not None and now <= beat + patience:
        return Live(max(end or beat, beat + patience))
    if end is None:
        return Dead("its expiry is not believable", None)
    if now > end:
        return Dead("its lease expired and no heartbeat is known", end)
    if sign is not None and now <= sign + patience:
        return Live(end)
    return Suspect(sign + patience if sign is not None else now, end)
