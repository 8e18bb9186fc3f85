"""The decision's invariants over worlds of every kind: it comes to rest, and it never does too much."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.decide import decide
from app.domain.external_id import Projected
from app.domain.fencing import AtPublished, Foreign, Head, NothingPublished, Tampered
from app.domain.handoff_marker import marker_of
from app.domain.observation import Branch, CheckRun, Comment, Issue, Observation, Pull
from app.domain.plan import (
    Adopt,
    CreateCheckRun,
    CreateComment,
    CreatePull,
    Guarded,
    PullIsClosed,
    RemoveComment,
    ReopenPull,
    RestoreBranch,
    SetDraft,
    Wait,
)
from app.domain.policy import Policy
from app.domain.record import Drafting, Lease, Permit, Projections, Published, Record, Target, Work
from app.domain.situation import Situation

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
P, X, BASE = "a" * 40, "d" * 40, "b" * 40
LEASE = Lease(
    generation=3,
    nonce="n",
    holder="agent",
    login="ann",
    claim_id_hash="h",
    granted_at=NOW,
    expires_at=NOW + timedelta(minutes=15),
)
HEADS: list[Head] = [
    NothingPublished(None),
    AtPublished(P, True),
    AtPublished(P, False),
    Foreign(P, X),
    Tampered(P, None),
    Tampered(P, X),
]
PERMIT = Permit(id="p", kind="comment_create", target=Target(marker="m"), author="a", round="r", state="fired")


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    head = draw(st.sampled_from(HEADS))
    comments = tuple(Comment(i, marker_of(42) + "\n", NOW) for i in range(draw(st.integers(0, 3))))
    pulls = tuple(
        Pull(
            number,
            f"PR_{number}",
            draw(st.sampled_from(["OPEN", "CLOSED"])),
            draw(st.booleans()),
            "t",
            "b",
            "ticket/42",
            P,
            "release-1",
            draw(st.sampled_from(["acme/shop", "mallory/shop", None])),
            comments=comments,
        )
        for number in draw(st.sampled_from([(), (50,), (51, 50)]))
    )
    generations = draw(st.lists(st.integers(1, 4), max_size=4))
    sha = X if isinstance(head, Foreign) else P
    runs = tuple(
        CheckRun(i, sha, "completed", None, str(Projected(42, g, 1, "0" * 12))) for i, g in enumerate(generations)
    )
    record = Record(
        ticket=42,
        sequence=9,
        status=draw(st.sampled_from(["working", "ready", "waiting", "recovering", "cancelled"])),
        generation=3,
        lease=LEASE,
        work=Work(branch="ticket/42", trunk="release-1", base_sha=BASE),
        published=None if isinstance(head, NothingPublished) else Published(sha=P, generation=3, nonce="n"),
        open=draw(st.sampled_from([(), (), (PERMIT,)])),
        projections=Projections(
            pr_number=draw(st.sampled_from([None, 50])),
            reopen_pr=draw(st.sampled_from([None, 50])),
            drafting=draw(st.sampled_from([Drafting(), Drafting(by="ann", ready=True, clicked="c")])),
        ),
    )
    issue = Issue(42, "t", "", draw(st.sampled_from(["OPEN", "OPEN", "CLOSED"])), "ann")
    seen = Observation(
        NOW, 1, "acme", "shop", "main", None, issue, False, (Branch("ticket/42", sha),), None, pulls, runs
    )
    return Situation(seen, record, Policy(), head, tail=0, author_is_dead=lambda _: True)


@settings(max_examples=400, deadline=None)
@given(situations())
def test_no_decision_does_too_much(s: Situation) -> None:
    plan = decide(s)
    kinds = [type(action) for action in plan]
    assert all(action.reason for action in plan)
    for once in (CreatePull, CreateComment, CreateCheckRun, RestoreBranch, ReopenPull, SetDraft):
        assert kinds.count(once) <= 1
    if s.record.open:
        assert not any(isinstance(action, Guarded) for action in plan)
        assert kinds in ([Adopt], [Wait])
    if RestoreBranch in kinds:
        assert isinstance(s.head, Tampered)
    own = {p.number: p for p in s.observation.pulls if p.head_repository == "acme/shop"}
    for action in plan:
        if isinstance(action, ReopenPull | SetDraft | PullIsClosed):
            assert action.number in own
        if isinstance(action, ReopenPull):
            assert action.number == s.record.projections.reopen_pr
        if isinstance(action, RemoveComment):
            # The oldest of ours stays.
            assert action.comment_id != 0
    if s.record.status == "cancelled" or (s.observation.issue and s.observation.issue.state == "CLOSED"):
        assert all(isinstance(action, Wait | Adopt) for action in plan)


def _done(s: Situation) -> Situation:
    """The model of the world after the plan's writes to GitHub were carried out."""
    seen, record = s.observation, s.record
    for action in decide(s):
        if isinstance(action, CreatePull):
            pull = Pull(60, "PR_60", "OPEN", True, "t", "b", action.head, P, action.base, "acme/shop")
            seen = replace(seen, pulls=(pull, *seen.pulls))
            record = record.model_copy(update={"projections": Projections(pr_number=60)})
        elif isinstance(action, CreateComment):
            comment = Comment(70, action.marker, NOW)
            seen = replace(seen, pulls=tuple(replace(p, comments=(*p.comments, comment)) for p in seen.pulls))
        elif isinstance(action, CreateCheckRun):
            run = CheckRun(80, action.head_sha, "queued", None, str(Projected(42, action.generation, 1, "0" * 12)))
            seen = replace(seen, check_runs=(*seen.check_runs, run))
    return replace(s, observation=seen, record=record)


@settings(max_examples=400, deadline=None)
@given(situations())
def test_what_was_created_is_not_created_again(s: Situation) -> None:
    again = decide(_done(s))
    if not s.record.open:
        assert not any(isinstance(action, Guarded) for action in again)
