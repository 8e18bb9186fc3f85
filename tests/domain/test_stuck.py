"""Which tickets wait for a person, and that a person is told once a generation."""

from datetime import UTC, datetime, timedelta

import pytest

from app.domain.handoff_marker import report_marker
from app.domain.observation import Comment, Issue, Observation, Pull
from app.domain.outcome import Code
from app.domain.plan import AskPerson, RemoveComment
from app.domain.policy import Mode, Policy, ResumePolicy
from app.domain.record import Attempts, Lease, Record, Status
from app.domain.report import stuck_report
from app.domain.stuck import asking, needs_person

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
POLICY = Policy(mode=Mode.REPAIR)
SHA = "a" * 40


def _record(status: Status = "working", *, count: int = 3, alive_h: float = 1, over_min: float = 30) -> Record:
    lease = Lease(
        generation=3,
        nonce="n",
        holder="agent",
        login="octo",
        claim_id_hash="h",
        granted_at=NOW - timedelta(minutes=over_min + 15),
        expires_at=NOW - timedelta(minutes=over_min),
    )
    since = NOW - timedelta(hours=alive_h)
    attempts = Attempts(count=count, alive_at=since, interrupted_at=since)
    return Record(ticket=42, sequence=9, status=status, generation=3, lease=lease, attempts=attempts)


@pytest.mark.parametrize(
    ("record", "policy", "code"),
    [
        (_record(), POLICY, Code.ATTEMPTS_EXHAUSTED),
        (_record("recovering"), POLICY, Code.ATTEMPTS_EXHAUSTED),
        (_record("waiting"), POLICY, Code.ATTEMPTS_EXHAUSTED),
        (_record(count=1, alive_h=5), POLICY, Code.TOO_OLD),
        (_record(count=3, alive_h=5), POLICY, Code.TOO_OLD),
        (_record(count=2), POLICY, None),
        (_record("ready"), POLICY, None),
        (_record("ready", alive_h=50), POLICY, None),
        (_record("held"), POLICY, None),
        (_record("landed"), POLICY, None),
        (_record(over_min=-5), POLICY, None),
        (_record().model_copy(update={"lease": None, "attempts": Attempts()}), POLICY, None),
        (_record(), Policy(mode=Mode.OBSERVE), None),
        (_record(), Policy(mode=Mode.REPAIR, resume=ResumePolicy(enabled=False)), None),
        (_record(), Policy(mode=Mode.REPAIR, resume=ResumePolicy(max_attempts=4)), None),
    ],
)
def test_a_ticket_waits_for_a_person_only_where_nothing_else_brings_it_on(
    record: Record, policy: Policy, code: Code | None
) -> None:
    blocked = needs_person(record, policy, now=NOW)
    assert (blocked.code if blocked else None) is code


def test_a_holder_that_was_heard_of_is_not_given_up() -> None:
    assert needs_person(_record(), POLICY, now=NOW, heartbeat_at=NOW - timedelta(seconds=90)) is None


def test_a_person_is_told_once_a_generation_wherever_the_report_stands() -> None:
    record = _record()
    why = needs_person(record, POLICY, now=NOW)
    assert why is not None
    issue = Issue(42, "Ripen the apples", "", "OPEN", "ann")
    seen = Observation(NOW, 1, "acme", "shop", "main", None, issue)
    (ask,) = asking(record, seen, why)
    assert isinstance(ask, AskPerson)
    body = stuck_report(42, ask, issue)
    assert body.splitlines()[0] == report_marker(42, "stuck-g3")
    assert body.splitlines()[1].startswith("@ann **Ticket #42 waits for a person**")
    assert "resume.max_attempts" in body
    late = Pull(7, "n", "CLOSED", True, "t", "b", "h", SHA, "r", "acme/shop", comments=(Comment(9, body, NOW),))
    other = Comment(3, body.replace("stuck-g3", "stuck-g31"), NOW)
    told = Observation(NOW, 1, "acme", "shop", "main", None, issue, pulls=(late,), issue_comments=(other,))
    assert list(asking(record, told, why)) == []
    twice = Observation(
        NOW, 1, "acme", "shop", "main", None, issue, pulls=(late,), issue_comments=(Comment(4, body, NOW),)
    )
    assert [a.comment_id for a in asking(record, twice, why) if isinstance(a, RemoveComment)] == [9]
    again = asking(record.model_copy(update={"generation": 4}), told, why)
    assert [a.edge for a in again if isinstance(a, AskPerson)] == ["stuck-g4"]
