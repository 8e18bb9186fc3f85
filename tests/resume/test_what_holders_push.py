"""What a holder pushes extends no lease and gives no attempt back by itself (the ownership protocol, R15, R21)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.dispatched import Stopped
from app.domain.lease import Dead, liveness
from app.domain.policy import Policy
from app.domain.record import Attempts, Lease, Record
from app.ledger.agent_commits import breach

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
STOPPED = Stopped(because="attempts", edge="stuck-g3", reason="used up", at=NOW)


def record(status: str = "working", **more: Any) -> Record:
    lease = Lease(
        generation=3,
        nonce="n",
        holder="agent",
        login="octo",
        claim_id_hash="h",
        granted_at=NOW - timedelta(hours=1),
        expires_at=NOW - timedelta(minutes=30),
    )
    return Record(ticket=42, sequence=9, status=status, generation=3, lease=lease, **more)


def judged(before: Record, **changes: Any) -> str | None:
    after = before.model_copy(update={"sequence": before.sequence + 1, "renewals": before.renewals + 1} | changes)
    return breach(
        before, before.model_dump(mode="json", by_alias=True), after, after.model_dump(mode="json", by_alias=True)
    )


@given(st.timedeltas(min_value=timedelta(days=-20000), max_value=timedelta(days=20000)))
def test_no_clock_of_an_agent_extends_a_lease(ahead: timedelta) -> None:
    before = record()
    assert before.lease is not None
    moved = before.lease.model_copy(update={"expires_at": before.lease.expires_at + ahead})
    renewed = before.lease.model_copy(update={"renewed_at": NOW + ahead})
    if ahead:
        assert judged(before, lease=moved) is not None
    assert judged(before, lease=renewed) is not None
    # A time far ahead is no time: only what the service stamped counts, and not for ever.
    stamped = before.model_copy(update={"lease": moved})
    if ahead > timedelta(hours=5):
        assert isinstance(liveness(stamped, Policy(), now=NOW), Dead)


@pytest.mark.parametrize(
    "changes",
    [
        {"attempts": Attempts()},
        {"stopped": None},
        {"renewals": 5},
        {"status": "unclaimed"},
        {"status": "recovering"},
    ],
)
def test_a_holder_gives_itself_no_attempt_and_no_term(changes: dict[str, Any]) -> None:
    assert judged(record("exhausted", stopped=STOPPED, attempts=Attempts(count=3)), **changes) is not None


@pytest.mark.parametrize("status", ["working", "waiting", "ready", "exhausted"])
def test_a_late_holders_push_is_taken_where_the_attempts_are_used_up(status: str) -> None:
    assert judged(record("exhausted", stopped=STOPPED), status=status) is None


@pytest.mark.parametrize("status", ["held", "unclaimed", "abandoned"])
def test_a_holder_undoes_no_hold_and_no_end(status: str) -> None:
    assert judged(record(status)) is not None
