"""Which heads are green: published faults about words, absence, old heads and doubled names, and others like them."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.required_checks import Checks, Judged, Moved, Outcome, Required, RunSeen, StatusSeen, judge

FIXTURES = Path(__file__).parents[1] / "fixtures"
WORDS = json.loads((FIXTURES / "check_results.json").read_text())
HEADS = json.loads((FIXTURES / "check_results_of_old_heads.json").read_text())
HEAD, OLD = "b" * 40, "a" * 40


def run(fields: dict[str, Any], number: int = 0) -> RunSeen:
    return RunSeen(
        name=fields["name"],
        status=fields.get("status", "completed"),
        conclusion=fields["conclusion"],
        app_id=fields.get("app_id"),
        suite=fields.get("check_suite"),
        id=fields.get("id", number),
        started_at=fields.get("started_at", ""),
    )


def of(head: str = HEAD, *runs: RunSeen, statuses: tuple[StatusSeen, ...] = ()) -> Checks:
    return Checks(sha=head, head_after=HEAD, runs=runs, statuses=statuses)


def outcome(required: list[Required], checks: Checks) -> str:
    judged = judge(required, checks)
    return "restart" if isinstance(judged, Moved) else judged.outcome.value


@pytest.mark.parametrize("case", WORDS["input"]["cases"], ids=lambda case: case["name"])
def test_published_words(case) -> None:
    statuses = tuple(StatusSeen(s["context"], s["state"]) for s in case.get("statuses", []))
    checks = of(HEAD, *(run(r) for r in case["check_runs"]), statuses=statuses)
    expected = WORDS["expected"]["cases"][case["name"]]["verdict"]
    assert outcome([Required(name) for name in case["required"]], checks) == expected


def test_published_heads() -> None:
    cases = {case["name"]: case for case in HEADS["input"]["cases"]}
    expected = {name: case.get("verdict") for name, case in HEADS["expected"]["cases"].items()}

    fresh = cases["fresh_head"]
    seen = of(HEAD, *(run(r) for r in fresh["checks"][HEAD]))
    assert outcome([Required("build")], seen) == expected["fresh_head"]

    moved = judge([Required("build")], Checks(sha=OLD, head_after=HEAD))
    assert moved == Moved(HEAD)
    assert expected["head_moves_during_read"] == "restart"

    for name in ("rerun_of_same_suite", "two_suites_disagree"):
        runs = [run(r) for r in cases[name]["runs"]]
        assert outcome([Required(runs[0].name)], of(HEAD, *runs)) == expected[name]

    both = cases["status_and_check_same_name"]
    status = StatusSeen(both["status"]["context"], both["status"]["state"])
    assert outcome([Required("build")], of(HEAD, run(both["check"]), statuses=(status,))) == "fail"

    foreign = cases["name_from_other_app"]
    required = Required(foreign["required"]["name"], foreign["required"]["app_id"])
    assert outcome([required], of(HEAD, *(run(r) for r in foreign["runs"]))) == expected["name_from_other_app"]

    twice = [run(r, number) for number, r in enumerate(cases["same_name_same_app_two_runs"]["runs"])]
    assert outcome([Required("gate")], of(HEAD, *twice)) == expected["same_name_same_app_two_runs"]
    assert outcome([Required("gate")], of(HEAD, *reversed(twice))) == "fail"


@pytest.mark.parametrize(
    ("runs", "statuses", "expected"),
    [
        # a later green run of another suite does not heal a red one; a later run of the same suite does
        ([("x", 1, "failure"), ("x", 2, "success")], [], Outcome.FAIL),
        ([("x", 1, "success"), ("x", 1, "failure")], [], Outcome.FAIL),
        ([("x", 1, "failure"), ("x", 1, None)], [], Outcome.PENDING),
        ([("x", 1, "success")], [("x", "pending")], Outcome.PENDING),
        ([("x", 1, "success"), ("y", 1, "failure")], [], Outcome.PASS),  # y is not required
        ([("X", 1, "success")], [], Outcome.PENDING),  # names are compared letter by letter
    ],
)
def test_sources(runs: list[tuple[str, int, str | None]], statuses: list[tuple[str, str]], expected: Outcome) -> None:
    seen = [
        RunSeen(name, "completed" if conclusion else "queued", conclusion, suite=suite, id=number)
        for number, (name, suite, conclusion) in enumerate(runs)
    ]
    judged = judge([Required("x")], of(HEAD, *seen, statuses=tuple(StatusSeen(*s) for s in statuses)))
    assert isinstance(judged, Judged)
    assert judged.outcome is expected


def test_a_status_never_stands_for_an_apps_check() -> None:
    seen = of(HEAD, statuses=(StatusSeen("agent-state", "success"),))
    assert outcome([Required("agent-state", 111)], seen) == "pending"


@given(st.text(max_size=20), st.text(max_size=20))
def test_only_three_words_pass(status: str, conclusion: str) -> None:
    judged = judge([Required("x")], of(HEAD, RunSeen("x", status, conclusion)))
    assert isinstance(judged, Judged)
    passes = status == "completed" and conclusion in ("success", "neutral", "skipped")
    assert (judged.outcome is Outcome.PASS) == passes
