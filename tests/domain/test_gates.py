from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.checkpoint import Checkpoint, Step
from app.domain.gates import Pass, after_claim, after_handoff, after_life, after_progress, last_life, may_claim
from app.domain.outcome import Blocked, Code
from app.domain.policy import Mode, Policy, ResumePolicy
from app.domain.record import Attempts, Intent, Lease, Record, Status

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
POLICY = Policy(mode=Mode.REPAIR)


def ago(**kwargs: float) -> datetime:
    return NOW - timedelta(**kwargs)


HOUR_AGO = ago(hours=1)
HALF_HOUR_AGO = ago(minutes=30)
ONCE = Attempts(count=1, alive_at=HOUR_AGO)


def record(
    *,
    status: Status = "working",
    granted: datetime = HOUR_AGO,
    expires: datetime = HALF_HOUR_AGO,
    held: bool = True,
    attempts: Attempts = ONCE,
    intent: Intent | None = None,
) -> Record:
    lease = Lease(
        generation=2,
        nonce="n2",
        holder="agent-a",
        login="octo",
        claim_id_hash="h",
        granted_at=granted,
        expires_at=expires,
    )
    return Record(
        ticket=42,
        sequence=5,
        status=status,
        generation=2,
        lease=lease if held else None,
        attempts=attempts,
        intent=intent,
    )


DEAD = record()
LIVE = record(granted=ago(seconds=10), expires=NOW + timedelta(minutes=14))
FREE = record(status="unclaimed", held=False, attempts=Attempts())
OLD = record(granted=ago(hours=9), expires=ago(hours=8), attempts=Attempts(count=1, alive_at=ago(hours=9)))
OFF = POLICY.model_copy(update={"resume": ResumePolicy(enabled=False)})
THIRD = Attempts(count=3, alive_at=ago(hours=1), interrupted_at=ago(minutes=40))

REFUSED: list[tuple[str, Record | None, Policy | None, int, Code]] = [
    ("no policy", DEAD, None, 2, Code.NO_POLICY),
    ("observe comes first", record(status="landed"), Policy(), 9, Code.MODE_OBSERVE),
    ("observe, never claimed", None, Policy(), 0, Code.MODE_OBSERVE),
    ("landed, observed an older", record(status="landed"), POLICY, 1, Code.LOST_RACE),
    ("cancelled", record(status="cancelled"), POLICY, 2, Code.ENDED),
    ("abandoned", record(status="abandoned"), POLICY, 2, Code.ABANDONED),
    ("held before live", record(status="held", expires=NOW + timedelta(minutes=5)), POLICY, 2, Code.HELD),
    ("live before lost race", LIVE, POLICY, 1, Code.LEASE_LIVE),
    ("lost race before the gates", record(), OFF, 1, Code.LOST_RACE),
    ("never claimed, observed another", None, POLICY, 1, Code.LOST_RACE),
    ("handed off, observed an older", FREE, POLICY, 1, Code.LOST_RACE),
    ("a generation from the future", DEAD, POLICY, 3, Code.LOST_RACE),
    ("off before old", OLD, OFF, 2, Code.RESUME_DISABLED),
    ("old", OLD, POLICY, 2, Code.TOO_OLD),
    (
        "old before exhausted",
        record(granted=ago(hours=9), attempts=Attempts(count=9, alive_at=ago(hours=9), interrupted_at=ago(hours=8))),
        POLICY,
        2,
        Code.TOO_OLD,
    ),
    (
        "no time known is stale",
        record(attempts=Attempts(count=1, interrupted_at=ago(minutes=5))),
        POLICY,
        2,
        Code.TOO_OLD,
    ),
    (
        "a time in the future is missing",
        record(attempts=Attempts(count=1, alive_at=NOW + timedelta(seconds=61), interrupted_at=ago(minutes=5))),
        POLICY,
        2,
        Code.TOO_OLD,
    ),
    (
        "failed attempts keep nothing fresh",
        record(attempts=Attempts(count=2, alive_at=ago(hours=5), interrupted_at=ago(hours=2))),
        POLICY,
        2,
        Code.TOO_OLD,
    ),
    ("exhausted", record(attempts=THIRD), POLICY, 2, Code.ATTEMPTS_EXHAUSTED),
    ("exhausted as a status", record(status="exhausted", attempts=THIRD), POLICY, 2, Code.ATTEMPTS_EXHAUSTED),
]


@pytest.mark.parametrize(
    "state", [record(status="landed", attempts=THIRD), record(status="landed", granted=ago(days=9))]
)
def test_a_landed_ticket_whose_issue_is_open_begins_anew(state: Record) -> None:
    answer = may_claim(state, POLICY, now=NOW, observed_generation=2, login="someone")
    assert isinstance(answer, Pass)
    assert (answer.attempts_after, answer.interrupted) == (1, False)


@pytest.mark.parametrize(("name", "state", "policy", "observed", "code"), REFUSED, ids=[row[0] for row in REFUSED])
def test_refused_in_the_order_of_the_gates(
    name: str, state: Record | None, policy: Policy | None, observed: int, code: Code
) -> None:
    answer = may_claim(state, policy, now=NOW, observed_generation=observed, login="someone")
    assert isinstance(answer, Blocked)
    assert answer.code is code
    assert answer.reason
    assert answer.remedy


PASSED: list[tuple[str, Record | None, int, bool, int, bool]] = [
    ("new", None, 0, False, 1, False),
    ("born, nobody yet", Record(ticket=42, sequence=0, status="unclaimed"), 0, False, 1, False),
    ("handed off, though ages ago", FREE, 2, False, 1, False),
    ("interrupted", DEAD, 2, False, 2, True),
    ("interrupted twice", record(attempts=THIRD.model_copy(update={"count": 2})), 2, False, 3, True),
    (
        "a recent intent keeps it fresh",
        OLD.model_copy(update={"intent": Intent(by="p", at=ago(hours=1))}),
        2,
        False,
        2,
        True,
    ),
    ("a person passes old", OLD, 2, True, 1, True),
    ("a person passes exhausted", record(attempts=THIRD), 2, True, 1, True),
    ("a person brings back a cancelled one", record(status="cancelled", held=False), 2, True, 1, False),
]


@pytest.mark.parametrize(
    ("name", "state", "observed", "person", "attempts", "interrupted"), PASSED, ids=[r[0] for r in PASSED]
)
def test_passed(name: str, state: Record | None, observed: int, person: bool, attempts: int, interrupted: bool) -> None:
    answer = may_claim(state, POLICY, now=NOW, observed_generation=observed, login="someone", by_person=person)
    assert isinstance(answer, Pass), answer
    assert (answer.attempts_after, answer.interrupted) == (attempts, interrupted)


def test_a_live_lease_names_holder_generation_and_expiry() -> None:
    answer = may_claim(LIVE, POLICY, now=NOW, observed_generation=2, login="octo", by_person=True)
    assert isinstance(answer, Blocked)
    assert (answer.code, answer.holder, answer.generation) == (Code.LEASE_LIVE, "agent-a", 2)
    assert answer.retryable
    assert "2026-11-30T12:15:00Z" in answer.reason
    assert "your own account" in answer.reason


def test_a_suspect_holder_keeps_its_lease() -> None:
    state = record(granted=ago(minutes=14), expires=NOW + timedelta(minutes=1))
    answer = may_claim(state, POLICY, now=NOW, observed_generation=2, login="x")
    assert isinstance(answer, Blocked)
    assert answer.code is Code.LEASE_LIVE
    assert "not been heard of since" in answer.reason


def test_an_ended_run_frees_its_ticket_at_once() -> None:
    answer = may_claim(LIVE, POLICY, now=NOW, observed_generation=2, login="x", run_ended=True)
    assert isinstance(answer, Pass)


def test_attempts_are_frozen_while_the_interruption_lasts() -> None:
    beat = ago(minutes=20)
    passed = may_claim(DEAD, POLICY, now=NOW, observed_generation=2, login="x", heartbeat_at=beat)
    assert isinstance(passed, Pass)
    first = after_claim(DEAD, passed, now=NOW, heartbeat_at=beat)
    assert first == Attempts(count=2, alive_at=beat, interrupted_at=NOW)
    assert after_life(first, now=NOW + timedelta(hours=1)) == first
    again = DEAD.model_copy(update={"attempts": first})
    later = NOW + timedelta(minutes=30)
    second = after_claim(again, Pass("", 3, True), now=later, heartbeat_at=later)
    assert second == Attempts(count=3, alive_at=beat, interrupted_at=NOW)


def test_a_first_claim_a_persons_claim_and_a_handoff_start_afresh() -> None:
    assert after_claim(None, Pass("", 1, False), now=NOW) == Attempts(count=1, alive_at=NOW)
    person = after_claim(record(attempts=THIRD), Pass("", 1, True), now=NOW, by_person=True)
    assert person == Attempts(count=1, alive_at=NOW)
    assert after_handoff() == Attempts()


@pytest.mark.parametrize(
    ("before", "after", "hard", "count"),
    [
        (["a"], ["a", "b"], True, 0),
        (["a"], ["a", "b"], False, 2),
        (["a", "b"], ["a", "b"], True, 2),
        (["a", "b"], ["b"], True, 2),
        ([], [], True, 2),
    ],
)
def test_only_a_hard_checkpoint_with_a_new_step_is_progress(
    before: list[str], after: list[str], hard: bool, count: int
) -> None:
    def checkpoint(ids: list[str]) -> Checkpoint:
        return Checkpoint(completed_steps=tuple(Step(id=i, text=f"step {i}") for i in ids))

    attempts = Attempts(count=2, alive_at=ago(hours=2), interrupted_at=ago(hours=1))
    result = after_progress(attempts, checkpoint(before), checkpoint(after), hard=hard, now=NOW)
    assert result.count == count
    assert (result.interrupted_at is None) == (count == 0)
    assert result.alive_at == (NOW if count == 0 else ago(hours=2))


def test_last_life_counts_heartbeats_only_before_the_interruption() -> None:
    assert last_life(DEAD, now=NOW, heartbeat_at=ago(minutes=31)) == ago(minutes=31)
    frozen = record(attempts=Attempts(count=2, alive_at=ago(hours=3), interrupted_at=ago(hours=2)))
    assert last_life(frozen, now=NOW, heartbeat_at=ago(minutes=31)) == ago(hours=3)


@given(st.lists(st.integers(16, 200), max_size=12), st.integers(1, 10))
def test_i5_attempts_never_pass_the_cap(gaps: list[int], cap: int) -> None:
    policy = POLICY.model_copy(update={"resume": ResumePolicy(max_attempts=cap)})
    now, state = NOW, None
    for generation, gap in enumerate(gaps, start=1):
        answer = may_claim(state, policy, now=now, observed_generation=generation - 1, login="x")
        if isinstance(answer, Blocked):
            assert answer.code in {Code.ATTEMPTS_EXHAUSTED, Code.TOO_OLD}
            return
        attempts = after_claim(state, answer, now=now)
        assert attempts.count <= cap
        lease = Lease(
            generation=generation,
            nonce=str(generation),
            holder="a",
            login="x",
            claim_id_hash="h",
            granted_at=now,
            expires_at=now + timedelta(minutes=14),
        )
        state = Record(
            ticket=1, sequence=generation, status="recovering", generation=generation, lease=lease, attempts=attempts
        )
        now += timedelta(minutes=gap)


def test_the_operators_switch_stops_what_was_interrupted_and_nothing_else() -> None:
    answer = may_claim(DEAD, POLICY, now=NOW, observed_generation=2, login="x", resumes=False)
    assert isinstance(answer, Blocked)
    assert answer.code is Code.RESUME_DISABLED
    assert "operator" in answer.reason
    for free in (None, FREE):
        observed = 0 if free is None else 2
        assert isinstance(
            may_claim(free, POLICY, now=NOW, observed_generation=observed, login="x", resumes=False), Pass
        )
    by_person = may_claim(DEAD, POLICY, now=NOW, observed_generation=2, login="x", resumes=False, by_person=True)
    assert isinstance(by_person, Pass)
