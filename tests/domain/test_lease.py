from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.lease import Dead, Live, Liveness, Nobody, Suspect, liveness, past
from app.domain.policy import Policy
from app.domain.record import Lease, Record, Status

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
POLICY = Policy()  # ttl 15 min, grace 60 s, heartbeat 60 s, recovering_ttl 15 min


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def record(granted: float, expires: float, status: Status = "working") -> Record:
    """A record whose lease was granted and expires so many seconds ago (negative: ahead)."""
    lease = Lease(
        generation=3,
        nonce="n3",
        holder="agent-a",
        login="octo",
        claim_id_hash="h",
        granted_at=ago(granted),
        expires_at=ago(expires),
    )
    return Record(ticket=42, sequence=9, status=status, generation=3, lease=lease)


FREE = Record(ticket=42, sequence=1, status="unclaimed")

TABLE: list[tuple[str, Record | None, float | None, bool, Liveness]] = [
    ("never claimed", None, None, False, Nobody("nobody has claimed this ticket yet")),
    ("unclaimed", FREE, None, False, Nobody("nobody holds the ticket: it is new or was handed off")),
    ("landed", record(100, -800, "landed"), 10, False, Nobody("the ticket is landed")),
    ("cancelled", record(100, -800, "cancelled"), 10, False, Nobody("the ticket is cancelled")),
    ("fresh grant, no beat yet", record(30, -870), None, False, Live(ago(-930))),
    ("beating", record(600, -300), 50, False, Live(ago(-910))),
    ("expired but beating", record(3600, 2700), 100, False, Live(ago(-860))),
    ("three beats missed", record(600, -300), 181, False, Suspect(ago(1), ago(-779))),
    ("beat on the edge", record(600, -300), 180, False, Live(ago(-780))),
    ("beats lost with their table", record(600, -300), None, False, Suspect(ago(420), ago(-360))),
    ("expired, in its grace", record(960, 60), None, False, Suspect(ago(780), ago(0))),
    ("past its grace", record(961, 61), None, False, Dead("its lease expired and no heartbeat is known", ago(1))),
    ("expired, heard of within its term", record(2000, 1100), 300, False, Suspect(ago(120), ago(-660))),
    ("old beat", record(3000, 2100), 961, False, Dead("its lease expired and no heartbeat is known", ago(1))),
    ("run ended", record(30, -870), 5, True, Dead("the workflow run that held it has ended", None)),
    ("recovering", record(900, -10, "recovering"), 5, False, Live(ago(-955))),
    (
        "recovering too long, though beating",
        record(901, -10, "recovering"),
        5,
        False,
        Dead("its recovery showed no evidence in time", ago(1)),
    ),
    (
        "recovering since the future",
        record(-61, -900, "recovering"),
        None,
        False,
        Dead("its recovery showed no evidence in time", None),
    ),
    ("beat a little ahead", record(600, -300), -60, False, Live(ago(-1020))),
    ("beat in the future counts as missing", record(600, -300), -61, False, Suspect(ago(420), ago(-360))),
    ("expiry in 2099", record(600, -70 * 365 * 86400), None, False, Dead("its expiry is not believable", None)),
    ("the longest honest expiry", record(0, -4 * 3600), None, False, Live(ago(-4 * 3600 - 60))),
    ("granted in the future", record(-600, -900), None, False, Suspect(NOW, ago(-960))),
]


@pytest.mark.parametrize(("name", "state", "beat", "run_ended", "expected"), TABLE, ids=[row[0] for row in TABLE])
def test_r15_liveness(name: str, state: Record | None, beat: float | None, run_ended: bool, expected: Liveness) -> None:
    heartbeat_at = None if beat is None else ago(beat)
    assert liveness(state, POLICY, now=NOW, heartbeat_at=heartbeat_at, run_ended=run_ended) == expected


@given(
    expires=st.integers(-20_000, 20_000), beat=st.none() | st.integers(-20_000, 20_000), granted=st.integers(0, 20_000)
)
def test_a_lease_inside_its_term_is_never_dead_by_time(expires: int, beat: int | None, granted: int) -> None:
    state = liveness(record(granted, expires), POLICY, now=NOW, heartbeat_at=None if beat is None else ago(beat))
    if -4 * 3600 <= expires <= 60:
        assert isinstance(state, Live | Suspect)
        assert state.until >= NOW
    if isinstance(state, Suspect):
        assert state.since <= NOW


@given(st.integers(-10_000, 10_000))
def test_only_times_up_to_sixty_seconds_ahead_count(seconds: int) -> None:
    assert (past(ago(-seconds), NOW) is None) == (seconds > 60)
