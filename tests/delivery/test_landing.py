"""Every condition of landing, one case each at least, and what lands when nothing is in the way."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.checkpoint import Checkpoint
from app.domain.effect import Effect
from app.domain.fencing import AtPublished, Foreign, NothingPublished, Tampered, Unheld
from app.domain.landing import (
    Behind,
    Land,
    NotLanding,
    NotYet,
    Queue,
    action_of,
    decide_landing,
    in_its_way,
    wanted,
)
from app.domain.landing_actions import Enqueue, Merge, UpdateBranch
from app.domain.landing_blocker import MEANINGS, BlockerCode
from app.domain.observation import Issue
from app.domain.plan import target_of
from app.domain.policy import Mode, ReleasePolicy
from app.domain.record import AskedToLand, Landing, Merged, Permit, Work
from app.domain.required_checks import Required, StatusSeen
from app.domain.situation import Situation
from app.domain.surroundings import Asked, Distance, Linked, OtherPull, Predecessor
from app.domain.validation import Validation, version_of
from tests.delivery.landing_scene import GREEN, situation
from tests.domain.recovery_scene import BASE, HEAD, NOW, OTHER, RECORD

C = BlockerCode
ASKED = {"status": "working", "landing": Landing(asked=AskedToLand(by="ann", at=NOW, head_sha=HEAD))}
ASKED_OTHER = {"status": "working", "landing": Landing(asked=AskedToLand(by="ann", at=NOW, head_sha=OTHER))}
VERIFY = {"verify": (("pytest", "-q"),)}
UNKNOWN_EFFECT = Effect(key="deploy-1", kind="deploy", state="unknown", generation=2, nonce="n2")
CLOSED = Issue(number=42, title="t", body="", state="CLOSED", author="octo")
STACKED = Checkpoint(predecessor_issue_or_pr=41, predecessor_sha=BASE)


def _stack(state: str, sha: str = BASE, **more: Any) -> dict[str, Any]:
    pull = OtherPull(41, state, False, "ticket/41", sha, "release-1", True)
    return {
        "asked": Asked(predecessor=41, predecessor_sha=BASE),
        "predecessor": Predecessor(41, "pull", state, pull=pull),
        **more,
    }


def _validated(**fields: Any) -> dict[str, Any]:
    made = Validation(profile="verify", version=version_of(VERIFY["verify"]), **{"validated_sha": HEAD, **fields})
    return {"validations": (made.model_dump(mode="json", exclude_defaults=True),)}


def _run(**fields: Any) -> dict[str, Any]:
    return {"runs": (replace(GREEN, **fields),)}


CASES: list[tuple[str, Situation, set[BlockerCode]]] = [
    ("nothing in the way", situation(), set()),
    # Who decides
    ("repair merges nothing", situation(policy={"mode": Mode.REPAIR}), {C.MODE}),
    ("observe merges nothing", situation(policy={"mode": Mode.OBSERVE}), {C.MODE}),
    ("on hold", situation(record={"status": "held"}), {C.HELD}),
    ("an incident", situation(record={"status": "held", "landing": Landing(incident="base differs")}), {C.INCIDENT}),
    ("Issue closed", situation(world={"issue": CLOSED}), {C.ISSUE_CLOSED}),
    ("Issue gone", situation(world={"issue": None}), {C.ISSUE_CLOSED}),
    # Its place
    ("into main", situation(pull={"base": "main"}), {C.NOT_LANDABLE}),
    ("onto no trunk", situation(pull={"base": "develop"}), {C.NOT_LANDABLE}),
    ("stacked by its base", situation(pull={"base": "ticket/41"}), {C.PREDECESSOR}),
    ("main is a trunk", situation(pull={"base": "main"}, policy={"trunks": ("main",)}), {C.NOT_LANDABLE}),
    (
        "releases go onto its trunk",
        situation(policy={"release": ReleasePolicy(into="release-1")}),
        {C.NOT_LANDABLE},
    ),
    ("another trunk than recorded", situation(pull={"base": "release-2"}), {C.WRONG_BASE}),
    ("a draft", situation(pull={"is_draft": True}), {C.DRAFT}),
    # Its head
    ("nothing published", situation(head=NothingPublished(None)), {C.NOT_PUBLISHED}),
    ("tampered", situation(head=Tampered(HEAD, OTHER)), {C.TAMPERED}),
    ("foreign", situation(head=Foreign(HEAD, OTHER)), {C.FOREIGN_HEAD}),
    (
        "never held",
        situation(head=Unheld(HEAD), record={"lease": None, "status": "unclaimed"}),
        {C.FOREIGN_HEAD, C.NOT_READY},
    ),
    ("unfenced", situation(head=AtPublished(HEAD, False)), {C.UNFENCED}),
    ("nobody holds it", situation(head=AtPublished(HEAD, False), record={"lease": None}), {C.UNFENCED}),
    ("burned", situation(head=AtPublished(HEAD, False), record={"burned_shas": (HEAD,)}), {C.BURNED}),
    ("the PR lags", situation(pull={"head_sha": OTHER}), {C.HEAD_MOVING}),
    # Its readiness
    ("at work", situation(record={"status": "working"}), {C.NOT_READY}),
    ("exhausted", situation(record={"status": "exhausted"}), {C.NOT_READY}),
    ("a person's land", situation(record=ASKED), set()),
    ("a person's land for another head", situation(record=ASKED_OTHER), {C.NOT_READY}),
    ("land replaces no fence", situation(record=ASKED, head=AtPublished(HEAD, False)), {C.UNFENCED}),
    (
        "land replaces no check",
        situation(record=ASKED, checks=_run(conclusion="failure")),
        {C.CHECKS_FAILED},
    ),
    ("land marks no draft as ready", situation(record=ASKED, pull={"is_draft": True}), {C.DRAFT}),
    ("land ends no hold", situation(record={**ASKED, "status": "held"}), {C.HELD}),
    # Verify
    ("verify never ran", situation(policy=VERIFY), {C.VERIFY_MISSING}),
    ("verify passed", situation(policy=VERIFY, record=_validated(completed=("pytest -q",))), set()),
    ("verify failed", situation(policy=VERIFY, record=_validated(failed=("pytest -q",))), {C.VERIFY_FAILED}),
    (
        "verify half-way",
        situation(policy=VERIFY, record=_validated(completed=("a",), not_run=("b",))),
        {C.VERIFY_MISSING},
    ),
    (
        "verify of another commit",
        situation(policy=VERIFY, record=_validated(completed=("a",), validated_sha=OTHER)),
        {C.VERIFY_MISSING},
    ),
    (
        "verify of other commands",
        situation(policy={"verify": (("make",),)}, record=_validated(completed=("a",))),
        {C.VERIFY_MISSING},
    ),
    (
        "verify on another predecessor",
        situation(policy=VERIFY, record=_validated(completed=("a",), predecessor_sha=OTHER)),
        {C.VERIFY_MISSING},
    ),
    # What it depends on
    ("an unknown effect", situation(record={"effects": (UNKNOWN_EFFECT,)}), {C.EFFECTS}),
    (
        "an effect on its way",
        situation(record={"effects": (UNKNOWN_EFFECT.model_copy(update={"state": "dispatching"}),)}),
        {C.EFFECTS},
    ),
    ("blocked by another", situation(around={"blocked_by": (Linked(7, "OPEN"), Linked(8, "CLOSED"))}), {C.BLOCKED_BY}),
    ("what blocked it is closed", situation(around={"blocked_by": (Linked(7, "CLOSED"),)}), set()),
    ("a sub-issue is open", situation(around={"sub_issues": (Linked(9, "OPEN"),)}), {C.SUB_ISSUES}),
    ("below has not landed", situation(record={"checkpoint": STACKED}, around=_stack("OPEN")), {C.PREDECESSOR}),
    ("below has landed", situation(record={"checkpoint": STACKED}, around=_stack("MERGED")), set()),
    ("below moved on", situation(record={"checkpoint": STACKED}, around=_stack("OPEN", OTHER)), {C.STALE_BASE}),
    ("below was closed", situation(record={"checkpoint": STACKED}, around=_stack("CLOSED")), {C.STALE_BASE}),
    ("below was not looked at", situation(record={"checkpoint": STACKED}), {C.STALE_BASE}),
    # Checks
    ("a check failed", situation(checks=_run(conclusion="failure")), {C.CHECKS_FAILED}),
    ("a check was cancelled", situation(checks=_run(conclusion="cancelled")), {C.CHECKS_FAILED}),
    ("a check is stale", situation(checks=_run(conclusion="stale")), {C.CHECKS_FAILED}),
    ("a check is neutral", situation(checks=_run(conclusion="neutral")), set()),
    ("a check was skipped", situation(checks=_run(conclusion="skipped")), set()),
    ("a check is queued", situation(checks=_run(status="queued", conclusion=None)), {C.CHECKS_WAITING}),
    ("a check is missing", situation(checks={"runs": ()}), {C.CHECKS_WAITING}),
    (
        "a check of another App",
        situation(rules={"required": (Required("build", app_id=99),)}),
        {C.CHECKS_WAITING},
    ),
    (
        "a status of the same name failed",
        situation(checks={"statuses": (StatusSeen("build", "failure"),)}),
        {C.CHECKS_FAILED},
    ),
    ("the policy names one more", situation(landing={"checks": ("lint",)}), {C.CHECKS_WAITING}),
    ("the policy names the only one", situation(landing={"checks": ("build",)}, rules={"required": ()}), set()),
    ("no gate", situation(rules={"required": ()}), {C.NO_GATE}),
    ("an empty list is no gate", situation(rules={"required": ()}, landing={"checks": ()}), {C.NO_GATE}),
    ("no gate, and the policy says none", situation(rules={"required": ()}, landing={"checks": "none"}), set()),
    (
        "none with a rule's own check failing",
        situation(landing={"checks": "none"}, checks=_run(conclusion="failure")),
        {C.CHECKS_FAILED},
    ),
    (
        "our own check is no gate",
        situation(rules={"required": (Required("Agent Recovery"),)}, checks=_run(name="Agent Recovery")),
        {C.NO_GATE},
    ),
    (
        "a check that only sounds like ours",
        situation(rules={"required": (Required("Agent Recovery tests"),)}, checks=_run(name="Agent Recovery tests")),
        set(),
    ),
    ("the head moved while it was read", situation(checks={"head_after": OTHER}), {C.HEAD_MOVING}),
    ("checks of another head", situation(checks={"sha": OTHER, "head_after": OTHER}), {C.HEAD_MOVING}),
    # Reviews
    ("changes requested", situation(evidence={"review": "CHANGES_REQUESTED"}), {C.CHANGES_REQUESTED}),
    ("review required", situation(evidence={"review": "REVIEW_REQUIRED"}), {C.REVIEW_MISSING}),
    ("approvals wanted and no word", situation(rules={"approvals": 2}), {C.REVIEW_MISSING}),
    ("approved", situation(rules={"approvals": 2}, evidence={"review": "APPROVED"}), set()),
    (
        "open conversations",
        situation(rules={"conversations": True}, evidence={"open_conversations": 3}),
        {C.CONVERSATIONS},
    ),
    ("conversations nobody asks about", situation(evidence={"open_conversations": 3}), set()),
    # Files
    ("a protected file", situation(evidence={"files": ("a.py", ".github/workflows/ci.yml")}), {C.PROTECTED_PATHS}),
    (
        "a person's land with a protected file",
        situation(record=ASKED, evidence={"files": (".github/workflows/ci.yml",)}),
        set(),
    ),
    (
        "a land for another head leaves them protected",
        situation(record={**ASKED_OTHER, "status": "ready"}, evidence={"files": ("CLAUDE.md",)}),
        {C.PROTECTED_PATHS},
    ),
    ("too many files", situation(evidence={"files": None}), {C.TOO_MANY_FILES}),
    ("too many files, nothing protected", situation(evidence={"files": None}, policy={"protected_paths": ()}), set()),
    # The base
    ("unguarded", situation(evidence={"release_guard": False}), {C.UNGUARDED_BASE}),
    ("guard unknown", situation(evidence={"release_guard": None}), {C.UNGUARDED_BASE}),
    (
        "unguarded and accepted",
        situation(evidence={"release_guard": False}, landing={"unguarded_base": "accept"}),
        set(),
    ),
    ("method not allowed", situation(rules={"methods": frozenset({"squash"})}), {C.METHOD}),
    (
        "method allowed",
        situation(rules={"methods": frozenset({"squash"})}, landing={"method": "squash"}),
        set(),
    ),
    # Mergeability
    ("conflict", situation(evidence={"mergeable": "CONFLICTING", "base_files": ("src/app.py",)}), {C.CONFLICT}),
    ("dirty", situation(evidence={"merge_state": "DIRTY"}), {C.CONFLICT}),
    (
        "a draft with a conflict",
        situation(pull={"is_draft": True, "mergeable": "CONFLICTING"}, evidence={"mergeable": "CONFLICTING"}),
        {C.DRAFT, C.CONFLICT},
    ),
    ("mergeable unknown", situation(evidence={"mergeable": "UNKNOWN"}), {C.MERGEABLE_UNKNOWN}),
    (
        "state unknown under strict rules",
        situation(rules={"strict": True}, evidence={"merge_state": "UNKNOWN"}),
        {C.MERGEABLE_UNKNOWN},
    ),
    ("blocked for a reason GitHub hides", situation(evidence={"merge_state": "BLOCKED"}), set()),
    ("queued", situation(rules={"queue": True}, evidence={"queued": True}), {C.QUEUED}),
    ("auto-merge", situation(evidence={"auto_merge": True}), {C.AUTO_MERGE}),
    ("not looked at", situation(looked=False), {C.NOT_LOOKED}),
]


@pytest.mark.parametrize(("s", "codes"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_condition(s: Situation, codes: set[BlockerCode]) -> None:
    decision = decide_landing(s)
    if not codes:
        assert isinstance(decision, Land), decision
        return
    assert isinstance(decision, NotYet), decision
    assert {b.code for b in decision.blockers} == codes
    assert all(b.reason and b.remedy for b in decision.blockers)


def test_every_code_has_a_case_and_a_meaning() -> None:
    shown = {code for _, _, codes in CASES for code in codes}
    # What stands on what is the subject of test_stacks.py.
    elsewhere = {C.POLICY_UNREADABLE, C.CHILDREN, C.REFUSED, C.CIRCLE, C.SEVERAL_PREDECESSORS, C.UNDERMINED}
    assert shown | elsewhere == set(BlockerCode)
    assert set(MEANINGS) == set(BlockerCode)


def test_children_are_in_the_way() -> None:
    listed = {"name": "docs-1", "base_sha": BASE, "parent_generation": 2}
    s = situation(record={"children": (listed,)})
    decision = decide_landing(s)
    assert isinstance(decision, NotYet)
    assert [b.code for b in decision.blockers] == [C.CHILDREN]
    assert decision.blockers[0].quoted == ("docs-1",)


def test_all_that_blocks_is_told_at_once_and_what_a_person_can_do_first() -> None:
    s = situation(
        checks={"runs": ()},
        around={"blocked_by": (Linked(7, "OPEN"),), "sub_issues": (Linked(9, "OPEN"),)},
        evidence={"files": (".mcp.json",), "mergeable": "CONFLICTING", "release_guard": False},
        landing={"method": "rebase"},
        rules={"methods": frozenset({"merge"})},
    )
    decision = decide_landing(s)
    assert isinstance(decision, NotYet)
    assert [b.code for b in decision.blockers] == [
        C.CONFLICT,
        C.PROTECTED_PATHS,
        C.UNGUARDED_BASE,
        C.METHOD,
        C.BLOCKED_BY,
        C.SUB_ISSUES,
        C.CHECKS_WAITING,
    ]
    assert decision.until is None


@pytest.mark.parametrize(
    ("s", "after"),
    [
        (situation(evidence={"mergeable": "UNKNOWN"}), timedelta(seconds=15)),
        (situation(pull={"head_sha": OTHER}, evidence={"mergeable": "UNKNOWN"}), timedelta(seconds=10)),
        (situation(looked=False), timedelta(minutes=1)),
        (situation(checks={"runs": ()}), None),
    ],
)
def test_when_to_look_again(s: Situation, after: timedelta | None) -> None:
    decision = decide_landing(s)
    assert isinstance(decision, NotYet)
    assert decision.until == (NOW + after if after is not None else None)


@pytest.mark.parametrize(
    "s",
    [
        situation(record={"child": "docs-1"}),
        situation(record={"status": "landed"}),
        situation(record={"status": "cancelled"}),
        situation(record={"status": "completed"}),
        situation(pull={"state": "CLOSED"}),
        situation(pull={"state": "MERGED"}),
        situation(world={"pulls": ()}),
        situation(pull={"head_repository": "mallory/demo"}),
        situation(record={"landing": Landing(merged=Merged(pr=57, head_sha=HEAD, base="r", merge_sha=OTHER, at=NOW))}),
    ],
)
def test_where_landing_is_no_question(s: Situation) -> None:
    decision = decide_landing(s)
    assert isinstance(decision, NotLanding)
    assert decision.reason
    assert in_its_way(s) == ()
    assert not wanted(s.record, s.policy, s.head, s.observation)


@pytest.mark.parametrize(
    ("s", "expected"),
    [
        (situation(rules={"strict": True}, evidence={"merge_state": "BEHIND"}), Behind),
        (situation(evidence={"merge_state": "BEHIND"}), Land),
        (
            situation(
                rules={"strict": True},
                evidence={"merge_state": "BLOCKED"},
                around={"asked": Asked(work=HEAD), "trunk_over_work": Distance(2, 1)},
            ),
            Behind,
        ),
        (
            situation(rules={"strict": True}, around={"asked": Asked(work=OTHER), "trunk_over_work": Distance(2, 1)}),
            Land,
        ),
        (situation(rules={"queue": True}), Queue),
        (situation(rules={"queue": True, "methods": frozenset()}), Queue),
        (situation(rules={"queue": True, "strict": True}, evidence={"merge_state": "BEHIND"}), Queue),
        (situation(rules={"strict": True}, evidence={"merge_state": "BEHIND", "mergeable": "UNKNOWN"}), NotYet),
        (situation(rules={"strict": True}, evidence={"merge_state": "BEHIND"}, checks={"runs": ()}), NotYet),
    ],
)
def test_behind_and_queue(s: Situation, expected: type) -> None:
    assert type(decide_landing(s)) is expected


def test_the_writes_that_follow() -> None:
    land = decide_landing(situation(landing={"method": "squash"}))
    assert isinstance(land, Land)
    merge = action_of(land)
    assert isinstance(merge, Merge)
    assert (merge.number, merge.head_sha, merge.base, merge.method) == (57, HEAD, "release-1", "squash")
    behind = decide_landing(situation(rules={"strict": True}, evidence={"merge_state": "BEHIND"}))
    assert isinstance(behind, Behind)
    assert action_of(behind) == UpdateBranch(57, HEAD, "release-1", behind.reason)
    queue = decide_landing(situation(rules={"queue": True}))
    assert isinstance(queue, Queue)
    assert action_of(queue) == Enqueue(57, "PR_57", HEAD, "release-1", queue.reason)


def test_what_github_refused_is_told_and_stays_the_decision() -> None:
    land = decide_landing(situation())
    assert isinstance(land, Land)
    kind, target = target_of(action_of(land))
    refused = Permit(
        id="p", kind=kind, target=target, author="a", round="r", state="blocked", reason="No\nway", refused_at=NOW
    )
    s = situation(record={"open": (refused,)})
    assert isinstance(decide_landing(s), Land)
    (told,) = in_its_way(s)
    assert (told.code, told.quoted) == (C.REFUSED, ("No way",))
    assert told.until == NOW + timedelta(minutes=2)
    assert in_its_way(situation()) == ()


def test_a_refusal_of_another_head_is_none_of_this_one() -> None:
    land = decide_landing(situation())
    assert isinstance(land, Land)
    kind, target = target_of(action_of(land))
    old = target.model_copy(update={"head_sha": OTHER})
    refused = Permit(id="p", kind=kind, target=old, author="a", round="r", state="blocked", reason="No")
    assert in_its_way(situation(record={"open": (refused,)})) == ()


@pytest.mark.parametrize(
    ("s", "expected"),
    [
        (situation(), True),
        (situation(record=ASKED), True),
        (situation(pull={"is_draft": True, "mergeable": "CONFLICTING"}), True),
        (situation(pull={"is_draft": True}), False),
        (situation(record={"status": "working"}), False),
        (situation(record=ASKED_OTHER), False),
        (situation(record={"status": "held"}), False),
        (situation(record={**ASKED, "status": "held"}), False),
        (situation(policy={"mode": Mode.REPAIR}), False),
        (situation(head=AtPublished(HEAD, False)), False),
        (situation(head=Foreign(HEAD, OTHER)), False),
        (situation(pull={"base": "main"}), False),
        (situation(world={"pulls": ()}), False),
    ],
)
def test_evidence_is_read_only_for_what_is_ready(s: Situation, expected: bool) -> None:
    assert wanted(s.record, s.policy, s.head, s.observation) is expected


@settings(max_examples=600, deadline=None)
@given(data=st.data())
def test_whatever_else_holds_a_landing_is_the_tickets_own_fenced_green_head(data: st.DataObject) -> None:
    draw = data.draw
    pick = lambda *values: draw(st.sampled_from(values))  # noqa: E731
    landing = Landing(asked=pick(None, AskedToLand(by="a", at=NOW, head_sha=pick(HEAD, OTHER))))
    s = situation(
        record={
            "status": pick("ready", "working", "held", "recovering", "unclaimed", "cancelled"),
            "landing": landing,
            "child": pick(None, None, None, "docs-1"),
            "work": pick(RECORD.work, RECORD.work, Work(branch="ticket/42-parser", trunk="main", base_sha=BASE)),
        },
        policy={
            "mode": pick(Mode.FULL, Mode.FULL, Mode.REPAIR, Mode.OBSERVE),
            "trunks": pick(("release-*",), ("main",), ("**", "main")),
            "release": ReleasePolicy(into=pick(None, "release-1", "main")),
        },
        head=pick(AtPublished(HEAD, True), AtPublished(HEAD, True), AtPublished(HEAD, False), Foreign(HEAD, OTHER)),
        pull={
            "is_draft": pick(False, False, True),
            "base": pick("release-1", "release-1", "main", "ticket/41", "release-2"),
            "head_sha": pick(HEAD, HEAD, HEAD, OTHER),
            "head_repository": pick("octo/demo", "octo/demo", "mallory/demo"),
        },
        checks={"runs": pick((GREEN,), (), (replace(GREEN, conclusion="failure"),)), "head_after": pick(HEAD, OTHER)},
        rules={"required": pick((Required("build"),), ()), "strict": pick(True, False), "queue": pick(True, False)},
        landing={"checks": pick(None, "none", ("build",))},
        looked=pick(True, True, False),
    )
    decision = decide_landing(s)
    if not isinstance(decision, Land | Queue | Behind):
        return
    into = s.policy.release.into or "main"
    pull = decision.pull
    assert pull.base not in (into, "ticket/41")
    assert s.record.child is None
    assert s.observation.pulls[0].head_repository == "octo/demo"
    assert pull.head_sha == HEAD == s.head.sha  # type: ignore[union-attr]
    assert isinstance(s.head, AtPublished)
    assert s.head.fenced
    assert s.policy.mode is Mode.FULL
    assert not pull.is_draft
    assert s.record.status == "ready" or (landing.asked is not None and landing.asked.head_sha == HEAD)
    assert s.record.status not in ("held", "cancelled")
    assert s.landing is not None
    required = s.landing.rules.required or s.policy.landing.checks
    assert required
    assert s.policy.landing.checks == "none" or s.landing.rules.required or required == ("build",)
    if s.landing.rules.required or required == ("build",):
        assert s.landing.checks.runs == (GREEN,)
        assert s.landing.checks.head_after == HEAD
