"""What is decided where a create was carried out late, or refused: no second blocker, no write for nothing."""

from datetime import UTC, datetime, timedelta

import pytest

from app.domain.decide import decide, doubled_check_runs, own_check_run
from app.domain.external_id import Projected
from app.domain.fencing import AtPublished
from app.domain.observation import Branch, CheckRun, Issue, Observation, Pull
from app.domain.plan import CreateComment, CreatePull, ForgetRefusals, Wait, target_of
from app.domain.policy import Policy
from app.domain.record import Lease, Permit, Published, Record, Work
from app.domain.situation import Situation

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
SHA, BASE, ELSEWHERE = "a" * 40, "b" * 40, "c" * 40
ASKED = CreatePull("ticket/42", SHA, "release-1", "work and no PR")
LEASE = Lease(
    generation=2,
    nonce="n",
    holder="agent",
    login="ann",
    claim_id_hash="h",
    granted_at=NOW,
    expires_at=NOW + timedelta(minutes=15),
)


def _refused(action: CreatePull) -> Permit:
    kind, target = target_of(action)
    return Permit(id="p", kind=kind, target=target, author="a", round="r", state="blocked", reason="no", refused_at=NOW)


def _record(*open_: Permit) -> Record:
    return Record(
        ticket=42,
        sequence=9,
        status="working",
        generation=2,
        lease=LEASE,
        work=Work(branch="ticket/42", trunk="release-1", base_sha=BASE),
        published=Published(sha=SHA, generation=2, nonce="n"),
        open=open_,
    )


def _seen(*pulls: Pull, runs: tuple[CheckRun, ...] = ()) -> Observation:
    return Observation(
        now=NOW,
        repository_id=1,
        owner="acme",
        name="shop",
        default_branch="main",
        policy_text=None,
        issue=Issue(42, "Ripen", "", "OPEN", "ann"),
        branches=(Branch("ticket/42", SHA),),
        pulls=pulls,
        check_runs=runs,
    )


def _situation(record: Record, seen: Observation) -> Situation:
    return Situation(seen, record, Policy(), AtPublished(SHA, True), tail=0, author_is_dead=lambda _: True)


def test_while_the_pr_is_refused_no_permit_is_opened_for_its_comment() -> None:
    plan = decide(_situation(_record(_refused(ASKED)), _seen()))
    assert not any(isinstance(action, CreatePull | CreateComment | ForgetRefusals) for action in plan)
    assert any(isinstance(action, Wait) and action.until is not None for action in plan)


@pytest.mark.parametrize("case", ["the PR stands", "the head moved on"])
def test_a_refusal_of_what_is_not_wanted_any_more_is_forgotten(case: str) -> None:
    pull = Pull(50, "PR_50", "OPEN", True, "t", "b", "ticket/42", SHA, "release-1", "acme/shop")
    if case == "the PR stands":
        refused, seen = _refused(ASKED), _seen(pull)
    else:
        refused, seen = _refused(CreatePull("ticket/42", ELSEWHERE, "release-1", "older work")), _seen()
    plan = decide(_situation(_record(refused), seen))
    assert [action.permits for action in plan if isinstance(action, ForgetRefusals)] == [(refused,)]


def _run(number: int, ticket: int, generation: int, sha: str = SHA) -> CheckRun:
    return CheckRun(number, sha, "in_progress", None, str(Projected(ticket, generation, 1, "0" * 12)))


@pytest.mark.parametrize(
    ("runs", "own", "doubles"),
    [
        ([_run(10, 42, 2)], 10, ()),
        ([_run(10, 42, 2), _run(11, 42, 2)], 10, (11,)),
        ([_run(10, 42, 2), _run(11, 42, 1)], 10, (11,)),
        ([_run(9, 42, 1), _run(10, 42, 2)], 10, ()),
        ([_run(10, 42, 2), _run(11, 42, 3)], 10, ()),
        ([_run(10, 42, 2), _run(11, 43, 2), _run(12, 42, 2, ELSEWHERE)], 10, ()),
    ],
    ids=["one", "twice", "an older one late", "an older one before", "a newer one", "another's, and another head's"],
)
def test_which_check_runs_must_say_the_same(runs: list[CheckRun], own: int, doubles: tuple[int, ...]) -> None:
    seen = _seen(runs=tuple(runs))
    assert own_check_run(_record(), seen, SHA) == own
    assert doubled_check_runs(_record(), seen, own, SHA) == doubles
