"""The merge of a release from the wish to its end: nothing but what is authorized and asked for, and an honest end."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from release_scene import (
    APP,
    COMMENT,
    HEAD,
    LEAD,
    MINUTE,
    NOW,
    OTHER,
    PULL,
    SECOND,
    TRUNK,
    evidence,
    green,
    kinds,
    observation,
    permit,
    plan,
    policy,
    pull,
    receipt,
    record,
    role,
    source_comment,
)

from app.domain.landing_evidence import BranchRules
from app.domain.policy import Policy
from app.domain.record import Round
from app.domain.release_actions import DropAsked, MergeRelease, WithdrawMerge, target_of
from app.domain.release_observation import Account, GuardRun, ReleaseObservation, Unread
from app.domain.release_permits import opened
from app.domain.release_record import AskedToMerge, ReleaseRecord, Voided
from app.domain.release_settling import (
    DeclinedRelease,
    MootRelease,
    NotSentRelease,
    UnknownRelease,
    WithdrawnRelease,
    noted,
    settle,
)
from app.domain.required_checks import Checks, Required, RunSeen, StatusSeen
from app.domain.source_comment import CommentGone
from app.domain.surroundings import Tip

ASKED = AskedToMerge(id="6001", by=SECOND, at=NOW - MINUTE, pull=PULL, head_sha=HEAD)
ROUND = Round(id="r1", author="boot-1", tries=0, ttl_s=60, opened_at=NOW)


def ready(**changes: Any) -> ReleaseObservation:
    given = {"pulls": (pull(is_draft=False),), "guard_runs": (green(),), "evidence": evidence()}
    return observation(**{**given, **changes})


def asking(*words: Any, **changes: Any) -> ReleaseRecord:
    return record(*(words or (receipt(),)), **{"asked": ASKED, **changes})


def test_what_is_authorized_and_asked_for_is_merged_at_exactly_that_commit() -> None:
    (merge,) = plan(ready(), asking())
    assert isinstance(merge, MergeRelease)
    assert (merge.number, merge.head_sha, merge.base, merge.method) == (PULL, HEAD, "main", "merge")
    assert (merge.authorized_by, merge.asked_by) == ((str(COMMENT),), "6001")
    kind, target = target_of(merge)
    assert (kind, target.head_sha, target.base, target.number) == ("release_merge", HEAD, "main", PULL)


def test_nobody_asked_so_nothing_is_merged_however_green_and_authorized() -> None:
    assert plan(ready(), record(receipt())) == ()


def test_the_steps_before_it() -> None:
    draft = ready(pulls=(pull(is_draft=True),))
    assert kinds(plan(draft, asking())) == ["SetReleaseDraft", "WaitRelease"]
    for runs in ((), (green(OTHER),), (green(), replace(green(), id=40, conclusion="action_required"))):
        assert kinds(plan(ready(guard_runs=runs), asking())) == ["WaitRelease"]


def _checks(*runs: RunSeen, statuses: tuple[StatusSeen, ...] = (), sha: str = HEAD, after: str = HEAD) -> Checks:
    return Checks(sha, after, runs, statuses)


CI = RunSeen("ci", "completed", "success", 15, 1, 1)
FREE, TALKED = BranchRules(), BranchRules(conversations=True)
OURS, RED = RunSeen("Agent Recovery", "queued", None), RunSeen("lint", "completed", "failure")
ERROR = StatusSeen("x", "error")
GATE: list[tuple[str, dict[str, Any], str]] = [
    ("green", {}, "MergeRelease"),
    ("a required check failed", {"checks": _checks(replace(CI, conclusion="failure"))}, "DropAsked"),
    ("a required check is stale", {"checks": _checks(replace(CI, conclusion="stale"))}, "DropAsked"),
    ("a required check runs", {"checks": _checks(replace(CI, status="queued", conclusion=None))}, "WaitRelease"),
    ("a required check is missing", {"checks": _checks()}, "WaitRelease"),
    ("the checks are of another commit", {"checks": _checks(CI, sha=OTHER, after=OTHER)}, "WaitRelease"),
    ("the head moved meanwhile", {"checks": _checks(CI, after=OTHER)}, "WaitRelease"),
    ("nothing required, nothing reported", {"rules": FREE, "checks": _checks()}, "MergeRelease"),
    (
        "nothing required, ours alone",
        {"rules": FREE, "checks": _checks(RunSeen("Agent Recovery", "queued", None))},
        "MergeRelease",
    ),
    (
        "nothing required, one red",
        {"rules": FREE, "checks": _checks(CI, RunSeen("lint", "completed", "failure"))},
        "DropAsked",
    ),
    (
        "nothing required, a red status",
        {"rules": FREE, "checks": _checks(statuses=(StatusSeen("x", "error"),))},
        "DropAsked",
    ),
    ("a reviewer asked for changes", {"review": "CHANGES_REQUESTED"}, "DropAsked"),
    ("a review is missing", {"review": "REVIEW_REQUIRED"}, "DropAsked"),
    ("approvals are asked for", {"rules": BranchRules(approvals=1)}, "DropAsked"),
    (
        "an open conversation that is to be resolved",
        {"rules": BranchRules(conversations=True), "open_conversations": 1},
        "DropAsked",
    ),
    ("an open conversation", {"open_conversations": 1}, "MergeRelease"),
    ("a conflict", {"mergeable": "CONFLICTING"}, "DropAsked"),
    ("not known whether it conflicts", {"mergeable": "UNKNOWN"}, "WaitRelease"),
    ("behind where that is forbidden", {"rules": BranchRules(strict=True), "merge_state": "BEHIND"}, "DropAsked"),
    ("a merge queue", {"rules": BranchRules(queue=True)}, "DropAsked"),
    ("squash alone", {"rules": BranchRules(methods=frozenset({"squash"}))}, "DropAsked"),
]


@pytest.mark.parametrize(("seen", "wanted"), [c[1:] for c in GATE], ids=[c[0] for c in GATE])
def test_what_github_asks_of_it(seen: dict[str, Any], wanted: str) -> None:
    assert kinds(plan(ready(evidence=evidence(**seen)), asking())) == [wanted]


def test_the_way_of_tickets_is_taken_where_merge_commits_are_forbidden() -> None:
    says = Policy.model_validate({"mode": "full", "landing": {"method": "squash"}})
    seen = ready(evidence=evidence(rules=BranchRules(methods=frozenset({"squash", "rebase"}))))
    (merge,) = plan(seen, asking(), says)
    assert merge.method == "squash"


def test_the_policys_checks_count_as_well() -> None:
    says = Policy.model_validate({"mode": "full", "landing": {"checks": ["e2e"]}})
    assert kinds(plan(ready(), asking(), says)) == ["WaitRelease"]


OVER: list[tuple[str, dict[str, Any], Policy, dict[str, Any]]] = [
    ("mode repair", {}, policy("repair"), {}),
    ("the wish is of another commit", {}, policy(), {"asked": ASKED.model_copy(update={"head_sha": OTHER})}),
    ("the wish is of another PR", {}, policy(), {"asked": ASKED.model_copy(update={"pull": 9})}),
    ("the wish is old", {}, policy(), {"asked": ASKED.model_copy(update={"at": NOW - timedelta(minutes=15)})}),
    ("more persons are needed", {}, policy(approvals=2), {}),
    ("the comment was deleted", {"sources": {COMMENT: CommentGone(COMMENT)}}, policy(), {}),
    ("the role is gone", {"roles": {1: role(LEAD, "read")}}, policy(), {}),
    ("two PRs", {"pulls": (pull(is_draft=False), pull(number=8))}, policy(), {}),
    ("the PR is closed", {"pulls": (pull(state="CLOSED"),)}, policy(), {}),
    ("the base is another", {"pulls": (pull(base="x"),)}, policy(), {}),
]


@pytest.mark.parametrize(("seen", "says", "known"), [c[1:] for c in OVER], ids=[c[0] for c in OVER])
def test_a_wish_ends_with_the_first_reason_against_it(
    seen: dict[str, Any], says: Policy, known: dict[str, Any]
) -> None:
    actions = plan(ready(**seen), asking(**known), says)
    assert "MergeRelease" not in kinds(actions)
    assert "DropAsked" in kinds(actions)
    (drop,) = [a for a in actions if isinstance(a, DropAsked)]
    assert noted(asking(**known), drop).asked is None


def test_a_wish_waits_for_what_only_takes_time_and_not_for_ever() -> None:
    seen = ready(sources={COMMENT: Unread("500")})
    assert kinds(plan(seen, asking())) == ["WaitRelease"]
    late = replace(seen, now=ASKED.at + timedelta(minutes=15))
    assert kinds(plan(late, asking())) == ["DropAsked"]


# --- a merge at the door ----------------------------------------------------------------------------------------------

FIRED = permit()
UNKNOWN = permit(state="unknown", unanswered=True)


def _gone(seen: dict[str, Any], voided: str | None = None) -> tuple[ReleaseObservation, ReleaseRecord]:
    word = receipt() if voided is None else receipt(voided=Voided.model_validate({"why": voided, "at": NOW, "by": "x"}))
    return ready(**seen), asking(word, open=(FIRED,), round=ROUND, asked=None)


DOOR: list[tuple[str, dict[str, Any], str | None]] = [
    ("revoked", {}, "revoked"),
    ("expired", {"now": NOW + timedelta(days=2)}, None),
    ("the comment was deleted", {"sources": {COMMENT: CommentGone(COMMENT)}}, None),
    ("the comment was edited", {"sources": {COMMENT: source_comment(edited=True)}}, None),
    ("the role is gone", {"roles": {1: role(LEAD, "write")}}, None),
    ("the base was changed", {"pulls": (pull(base="develop", is_draft=False),)}, None),
    ("the PR was closed", {"pulls": (pull(state="CLOSED"),)}, None),
    ("a second PR came", {"pulls": (pull(is_draft=False), pull(number=8))}, None),
]


@pytest.mark.parametrize(("seen", "voided"), [c[1:] for c in DOOR], ids=[c[0] for c in DOOR])
@pytest.mark.parametrize("dead", [True, False], ids=["author dead", "author alive"])
def test_a_merge_at_the_door_is_taken_back_before_anything_else(
    seen: dict[str, Any], voided: str | None, dead: bool
) -> None:
    o, known = _gone(seen, voided)
    actions = plan(o, known, dead=dead)
    *first, back, wait = actions
    assert {type(a).__name__ for a in first} <= {"VoidAuthorizations"}
    assert isinstance(back, WithdrawMerge)
    assert (back.permits, back.head_sha) == ((FIRED,), HEAD)
    assert type(wait).__name__ == "WaitRelease"
    after = settle(known, (WithdrawnRelease(FIRED, back.reason),))
    assert after.open[0].state == "withdrawn"
    assert "WithdrawMerge" not in kinds(plan(o, after, dead=dead))
    assert "MergeRelease" not in kinds(plan(o, after, dead=dead))


def test_what_nobody_could_read_takes_nothing_back_and_sends_nothing() -> None:
    o = ready(sources={COMMENT: Unread("500")})
    actions = plan(o, asking(open=(FIRED,), round=ROUND), dead=False)
    assert kinds(actions) == ["WaitRelease"]
    assert kinds(plan(o, asking(open=(FIRED,), round=ROUND))) == ["WaitRelease"]


def test_once_the_head_moved_nothing_can_come_of_it() -> None:
    moved = ready(pulls=(pull(head_sha=OTHER),), trunk=Tip(TRUNK, OTHER, "x" * 40))
    for state in ("fired", "unknown", "withdrawn"):
        known = asking(open=(permit(state=state, unanswered=True),), asked=None)
        actions = plan(moved, known, dead=False)
        (forget,) = [a for a in actions if type(a).__name__ == "ForgetReleasePermits"]
        assert noted(known, forget).merges_open == ()


def test_while_branch_and_pr_disagree_it_may_still_come() -> None:
    half = ready(trunk=Tip(TRUNK, OTHER, "x" * 40))
    assert "ForgetReleasePermits" not in kinds(plan(half, asking(open=(UNKNOWN,), asked=None)))


def test_a_merge_whose_author_died_goes_on_while_it_is_authorized_and_asked_for() -> None:
    (adopt,) = plan(ready(), asking(open=(FIRED,)))
    assert type(adopt).__name__ == "AdoptRelease"
    assert adopt.again == (FIRED,)
    assert kinds(plan(ready(), asking(open=(FIRED,), round=ROUND), dead=False)) == ["WaitRelease"]


def test_a_merge_whose_author_died_and_that_nobody_asks_for_is_taken_back() -> None:
    known = asking(open=(UNKNOWN,), asked=None)
    back, _ = plan(ready(), known)
    assert isinstance(back, WithdrawMerge)
    old = asking(open=(UNKNOWN,), asked=ASKED.model_copy(update={"at": NOW - timedelta(hours=1)}))
    assert "WithdrawMerge" in kinds(plan(ready(), old))


def test_a_withdrawn_merge_is_nobodys_to_take_over_and_a_new_word_replaces_it() -> None:
    taken = permit(state="withdrawn", unanswered=True)
    assert plan(ready(), record(receipt(), open=(taken,))) == ()
    (merge,) = plan(ready(), asking(open=(taken,)))
    assert isinstance(merge, MergeRelease)
    new = permit(id="p2", target=target_of(merge)[1])
    after = opened(asking(open=(taken,)), (new,), round_id="r2", author="boot-2", now=NOW)
    (only,) = after.open
    assert (only.id, only.unanswered, only.state) == ("p2", True, "fired")


# --- answers ----------------------------------------------------------------------------------------------------------


def test_answers_to_a_merge() -> None:
    known = asking(open=(FIRED,))
    refused = settle(known, (DeclinedRelease(FIRED, "Required status check\n\x1b[31m x", NOW),))
    assert (refused.open[0].state, refused.open[0].reason, refused.asked) == (
        "blocked",
        "Required status check [31m x",
        None,
    )
    assert refused.merges_open == ()
    late = settle(asking(open=(UNKNOWN,)), (DeclinedRelease(UNKNOWN, "no", NOW),))
    assert (late.open[0].state, late.open[0].unanswered) == ("unknown", True)
    assert late.merges_open
    silent = settle(known, (UnknownRelease(FIRED),))
    assert (silent.open[0].state, silent.open[0].unanswered) == ("unknown", True)
    assert silent.asked == ASKED
    assert settle(known, (MootRelease(FIRED),)).open == ()
    assert settle(known, (NotSentRelease(FIRED),)).open == ()
    adopted = FIRED.model_copy(update={"author": "boot-2", "unanswered": True})
    assert settle(asking(open=(adopted,)), (NotSentRelease(FIRED),)).open == (adopted,)
    assert settle(known, (MootRelease(permit(id="gone")),)) == known


# --- whatever the world --------------------------------------------------------------------------------------------

_PULLS = st.builds(
    lambda **c: pull(**c),
    state=st.sampled_from(["OPEN", "OPEN", "OPEN", "CLOSED", "MERGED"]),
    head_sha=st.sampled_from([HEAD, HEAD, OTHER]),
    base=st.sampled_from(["main", "main", "develop"]),
    is_draft=st.booleans(),
    auto_merge=st.booleans(),
    queued=st.booleans(),
    author=st.sampled_from([APP, APP, Account("lead", 1)]),
)
_SEEN = st.builds(
    lambda pulls, **c: ready(pulls=tuple(replace(p, number=PULL + n) for n, p in enumerate(pulls)), **c),
    st.lists(_PULLS, min_size=1, max_size=2),
    trunk=st.sampled_from([Tip(TRUNK, HEAD, "t" * 40), Tip(TRUNK, HEAD, "t" * 40), Tip(TRUNK, OTHER, "x" * 40), None]),
    sources=st.sampled_from(
        [{COMMENT: source_comment()}] * 3 + [{COMMENT: source_comment(edited=True)}, {COMMENT: Unread("5")}, {}]
    ),
    roles=st.sampled_from([{1: role(LEAD)}, {1: role(LEAD)}, {1: role(LEAD, "write")}, {}]),
    guard_runs=st.sampled_from([(green(),), (green(),), (), (GuardRun(1, HEAD, "completed", "neutral", ""),)]),
    lease_accounts=st.sampled_from([frozenset(), frozenset(), frozenset({"lead"}), Unread("x")]),
    evidence=st.sampled_from([evidence(), evidence(), None, evidence(mergeable="UNKNOWN")]),
)
_KNOWN = st.builds(
    lambda words, **c: record(*words, **c),
    st.lists(
        st.sampled_from(
            [
                receipt(),
                receipt(head_sha=OTHER),
                receipt(expires_at=NOW),
                receipt(voided=Voided(why="revoked", at=NOW)),
                receipt(base="develop"),
            ]
        ),
        max_size=2,
    ),
    asked=st.sampled_from([ASKED, ASKED, None, ASKED.model_copy(update={"head_sha": OTHER})]),
    open=st.sampled_from([(), (FIRED,), (UNKNOWN,), (permit(state="withdrawn", unanswered=True),)]),
)


@given(seen=_SEEN, known=_KNOWN, mode=st.sampled_from(["observe", "repair", "full"]), dead=st.booleans())
def test_no_world_merges_what_is_not_authorized_and_asked_for(
    seen: ReleaseObservation, known: ReleaseRecord, mode: str, dead: bool
) -> None:
    actions = plan(seen, known, policy(mode), dead=dead)
    sent = [a for a in actions if isinstance(a, MergeRelease)]
    adopted = [p for a in actions if type(a).__name__ == "AdoptRelease" for p in a.again if p.kind == "release_merge"]
    if not sent and not adopted:
        return
    (pull_,) = [p for p in seen.pulls if p.state == "OPEN" and p.base == "main"]
    assert mode == "full"
    assert known.asked == ASKED
    assert (pull_.head_sha, pull_.is_draft, pull_.author) == (HEAD, False, APP)
    assert seen.trunk is not None
    assert seen.trunk.sha == HEAD
    assert receipt() in known.authorizations
    assert seen.sources == {COMMENT: source_comment()}
    assert seen.roles == {1: role(LEAD)}
    assert seen.lease_accounts == frozenset()
    assert seen.guard_runs == (green(),)
    assert seen.evidence == evidence()


@given(seen=_SEEN, known=_KNOWN, mode=st.sampled_from(["repair", "full"]), dead=st.booleans())
def test_what_may_still_come_is_never_forgotten_while_its_head_stands(
    seen: ReleaseObservation, known: ReleaseRecord, mode: str, dead: bool
) -> None:
    stands = seen.trunk is not None and seen.trunk.sha == HEAD
    for action in plan(seen, known, policy(mode), dead=dead):
        if type(action).__name__ == "ForgetReleasePermits" and stands:
            assert all(not p.unanswered for p in action.permits if p.kind == "release_merge")


def test_rules_may_require_the_guard_itself() -> None:
    rules = BranchRules(required=(Required("Agent Recovery / release", 111),))
    assert kinds(plan(ready(evidence=evidence(rules=rules, checks=_checks())), asking())) == ["MergeRelease"]
