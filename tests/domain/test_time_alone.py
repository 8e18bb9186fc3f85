"""Time changes a ticket at the moments that were told, and at no other."""

from datetime import UTC, datetime, timedelta
from typing import Literal

import pytest

from app.domain.checkpoint_gap import overdue
from app.domain.dispatched import Run
from app.domain.lease import Dead, liveness
from app.domain.policy import Policy
from app.domain.record import Attempts, Lease, Record, Status
from app.domain.run_seen import RunSeen
from app.domain.stuck import needs_person
from app.domain.time_alone import changes_at

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
POLICY = Policy()  # ttl 15 min, grace 60 s, recovering_ttl 15 min, max_gap 30 min, max_age 4 h
STEP = timedelta(seconds=20)


def record(status: Status, granted_min: float = 0, *, saved_min: float | None = None, held: bool = True) -> Record:
    granted = NOW - timedelta(minutes=granted_min)
    lease = Lease(
        generation=3,
        nonce="n3",
        holder="agent-a",
        login="octo",
        claim_id_hash="h",
        granted_at=granted,
        expires_at=granted + POLICY.lease.ttl,
    )
    return Record(
        ticket=42,
        sequence=9,
        status=status,
        generation=3,
        lease=lease if held else None,
        saved_at=NOW - timedelta(minutes=saved_min) if saved_min is not None else None,
        attempts=Attempts(alive_at=granted, interrupted_at=None if held else granted),
    )


def found(seen: Record, at: datetime, beat: datetime | None) -> tuple[bool, bool, str | None]:
    """What a look at this moment acts upon."""
    holder = liveness(seen, POLICY, now=at, heartbeat_at=beat)
    stuck = needs_person(seen, POLICY, now=at, heartbeat_at=beat)
    return isinstance(holder, Dead), overdue(seen, POLICY, holder, now=at) is not None, stuck.code if stuck else None


@pytest.mark.parametrize(
    "seen",
    [
        record("working"),
        record("working", 10, saved_min=2),
        record("working", 40),
        record("recovering", 5),
        record("waiting", 3),
        record("ready", 3),
        record("working", 300),
        record("unclaimed", 60, held=False),
        record("unclaimed", held=False).model_copy(update={"attempts": Attempts()}),
        record("landed"),
        record("held", 5),
    ],
    ids=lambda seen: f"{seen.status}-{'held' if seen.lease else 'free'}",
)
@pytest.mark.parametrize("beat_min", [None, 0, 4])
def test_nothing_changes_before_the_moment_that_was_told(seen: Record, beat_min: float | None) -> None:
    beat = NOW - timedelta(minutes=beat_min) if beat_min is not None else None
    at, told = NOW, changes_at(seen, POLICY, now=NOW, heartbeat_at=beat)
    before = found(seen, at, beat)
    while at < NOW + timedelta(hours=6):
        at += STEP
        if told is not None and at >= told:
            at = told
            before, told = found(seen, at, beat), changes_at(seen, POLICY, now=at, heartbeat_at=beat)
        assert found(seen, at, beat) == before, at - NOW


def test_a_dead_holder_is_due_when_it_counts_as_dead() -> None:
    due = changes_at(record("waiting"), POLICY, now=NOW)
    assert due == NOW + POLICY.lease.ttl + POLICY.lease.grace + timedelta(seconds=1)


@pytest.mark.parametrize(("status", "again"), [("running", True), ("waiting", True), ("completed", False)])
def test_a_run_that_goes_on_is_looked_at_again_soon_for_its_end_may_not_be_told(
    status: Literal["running", "waiting", "completed"], again: bool
) -> None:
    run = RunSeen(Run(id=17, attempt=1), status)
    due = changes_at(record("working"), POLICY, now=NOW, run=run, heartbeat_at=NOW)
    assert due is not None
    assert (due == NOW + timedelta(minutes=5, seconds=1)) is again


def test_a_ticket_that_waits_for_nothing_is_never_due() -> None:
    assert changes_at(record("landed"), POLICY, now=NOW) is None
    assert changes_at(Record(ticket=42, sequence=1, status="unclaimed"), POLICY, now=NOW) is None
    # A second look at a moment that has passed tells no moment in the past.
    late = NOW + timedelta(hours=30)
    assert changes_at(record("working"), POLICY, now=late) is None
