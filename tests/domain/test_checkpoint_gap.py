"""How long a live holder may go without saving, and what is done once it goes on for longer."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.domain.checkpoint_gap import keeps_the_work, overdue, saved, shows_a_push, telling
from app.domain.handoff_marker import report_marker
from app.domain.lease import Dead, Live, Liveness, Nobody, Suspect
from app.domain.observation import Comment, Issue, Observation
from app.domain.plan import NoteSaved, RemoveComment, WarnOfGap
from app.domain.policy import CheckpointPolicy, Policy
from app.domain.record import Lease, Published, Record, Work

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
POLICY = Policy(checkpoint=CheckpointPolicy(max_gap=timedelta(minutes=30)))
LIVE = Live(NOW + timedelta(minutes=10))
P, X, BASE = "a" * 40, "d" * 40, "b" * 40
OBSERVATION = Observation(
    now=NOW,
    repository_id=1,
    owner="acme",
    name="shop",
    default_branch="main",
    policy_text=None,
    issue=Issue(42, "Ripen", "", "OPEN", "ann"),
)


def minutes(ago: float) -> datetime:
    return NOW - timedelta(minutes=ago)


def record(
    granted: float, saved_ago: float | None = None, status: str = "working", published: str | None = P
) -> Record:
    lease = Lease(
        generation=3,
        nonce="n",
        holder="agent",
        login="ann",
        claim_id_hash="h",
        granted_at=minutes(granted),
        expires_at=NOW + timedelta(minutes=10),
    )
    return Record(
        ticket=42,
        sequence=9,
        status=status,  # type: ignore[arg-type]
        generation=3,
        lease=lease,
        work=Work(branch="ticket/42", trunk="release-1", base_sha=BASE),
        published=Published(sha=published, generation=3, nonce="n") if published else None,
        saved_at=None if saved_ago is None else minutes(saved_ago),
    )


@pytest.mark.parametrize(
    ("what", "of", "holder", "late"),
    [
        ("just claimed", record(5), LIVE, False),
        ("claimed long ago, nothing saved", record(31), LIVE, True),
        ("exactly the gap", record(30), LIVE, False),
        ("saved in time", record(300, 29), LIVE, False),
        ("saved too long ago", record(300, 31), LIVE, True),
        ("suspect, and late", record(300, 31), Suspect(minutes(5), NOW), True),
        ("saved under another lease before this one", record(10, 400), LIVE, False),
        ("a moment ahead of all clocks counts as none", record(300, -10), LIVE, True),
        ("waiting for a person", record(300, 200, "waiting"), LIVE, False),
        ("ready", record(300, 200, "ready"), LIVE, False),
        ("taking over", record(300, 200, "recovering"), LIVE, False),
        ("dead", record(300, 200), Dead("gone", None), False),
        ("nobody", record(300, 200).model_copy(update={"lease": None}), Nobody("free"), False),
    ],
)
def test_late_is_a_live_worker_past_the_gap(what: str, of: Record, holder: Liveness, late: bool) -> None:
    assert (overdue(of, POLICY, holder, now=NOW) is not None) == late, what


def test_the_reason_names_moments_and_no_ages_so_that_it_stays_the_same() -> None:
    early = overdue(record(300, 31), POLICY, LIVE, now=NOW)
    later = overdue(record(300, 31), POLICY, LIVE, now=NOW + timedelta(minutes=1))
    assert early is not None
    assert later is not None
    assert early.reason == later.reason
    assert early.reason == "its last hard checkpoint is of 2026-11-30T11:29:00Z, and checkpoint.max_gap is 30m"
    for never in (record(31), record(31, 31), record(31, 400)):
        late = overdue(never, POLICY, LIVE, now=NOW)
        assert late is not None
        assert late.reason.startswith("it has saved nothing since it took the ticket at 2026-11-30T11:29:00Z")


@pytest.mark.parametrize(
    ("published", "stands_at", "keeps"),
    [(P, P, True), (P, X, False), (P, None, True), (P, "snapshot 7", True), (None, BASE, True), (None, X, False)],
)
def test_a_checkpoint_keeps_the_work_where_nothing_committed_stays_behind(
    published: str | None, stands_at: str | None, keeps: bool
) -> None:
    assert keeps_the_work(record(5, published=published), stands_at) is keeps


def test_a_push_that_nobody_noted_is_noted_before_anybody_is_told() -> None:
    of = record(300, 31)
    late = overdue(of, POLICY, LIVE, now=NOW)
    assert late is not None
    assert [type(a) for a in telling(of, OBSERVATION, late, tail=1)] == [NoteSaved]
    noted = saved(of, now=NOW)
    assert overdue(noted, POLICY, LIVE, now=NOW) is None
    assert not shows_a_push(record(300, 31, published=None), 1)


def test_a_person_is_told_once_a_generation() -> None:
    of = record(300, 31)
    late = overdue(of, POLICY, LIVE, now=NOW)
    assert late is not None
    assert list(telling(of, OBSERVATION, late, tail=0)) == [WarnOfGap("gap-g3", late.reason)]
    marker = report_marker(42, "gap-g3")
    told = replace(OBSERVATION, issue_comments=(Comment(7, f"{marker}\nlate", NOW),))
    assert list(telling(of, told, late, tail=0)) == []
    doubled = replace(told, issue_comments=(*told.issue_comments, Comment(9, f"{marker}\nlate", NOW)))
    actions = list(telling(of, doubled, late, tail=0))
    assert [type(a) for a in actions] == [RemoveComment]
    assert isinstance(actions[0], RemoveComment)
    assert actions[0].comment_id == 9
