"""Which writes of a holder pass the fence, and what they make of the record."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.domain.admitted_again import admitted_again
from app.domain.checkpoint import MAX_BYTES, Checkpoint, Step
from app.domain.fence import not_ready, other_request, out_of_order, present_lease
from app.domain.fencing import AtPublished, Foreign, Head, NothingPublished, Tampered
from app.domain.observation import CheckRun, Observation
from app.domain.outcome import Blocked, Code
from app.domain.progress import alive, handed_off, progressed, recovered
from app.domain.record import Answered, Attempts, Lease, Permit, Published, Record, Target, Work
from app.domain.token import Claims

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
HEAD, BASE = "a" * 40, "b" * 40
LEASE = Lease(
    generation=2,
    nonce="n2",
    holder="agent",
    login="ann",
    claim_id_hash="h",
    granted_at=NOW - timedelta(hours=1),
    expires_at=NOW - timedelta(minutes=45),
)
RECORD = Record(
    ticket=42,
    sequence=9,
    status="working",
    generation=2,
    lease=LEASE,
    work=Work(branch="ticket/42", trunk="release-1", base_sha=BASE),
    published=Published(sha=HEAD, generation=1, nonce="n1"),
)
MINE = Claims(repository_id=7, ticket=42, generation=2, nonce="n2")
SEEN = Observation(NOW, 7, "acme", "shop", "main", None, None)


def _changed(**fields: Any) -> Record:
    return RECORD.model_copy(update=fields)


@pytest.mark.parametrize(
    ("record", "claims", "code"),
    [
        (RECORD, MINE, None),  # past its expiry, but nobody took over: still the present one
        (RECORD, Claims(7, 42, 1, "n2"), Code.STALE_GENERATION),
        (RECORD, Claims(7, 42, 3, "n2"), Code.STALE_GENERATION),  # a higher number is no better: equality only
        (RECORD, Claims(7, 42, 2, "n1"), Code.STALE_GENERATION),
        (RECORD, Claims(7, 43, 2, "n2"), Code.STALE_GENERATION),
        (RECORD, Claims(8, 42, 2, "n2"), Code.STALE_GENERATION),
        (_changed(lease=None, status="unclaimed"), MINE, Code.STALE_GENERATION),
        (_changed(status="held"), MINE, Code.HELD),
        (_changed(status="cancelled"), MINE, Code.ENDED),
        (_changed(status="landed"), Claims(7, 42, 1, "n1"), Code.ENDED),
    ],
)
def test_only_the_present_lease_of_this_very_ticket_passes(record: Record, claims: Claims, code: Code | None) -> None:
    answer = present_lease(record, claims, repository_id=7, ticket=42)
    assert (answer.code if isinstance(answer, Blocked) else None) is code
    if code is None:
        assert answer == LEASE


@pytest.mark.parametrize(("seq", "late"), [(1, True), (4, True), (5, True), (6, False), (900, False)])
def test_numbers_of_one_lease_only_rise(seq: int, late: bool) -> None:
    done = (
        Answered(key="k1", seq=5, generation=2, answer={}),
        Answered(key="k2", seq=3, generation=2, answer={}),
        Answered(key="k3", seq=800, generation=1, answer={}),  # an earlier holder counted for itself
    )
    blocked = out_of_order(_changed(requests=done), MINE, seq)
    assert (blocked is not None) is late
    assert blocked is None or blocked.code is Code.STALE_REQUEST


@pytest.mark.parametrize(
    ("head", "code"),
    [
        (AtPublished(HEAD, True), None),
        (AtPublished(HEAD, False), Code.NOT_PUBLISHED),
        (Foreign(HEAD, BASE), Code.FOREIGN_COMMITS),
        (Tampered(HEAD, None), Code.NOT_PUBLISHED),
        (NothingPublished(None), Code.NOT_PUBLISHED),
        (None, Code.NOT_PUBLISHED),
    ],
)
def test_ready_needs_a_fenced_head(head: Head | None, code: Code | None) -> None:
    blocked = not_ready(head)
    assert (blocked.code if blocked else None) is code


def test_what_was_not_sent_stays_and_what_is_too_large_is_refused() -> None:
    before = _changed(checkpoint=Checkpoint(objective="ripen", next_steps=(Step(text="water"),)))
    after = progressed(before, Checkpoint(blockers=("rain",)), "waiting", SEEN)
    assert isinstance(after, Record)
    assert (after.status, after.checkpoint.status, after.checkpoint.objective) == ("waiting", "waiting", "ripen")
    assert (after.checkpoint.blockers, after.checkpoint.next_steps) == (("rain",), (Step(text="water"),))
    half = "x" * (MAX_BYTES * 2 // 3)
    grown = progressed(_changed(checkpoint=Checkpoint(objective=half)), Checkpoint(current_diff=half), "working", SEEN)
    assert isinstance(grown, Blocked)
    assert grown.code is Code.CHECKPOINT_TOO_LARGE


def test_every_write_of_the_holder_renews_its_lease_also_past_its_expiry() -> None:
    kept = alive(RECORD.model_copy(update={"renewals": 3}), ttl=timedelta(minutes=15), now=NOW)
    assert kept.lease is not None
    assert kept.identity == RECORD.identity
    assert (kept.lease.expires_at, kept.lease.renewed_at) == (NOW + timedelta(minutes=15), NOW)
    assert (kept.lease.renewals_seen, kept.attempts.alive_at) == (3, NOW)
    for record in (RECORD.model_copy(update={"lease": None}), RECORD.model_copy(update={"status": "completed"})):
        assert alive(record, ttl=timedelta(minutes=15), now=NOW) == record


def test_a_handoff_leaves_nobody_and_no_attempts() -> None:
    after = handed_off(_changed(attempts=Attempts(count=3, interrupted_at=NOW)), now=NOW)
    assert (after.lease, after.status, after.checkpoint.status) == (None, "unclaimed", "unclaimed")
    assert (after.generation, after.attempts) == (2, Attempts())


@pytest.mark.parametrize(
    ("record", "sha", "published"),
    [
        (RECORD, HEAD, ("a", 2, "n2")),
        (_changed(burned_shas=(HEAD,)), HEAD, ("a", 1, "n1")),
        (_changed(published=None), BASE, None),
    ],
)
def test_evidence_stamps_the_published_head_anew_unless_it_is_burned(
    record: Record, sha: str, published: tuple[str, int, str] | None
) -> None:
    after = recovered(record.model_copy(update={"status": "recovering"}), LEASE, sha, SEEN)
    assert isinstance(after, Record)
    assert (after.status, after.checkpoint.status, after.checkpoint.execution_generation) == ("working", "working", 2)
    assert admitted_again(after) == after, "what is shown of the record differs from what it holds"
    p = after.published
    assert ((p.sha[0], p.generation, p.nonce) if p else None) == published


@pytest.mark.parametrize("record", [RECORD, _changed(published=None)])
def test_evidence_of_another_commit_is_refused(record: Record) -> None:
    answer = recovered(record, LEASE, "c" * 40, SEEN)
    assert isinstance(answer, Blocked)
    assert answer.code is Code.BRANCH_MOVED


def test_evidence_settles_the_claims_own_check_run_where_it_is_seen() -> None:
    permit = Permit(
        id="p",
        kind="check_run_create",
        target=Target(head_sha=HEAD, generation=2),
        author="x",
        round="claim",
    )
    run = CheckRun(5, HEAD, "in_progress", None, "42:2:8:" + "0" * 12)
    seen = Observation(NOW, 7, "acme", "shop", "main", None, None, check_runs=(run,))
    for observation, left in ((seen, ()), (SEEN, (permit,))):
        after = recovered(_changed(open=(permit,)), LEASE, HEAD, observation)
        assert isinstance(after, Record)
        assert after.open == left


@pytest.mark.parametrize(
    ("stored", "asked", "refused"),
    [
        ("checkpoint", "checkpoint", False),
        ("checkpoint", "handoff", True),
        ("push", "checkpoint", True),
        ("", "x", False),
    ],
)
def test_a_key_answers_one_kind_of_call(stored: str, asked: str, refused: bool) -> None:
    answered = Answered(key="key-1234", seq=1, generation=2, answer={}, to=stored)
    blocked = other_request(answered, asked)
    assert (blocked is not None) == refused
    assert blocked is None or (blocked.code is Code.USAGE and stored in blocked.reason)
