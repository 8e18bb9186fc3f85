"""Which tickets wait for a person, and that a person is told once a generation."""

from datetime import UTC, datetime, timedelta

import pytest

from app.domain.fencing import NothingPublished
from app.domain.handoff_marker import report_marker
from app.domain.observation import Branch, Comment, Issue, Observation, Pull
from app.domain.outcome import Code
from app.domain.plan import Abandon, AskPerson, Exhaust, RemoveComment
from app.domain.policy import Mode, Policy, ResumePolicy
from app.domain.record import Attempts, Intent, Lease, Record, Status
from app.domain.report import stuck_report
from app.domain.resumption import wishes
from app.domain.situation import Situation
from app.domain.stopping import exhausted, way_back
from app.domain.stuck import needs_person

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


def _situation(record: Record, *comments: Comment, pulls: tuple[Pull, ...] = ()) -> Situation:
    issue = Issue(42, "Ripen the apples", "", "OPEN", "ann")
    trunk = Branch("release-1", SHA)
    seen = Observation(
        NOW, 1, "acme", "shop", "main", None, issue, trunk=trunk, pulls=pulls, issue_comments=tuple(comments)
    )
    return Situation(seen, record, POLICY, NothingPublished(None), 0, lambda author: False)


def test_a_person_is_told_once_a_generation_wherever_the_report_stands() -> None:
    record = _record()
    (wish,) = wishes(_situation(record))
    assert isinstance(wish, Exhaust)
    assert wish.marker == report_marker(42, "stuck-g3")
    stopped = exhausted(record, wish.stopped, now=NOW)
    asking = AskPerson(wish.stopped.edge, wish.reason, way_back(stopped, wish.stopped))
    body = stuck_report(42, asking, Issue(42, "Ripen the apples", "", "OPEN", "ann"))
    assert body.splitlines()[0] == report_marker(42, "stuck-g3")
    assert body.splitlines()[1].startswith("@ann **Ticket #42 waits for a person**")
    assert "resume.max_attempts" in body
    # Written down, and not told yet: still wanted. Told: over, whatever else comes true of it.
    assert [type(w) for w in wishes(_situation(stopped))] == [Exhaust]
    told = stopped.model_copy(update={"stopped": stopped.stopped and stopped.stopped.model_copy(update={"told": 4})})
    assert wishes(_situation(told)) == ()
    late = Pull(7, "n", "CLOSED", True, "t", "b", "h", SHA, "r", "acme/shop", comments=(Comment(9, body, NOW),))
    other = Comment(3, body.replace("stuck-g3", "stuck-g31"), NOW)
    assert wishes(_situation(told, other, pulls=(late,))) == ()
    twice = wishes(_situation(told, Comment(4, body, NOW), pulls=(late,)))
    assert [a.comment_id for a in twice if isinstance(a, RemoveComment)] == [9]
    again = wishes(_situation(record.model_copy(update={"generation": 4})))
    assert [w.stopped.edge for w in again if isinstance(w, Exhaust)] == ["stuck-g4"]


def test_what_stops_a_ticket_after_a_persons_word_is_told_although_nobody_claimed_it_since() -> None:
    said = NOW - timedelta(hours=5)
    record = _record(count=0, alive_h=10, over_min=590)
    (wish,) = wishes(_situation(record.model_copy(update={"intent": Intent(by="ann", at=said)})))
    assert isinstance(wish, Abandon)
    assert wish.stopped.edge == f"stuck-g3-since-{int(said.timestamp())}"
