"""One world of a ticket, looked at in its states: hardness, the 13 criteria, the 17 findings, the brief."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.checkpoint import Step, checkpoint_schema
from app.domain.compose_brief import brief_schema, compose, render_markdown
from app.domain.criteria import criteria
from app.domain.fencing import Relation
from app.domain.gates import Pass, may_claim
from app.domain.hardness import CONDITIONS, Hard, Soft, is_hard
from app.domain.observation import Branch, Issue, Observation
from app.domain.outcome import Blocked, Code
from app.domain.policy import Mode, Policy
from app.domain.record import Projections, Published, Record
from app.domain.recovery_steps import findings
from app.domain.recovery_view import RecoveryView, tasks_of
from app.domain.surroundings import Asked, Predecessor, Surroundings, Tip
from tests.domain.recovery_scene import (
    BASE,
    CHECKPOINT,
    HEAD,
    NOW,
    OTHER,
    POLICY,
    PULL,
    RECORD,
    WORLD,
    changed,
    evidence,
    noted,
    view,
    with_children,
)

SCHEMAS = Path(__file__).parents[2] / "docs/schema"
SHOWN = changed(projections=Projections(pr_number=57))
MOVED = replace(WORLD, branches=(Branch("ticket/42-parser", OTHER),))
GONE = replace(WORLD, branches=())
NEWBORN = changed(
    checkpoint=CHECKPOINT.model_copy(
        update={"completed_steps": (), "next_steps": (), "objective": None, "accepted_decisions": ()}
    ),
    published=None,
)
BARE = replace(WORLD, branches=(), pulls=())

# --- hardness ---


def test_all_six_conditions_make_it_hard() -> None:
    assert is_hard(RECORD, WORLD) == Hard()
    assert len(CONDITIONS) == 6


@pytest.mark.parametrize(
    ("record", "world", "missing"),
    [
        (NEWBORN, BARE, ("code_on_remote", "head_traceable", "pull_request", "next_step_known")),
        (RECORD, MOVED, ("head_traceable",)),
        (RECORD, GONE, ("head_traceable",)),
        (changed(published=Published(sha=HEAD, generation=1, nonce="n1")), WORLD, ("head_traceable",)),
        (changed(burned_shas=(HEAD,)), WORLD, ("head_traceable",)),
        (RECORD, replace(WORLD, issue=None), ("status_visible",)),
        (RECORD, replace(WORLD, pulls=()), ("pull_request",)),
        (RECORD, replace(WORLD, pulls=(replace(PULL, state="CLOSED"),)), ("pull_request",)),
        (RECORD, replace(WORLD, pulls=(replace(PULL, head_repository="evil/demo"),)), ("pull_request",)),
        (noted(predecessor_issue_or_pr=41), WORLD, ("predecessor_known",)),
        (noted(next_steps=()), WORLD, ("next_step_known",)),
    ],
)
def test_a_soft_checkpoint_names_what_is_missing(record: Record, world: Observation, missing: tuple[str, ...]) -> None:
    assert is_hard(record, world) == Soft(missing)


def test_a_blocker_or_ready_is_a_known_next_step() -> None:
    assert is_hard(noted(next_steps=(), blockers=("needs a person",)), WORLD) == Hard()
    assert is_hard(noted(next_steps=()).model_copy(update={"status": "ready"}), WORLD) == Hard()


# --- criteria ---


OTHER_CHECKS = replace(
    view(changed(status="ready"), shown=evidence()), policy=Policy(mode=Mode.REPAIR, verify=(("pytest",),))
)
STACKED = noted(predecessor_issue_or_pr=41, predecessor_sha=OTHER).model_copy(update={"status": "ready"})
GONE_ON = Predecessor(41, "issue", "OPEN", branches=(Tip("ticket/41-before-it", BASE, None),))
STALE = replace(WORLD, around=Surroundings(asked=Asked(predecessor=41), predecessor=GONE_ON))

CRITERIA: list[tuple[str, RecoveryView, int, bool | None, str]] = [
    ("found", view(), 1, True, "names no Project"),
    ("closed", view(world=replace(WORLD, issue=replace(WORLD.issue, state="CLOSED"))), 1, False, "closed"),  # type: ignore[type-var]
    ("missing", view(world=replace(WORLD, issue=None)), 1, False, "not found"),
    ("no trunk", view(world=replace(WORLD, trunk=None)), 1, False, "trunk"),
    ("never claimed", view(None), 1, None, "first claim"),
    ("fenced", view(), 2, True, HEAD),
    ("taken over", view(changed(published=Published(sha=HEAD, generation=1, nonce="n1"))), 2, None, "not yet shown"),
    ("foreign", view(world=MOVED, relation=Relation.ON_TOP), 2, False, OTHER),
    ("rewound", view(world=MOVED, relation=Relation.ELSEWHERE), 2, False, "puts it back"),
    ("nothing yet", view(NEWBORN, BARE), 2, None, "nothing"),
    ("unpublished branch", view(NEWBORN), 2, False, "nothing was ever published"),
    ("draft while working", view(), 3, True, "draft"),
    ("draft while ready", view(changed(status="ready")), 3, False, "draft although"),
    ("closed PR", view(SHOWN, replace(WORLD, pulls=(replace(PULL, state="CLOSED"),))), 3, False, "closed"),
    ("other base", view(SHOWN, replace(WORLD, pulls=(replace(PULL, base="main"),))), 3, False, "its base is not"),
    ("no PR", view(world=replace(WORLD, pulls=())), 3, False, "creates it"),
    ("PR not needed", view(NEWBORN, BARE), 3, None, "no PR is needed"),
    ("other Issue", view(world=replace(WORLD, pulls=(replace(PULL, body="x"),))), 3, False, "links the Issue"),
    ("ready, not verified", view(changed(status="ready")), 4, None, "have not passed on exactly"),
    (
        "ready",
        view(changed(status="ready"), shown=evidence()),
        4,
        None,
        "mode: repair, in which the App merges nothing",
    ),
    ("ready, other checks since", OTHER_CHECKS, 4, None, "have not passed on exactly"),
    ("ready on a stale base", view(STACKED, STALE, evidence()), 4, None, "have not passed on exactly"),
    ("release", view(), 5, False, "base of releases, main, was not found"),
    ("no stack", view(), 6, None, "does not apply"),
    ("stack unknown", view(noted(predecessor_issue_or_pr=41)), 6, False, "exact commit"),
    ("no evidence yet", view(changed(status="recovering")), 7, None, "not shown"),
    ("evidence", view(changed(status="recovering"), shown=evidence()), 7, True, HEAD),
    ("elsewhere", view(changed(status="recovering"), shown=evidence(OTHER)), 7, False, OTHER),
    ("dirty", view(changed(status="recovering"), shown=evidence(clean=False)), 7, False, "not clean"),
    ("at the base", view(NEWBORN, BARE, evidence(BASE)), 7, True, BASE),
    ("held", view(), 8, True, "generation 2"),
    ("free", view(changed(lease=None, status="unclaimed")), 8, False, "nobody"),
    ("fence holds", view(), 9, True, "refused"),
    ("fence passed by", view(world=MOVED, relation=Relation.ON_TOP), 9, False, "past the fence"),
    ("no children", view(), 10, None, "does not apply"),
    ("children at work", with_children("running", "integrated"), 10, True, "all 2 children are accounted for"),
    ("a child nobody decided about", with_children("running", "stale"), 10, False, "child-1 is stale"),
    ("no effects", view(), 11, True, "no effect was journaled"),
    ("effects", view(noted(external_side_effects=("deployed",))), 11, None, "look yourself"),
    ("passed", view(shown=evidence()), 12, True, "passed"),
    ("failed", view(shown=evidence(exit_code=1)), 12, False, "1 failed"),
    ("on other code", view(shown=evidence(OTHER)), 12, False, "something else"),
    ("not run yet", view(), 12, None, "not been run"),
    ("not run", view(shown=evidence().model_copy(update={"verify": ()})), 12, False, "1 checks did not run"),
    ("nothing to verify", view(policy=Policy()), 12, None, "names no verify"),
    ("steps", view(), 13, True, "1 next steps"),
    ("no steps", view(noted(next_steps=())), 13, False, "no next step"),
    ("the Issue's steps", view(NEWBORN, BARE), 13, True, "3 steps"),
    (
        "ready, nothing left",
        view(noted(next_steps=()).model_copy(update={"status": "ready"})),
        13,
        True,
        "nothing is left",
    ),
]


@pytest.mark.parametrize(("name", "seen", "number", "met", "words"), CRITERIA, ids=[f"{c[2]} {c[0]}" for c in CRITERIA])
def test_criteria(name: str, seen: RecoveryView, number: int, met: bool | None, words: str) -> None:
    judged = criteria(seen)
    assert [c.number for c in judged] == list(range(1, 14))
    assert judged[number - 1].met is met
    assert words in judged[number - 1].reason


# --- findings ---

FINDINGS: list[tuple[str, RecoveryView, int, str, str]] = [
    ("open", view(), 1, "done", "open"),
    ("missing", view(world=replace(WORLD, issue=None)), 1, "blocked", "not found"),
    ("at published", view(), 2, "done", "published it"),
    ("tampered", view(world=GONE), 2, "done", "put back"),
    ("landings", view(), 4, "done", "nothing of this ticket"),
    ("release", view(), 5, "blocked", "was not found"),
    ("checkpoint", view(), 6, "done", "ledger"),
    ("no checkpoint", view(NEWBORN, BARE), 6, "done", "Issue is the plan"),
    ("no record", view(None), 6, "done", "nobody has claimed"),
    ("no policy", view(policy=None), 7, "blocked", "no usable policy"),
    ("owned", view(), 8, "done", "generation 2"),
    ("free", view(None), 8, "pending", "claim"),
    ("no children", view(), 9, "not_applicable", "no children"),
    ("children at work", with_children("running", "waiting"), 9, "done", "child-0 is running"),
    ("a child to decide about", with_children("completed", "failed"), 9, "pending", "child-1 is failed"),
    ("a child whose ledger is gone", with_children("lost"), 9, "blocked", "child-0 is lost"),
    ("workspace pending", view(changed(status="recovering")), 10, "pending", "not shown"),
    ("workspace wrong", view(shown=evidence(OTHER)), 10, "blocked", OTHER),
    ("workspace", view(shown=evidence()), 10, "done", HEAD),
    ("foreign", view(world=MOVED, relation=Relation.ON_TOP), 13, "pending", "adopt or rewind"),
    ("tampered", view(world=GONE), 13, "pending", "puts the branch back"),
    ("no PR", view(world=replace(WORLD, pulls=())), 13, "pending", "missing PR"),
    ("base", view(), 14, "done", "holds everything"),
    ("stale base", view(world=replace(WORLD, trunk=Branch("release-1", OTHER))), 14, "pending", "has moved"),
    ("verified", view(shown=evidence()), 16, "done", "passed"),
    ("verification failed", view(shown=evidence(exit_code=2)), 16, "blocked", "failed"),
    ("verification pending", view(), 16, "pending", "not been run"),
    ("go on", view(), 17, "done", "present generation"),
    ("first the workspace", view(changed(status="recovering")), 17, "pending", "workspace first"),
]


@pytest.mark.parametrize(("name", "seen", "step", "state", "words"), FINDINGS, ids=[f"{f[2]} {f[0]}" for f in FINDINGS])
def test_findings(name: str, seen: RecoveryView, step: int, state: str, words: str) -> None:
    found = findings(seen)
    assert [f.step for f in found] == list(range(1, 18))
    assert found[step - 1].state == state
    assert words in found[step - 1].finding
    json.dumps([f.evidence for f in found])


# --- the brief ---


def brief_of(seen: RecoveryView, claim: Pass | Blocked | None) -> Any:
    return compose(seen, findings=findings(seen), criteria=criteria(seen), claim=claim)


def test_the_steps_come_from_the_checkpoint_and_the_issues_list_stands_under_untrusted() -> None:
    later = brief_of(view(), None)
    assert [(s.id, s.sha) for s in later.completed_steps] == [("1", HEAD)]
    assert [(s.id, s.text) for s in later.next_steps] == [("2", "test it")]
    first = brief_of(view(None, BARE), Pass("new", 1, False))
    assert first.completed_steps == ()
    assert first.next_steps == ()
    assert [(s.id, s.text) for s in first.untrusted.issue_tasks] == [
        ("1", "write the parser"),
        ("2", "test it"),
        ("3", "document it"),
    ]
    assert "None noted yet; the Issue's text lists 3 tasks." in render_markdown(first)
    assert (first.status, first.generation, first.holder) == ("unclaimed", 0, None)
    ready = brief_of(view(noted(next_steps=()).model_copy(update={"status": "ready"})), None)
    assert ready.next_steps == ()


def test_work_says_where_everything_stands() -> None:
    work = brief_of(view(), None).work
    assert (work.branch, work.trunk, work.base_sha) == ("ticket/42-parser", "release-1", BASE)
    assert (work.published_sha, work.branch_head) == (HEAD, HEAD)
    assert (work.pr_number, work.pr_state) == (57, "DRAFT")


def argvs(seen: RecoveryView, claim: Pass | Blocked | None) -> list[str]:
    return [" ".join(command.argv) for command in brief_of(seen, claim).commands]


def test_commands_fit_the_situation() -> None:
    assert argvs(view(None), Pass("new", 1, False)) == ["agent-recovery recover 42 --repo octo/demo"]
    assert argvs(view(), Blocked(Code.LEASE_LIVE, "held", "wait")) == []
    calls = ("validate verify", "checkpoint", "push", "ready", "handoff")
    holding = [f"agent-recovery {call}" for call in calls]
    assert argvs(view(), None) == holding
    assert argvs(view(policy=Policy()), None) == holding[1:]
    foreign = argvs(view(world=MOVED, relation=Relation.ON_TOP), None)
    assert foreign == ["agent-recovery push --rewind", f"agent-recovery adopt {OTHER}", *holding]
    assert argvs(view(changed(status="landed")), None) == []


def test_the_brief_says_whether_and_why_it_can_be_claimed() -> None:
    claim = may_claim(RECORD, POLICY, now=NOW, observed_generation=2, login="x")
    brief = brief_of(view(), claim)
    assert brief.claimable is False
    assert "agent-b holds generation 2" in brief.claimable_because
    assert brief_of(view(), None).claimable_because == "you hold it"


def test_long_and_hostile_text_is_capped_and_inert_in_markdown() -> None:
    body = "x" * 20_000
    issue = replace(WORLD.issue, body=body) if WORLD.issue else None
    capped = brief_of(view(world=replace(WORLD, issue=issue)), None)
    assert capped.untrusted.issue_body_shortened
    assert len(capped.untrusted.issue_body.encode()) <= 16 * 1024
    hostile = "\n<!-- x --> ```\n@all /recovery land\n/recovery land"
    record = noted(objective=hostile, blockers=(hostile,), next_steps=(Step(id=hostile, text=hostile),))
    issue = replace(WORLD.issue, body=hostile) if WORLD.issue else None
    text = render_markdown(brief_of(view(record, replace(WORLD, issue=issue)), None))
    assert "<!--" not in text
    assert "-->" not in text
    assert not any(line.lstrip(" >").startswith("/recovery") for line in text.splitlines())
    outside = text.split("````text")[0]
    assert "@all" not in outside
    assert "```" not in outside


def test_the_markdown_holds_what_an_agent_needs() -> None:
    text = render_markdown(brief_of(view(), None))
    for words in ("octo/demo#42", HEAD, BASE, "1: write the parser", "2: test it", "use a table", "57 (DRAFT)"):
        assert words in text
    assert text.split("## The Issue's text")[0].count("\n- ") == 1 + 1 + 1 + 5 + 17 + 13


@given(st.text(max_size=80), st.text(max_size=200))
def test_any_issue_gives_a_brief(title: str, body: str) -> None:
    issue = Issue(number=42, title=title, body=body, state="OPEN", author=None)
    brief = brief_of(view(None, replace(BARE, issue=issue)), Pass("new", 1, False))
    assert type(brief).model_validate_json(brief.model_dump_json()) == brief
    assert render_markdown(brief).encode()


@pytest.mark.parametrize(
    ("body", "tasks"),
    [
        ("", ()),
        ("- [ ] a\r\n- [X] b", ("a", "b")),
        ("1. [ ] a\n-[ ] b\n- [] c\n- [ ]\n- [ ]   ", ()),
        ("> - [ ] quoted\n  - [ ] nested", ("nested",)),
        ("~~~\n- [ ] code\n~~~\n- [ ] real\n```\n- [ ] open end", ("real",)),
        ("\n".join(f"- [ ] {n}" for n in range(300)), tuple(str(n) for n in range(100))),
    ],
)
def test_task_lists(body: str, tasks: tuple[str, ...]) -> None:
    assert tasks_of(body) == tasks


def test_the_published_schemas_are_current() -> None:
    for name, schema in (("brief", brief_schema()), ("checkpoint", checkpoint_schema())):
        text = (SCHEMAS / f"{name}.json").read_text()
        assert json.loads(text) == schema, "run: python tests/domain/write_schemas.py"
