"""What a person ended is left alone: a closed Issue, a merged PR whose branch GitHub deleted."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.domain.decide import decide
from app.domain.fencing import AtPublished, Tampered
from app.domain.observation import Branch, Issue, Observation, Pull
from app.domain.plan import Adopt, CreatePull, RestoreBranch, Wait, target_of
from app.domain.policy import Policy
from app.domain.record import Lease, Permit, Projections, Published, Record, Work
from app.domain.situation import Situation

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
HEAD, BASE = "a" * 40, "b" * 40
RECORD = Record(
    ticket=42,
    sequence=9,
    status="working",
    generation=1,
    lease=Lease(
        generation=1,
        nonce="n",
        holder="agent",
        login="ann",
        claim_id_hash="h",
        granted_at=NOW,
        expires_at=NOW + timedelta(minutes=15),
    ),
    work=Work(branch="ticket/42", trunk="release-1", base_sha=BASE),
    published=Published(sha=HEAD, generation=1, nonce="n"),
    projections=Projections(pr_number=50),
)
PULL = Pull(50, "PR_50", "OPEN", True, "t", "Ticket: #42", "ticket/42", HEAD, "release-1", "acme/shop")
SEEN = Observation(
    now=NOW,
    repository_id=1,
    owner="acme",
    name="shop",
    default_branch="main",
    policy_text=None,
    issue=Issue(42, "Ripen the apples", "", "OPEN", "ann"),
    branches=(Branch("ticket/42", HEAD),),
    trunk=Branch("release-1", BASE),
    pulls=(PULL,),
)


def _decide(seen: Observation, head: AtPublished | Tampered) -> tuple[object, ...]:
    return decide(Situation(seen, RECORD, Policy(), head, tail=0, author_is_dead=lambda _: False))


def test_a_deleted_branch_of_an_open_pr_is_put_back() -> None:
    plan = _decide(replace(SEEN, branches=()), Tampered(HEAD, None))
    assert [type(action) for action in plan] == [RestoreBranch]


@pytest.mark.parametrize("head", [Tampered(HEAD, None), Tampered(HEAD, "c" * 40), AtPublished(HEAD, True)])
def test_nothing_is_done_against_a_merge(head: AtPublished | Tampered) -> None:
    (wait,) = _decide(replace(SEEN, branches=(), pulls=(replace(PULL, state="MERGED"),)), head)
    assert isinstance(wait, Wait)
    assert wait.reason.startswith("PR #50 was merged")


@pytest.mark.parametrize("head", [Tampered(HEAD, None), AtPublished(HEAD, True)])
@pytest.mark.parametrize("issue", [Issue(42, "t", "", "CLOSED", None), None])
def test_nothing_is_done_against_a_closed_issue(head: AtPublished | Tampered, issue: Issue | None) -> None:
    assert _decide(replace(SEEN, branches=(), issue=issue), head) == (Wait("the Issue is closed or gone"),)


@pytest.mark.parametrize(("state", "goes_again"), [("OPEN", True), ("CLOSED", False)])
def test_an_orphaned_permit_is_sent_again_only_while_its_decision_stands(state: str, goes_again: bool) -> None:
    kind, target = target_of(CreatePull("ticket/42", HEAD, "release-1", ""))
    permit = Permit(id="p", kind=kind, target=target, author="gone", round="r", unanswered=True)
    record = RECORD.model_copy(update={"open": (permit,), "projections": Projections()})
    seen = replace(SEEN, pulls=(), issue=Issue(42, "Ripen the apples", "", state, "ann"))
    plan = decide(Situation(seen, record, Policy(), AtPublished(HEAD, True), tail=0, author_is_dead=lambda _: True))
    assert [type(action) for action in plan] == [Adopt]
    assert isinstance(plan[0], Adopt)
    assert plan[0].permits == (permit,)
    assert plan[0].again == ((permit,) if goes_again else ())
