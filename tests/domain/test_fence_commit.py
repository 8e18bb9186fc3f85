"""When a fence commit is due, what it is made of, what it makes of the record, and what is read after it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.domain.fence_commit import (
    Disarming,
    Fenced,
    Landed,
    PullNow,
    Unresolved,
    came_first,
    disarming,
    fenced_off,
    may_still_merge,
    resolution,
    to_restore,
)
from app.domain.fencing import AtPublished, Foreign, Head, NothingPublished, Tampered
from app.domain.record import Fence, Lease, Permit, Projections, Published, Record, Target, Work

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
S, F, X, BASE = "a" * 40, "f" * 40, "d" * 40, "b" * 40
LEASE = Lease(
    generation=3,
    nonce="n",
    holder="agent",
    login="ann",
    claim_id_hash="h",
    granted_at=NOW,
    expires_at=NOW + timedelta(minutes=15),
)
RECORD = Record(
    ticket=42,
    sequence=9,
    status="ready",
    generation=3,
    lease=LEASE,
    work=Work(branch="ticket/42", trunk="release-1", base_sha=BASE),
    published=Published(sha=S, generation=3, nonce="n"),
)
PULL = PullNow(7, "OPEN", S, "release-1")


def _permit(kind: str = "merge", state: str = "fired", unanswered: bool = False, sha: str | None = S) -> Permit:
    target = Target(number=7, head_sha=sha, base="release-1")
    fields = {"id": f"{kind}-{state}", "kind": kind, "state": state, "unanswered": unanswered}
    return Permit.model_validate({**fields, "target": target, "author": "boot", "round": "r"})


def _fence(made: Disarming) -> Fence:
    return Fence(sha=F, on=made.on, because="on hold", base="release-1")


def _with(*permits: Permit) -> Record:
    return RECORD.model_copy(update={"open": permits})


@pytest.mark.parametrize(
    ("permit", "may"),
    [
        (_permit(), True),
        (_permit(state="unknown", unanswered=True), True),
        (_permit("enqueue", "accepted"), True),
        (_permit(state="blocked"), False),
        (_permit(state="blocked", unanswered=True), True),
        (_permit("pr_create"), False),
        (_permit("base_edit", "unknown", True), False),
        (_permit("branch_update"), False),
    ],
)
def test_a_merge_may_come_until_every_send_was_answered(permit: Permit, may: bool) -> None:
    assert bool(may_still_merge(_with(permit))) is may
    assert (disarming(_with(permit), AtPublished(S, True)) is not None) is may


@pytest.mark.parametrize(
    ("head", "made", "published"),
    [
        (AtPublished(S, True), Disarming("ticket/42", on=S, before=S), F),
        (AtPublished(S, False), Disarming("ticket/42", on=S, before=S), F),
        (Foreign(S, X), Disarming("ticket/42", on=X, before=X, takes_over=False), S),
        (Tampered(S, X), Disarming("ticket/42", on=S, before=X, keep=X), F),
        (Tampered(S, None), Disarming("ticket/42", on=S, before=None), F),
        (NothingPublished(X), Disarming("ticket/42", on=X, before=X, takes_over=False), S),
        (NothingPublished(None), Disarming("ticket/42", on=S, before=None, takes_over=False), S),
    ],
)
def test_a_fence_commit_stands_above_what_is_there_and_takes_its_place_where_that_was_published(
    head: Head, made: Disarming, published: str
) -> None:
    record = _with(_permit(), _permit("comment_create", "unknown"))
    assert disarming(record, head) == made
    after = fenced_off(record, made, F, "on hold")
    assert after.published == Published(sha=published, generation=3, nonce="n")
    assert (after.fence, after.burned_shas) == (_fence(made), (S,))
    assert [p.kind for p in after.open] == ["comment_create"]
    assert disarming(after, head) is None


@pytest.mark.parametrize(
    ("head", "forces"),
    [(AtPublished(S, True), False), (Foreign(S, X), False), (Tampered(S, X), True), (Tampered(S, None), False)],
)
def test_only_a_branch_that_was_taken_elsewhere_is_forced_back(head: Head, forces: bool) -> None:
    made = disarming(_with(_permit()), head)
    assert made is not None
    assert made.forces is forces


def test_every_withdrawn_head_is_burned_once() -> None:
    record = _with(_permit(), _permit("enqueue"), _permit(sha=X, state="unknown")).model_copy(
        update={"burned_shas": (BASE, S)}
    )
    made = disarming(record, AtPublished(S, True))
    assert made is not None
    assert fenced_off(record, made, F, "cancelled").burned_shas == (BASE, S, X)


@pytest.mark.parametrize(
    ("head", "reopens"),
    [(AtPublished(S, True), None), (Foreign(S, X), None), (Tampered(S, X), 7), (Tampered(S, None), 7)],
)
def test_a_pull_request_that_the_tampering_may_have_closed_is_reopened(head: Head, reopens: int | None) -> None:
    record = _with(_permit()).model_copy(update={"projections": Projections(pr_number=7)})
    made = disarming(record, head)
    assert made is not None
    assert fenced_off(record, made, F, "on hold").projections == Projections(pr_number=7, reopen_pr=reopens)


FENCED = fenced_off(_with(_permit()), Disarming("ticket/42", on=S, before=S), F, "on hold")


@pytest.mark.parametrize(
    ("record", "pull", "outcome"),
    [
        (RECORD, PULL, Fenced),
        (FENCED, None, Fenced),
        (FENCED, PULL, Unresolved),
        (FENCED, replace(PULL, head_sha=F), Fenced),
        (FENCED, replace(PULL, head_sha=F, queued=True), Unresolved),
        (FENCED, replace(PULL, head_sha=X, queued=True), Fenced),
        (FENCED, replace(PULL, head_sha=X), Fenced),
        (FENCED, replace(PULL, state="MERGED"), Landed),
        (FENCED, replace(PULL, state="MERGED", head_sha=F), Landed),
        (FENCED, replace(PULL, state="CLOSED"), Fenced),
    ],
)
def test_the_answer_waits_until_the_pull_request_is_past_what_was_withdrawn(
    record: Record, pull: PullNow | None, outcome: type[Landed | Fenced | Unresolved]
) -> None:
    assert isinstance(resolution(record, pull), outcome)


@pytest.mark.parametrize(
    ("record", "head", "base", "first"),
    [
        (FENCED, S, "release-1", True),
        (FENCED, S, "release-2", False),
        (FENCED, F, "release-1", False),
        (RECORD, S, "release-1", False),
    ],
)
def test_a_merge_that_was_withdrawn_too_late_is_known_by_its_head_and_base(
    record: Record, head: str, base: str, first: bool
) -> None:
    assert came_first(record, head, base) is first


def test_a_branch_is_never_put_back_at_a_withdrawn_head() -> None:
    """Withdrawn below commits of somebody else, the published head stays what it was, and burned."""
    above = fenced_off(_with(_permit()), Disarming("ticket/42", on=X, before=X, takes_over=False), F, "on hold")
    assert above.published == RECORD.published
    assert (to_restore(RECORD, S), to_restore(FENCED, F), to_restore(above, S)) == (S, F, F)
