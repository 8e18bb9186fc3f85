"""What is kept of a wish, and when a person's word about a single ticket counts as one."""

from datetime import UTC, datetime, timedelta

import pytest

from app.domain.dispatched import Dispatched
from app.domain.outage_wish import is_asked_for, limits_of
from app.domain.policy import Policy
from app.domain.record import Intent, Lease, Record

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def at(minutes: int | None) -> datetime | None:
    return None if minutes is None else NOON + minutes * MINUTE


@pytest.mark.parametrize(
    ("said", "leased", "started", "asked_for"),
    [
        (None, None, None, False),
        (None, 0, None, False),
        (1, 0, None, True),
        (1, 2, None, False),
        (1, None, None, True),
        (1, 0, 2, False),
        (3, 0, 2, True),
        (1, None, 2, False),
    ],
    ids=[
        "nobody said anything",
        "its holder died, and nobody said anything",
        "said after its holder began",
        "its holder began after that",
        "said, and nobody holds it",
        "an agent was started after that",
        "said once more since then",
        "nobody holds it, and the agent for that word was started",
    ],
)
def test_a_persons_word_counts_until_somebody_began_after_it(
    said: int | None, leased: int | None, started: int | None, asked_for: bool
) -> None:
    granted, dispatched, intended = at(leased), at(started), at(said)
    record = Record(
        ticket=7,
        sequence=1,
        status="working",
        intent=Intent(by="wanda", at=intended) if intended else None,
        lease=Lease(
            generation=1,
            nonce="n",
            holder="h",
            login="l",
            claim_id_hash="c",
            granted_at=granted,
            expires_at=granted + 15 * MINUTE,
        )
        if granted
        else None,
        dispatched=Dispatched(attempt="a" * 16, start="workflow_dispatch", generation=1, at=dispatched)
        if dispatched
        else None,
    )
    assert is_asked_for(record) is asked_for


def test_limits_are_the_policys() -> None:
    limits = limits_of(Policy(version=1, trunks=["release-*"]))  # type: ignore[call-arg]
    assert (limits.heartbeat, limits.ttl) == (MINUTE, 15 * MINUTE)
    assert (limits.mass_limit, limits.max_concurrent, limits.max_per_hour, limits.in_progress) == (5, 3, 10, 0)
