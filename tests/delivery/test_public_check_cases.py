"""The public cases of checks (B22, B29) as landing sees them: what is not a pass on exactly this head never lands."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.domain.landing import Land, NotYet, decide_landing
from app.domain.landing_blocker import BlockerCode
from app.domain.required_checks import Required, RunSeen, StatusSeen
from app.domain.situation import Situation
from tests.delivery.landing_scene import situation
from tests.domain.recovery_scene import HEAD, OTHER

FIXTURES = Path(__file__).parents[1] / "fixtures"
WORDS = json.loads((FIXTURES / "check_results.json").read_text())
HEADS = json.loads((FIXTURES / "check_results_of_old_heads.json").read_text())
CODES = {
    "pass": None,
    "pending": BlockerCode.CHECKS_WAITING,
    "fail": BlockerCode.CHECKS_FAILED,
    "restart": BlockerCode.HEAD_MOVING,
}


def _run(fields: dict[str, Any], number: int = 0) -> RunSeen:
    return RunSeen(
        name=fields["name"],
        status=fields.get("status", "completed"),
        conclusion=fields["conclusion"],
        app_id=fields.get("app_id"),
        suite=fields.get("check_suite"),
        id=fields.get("id", number),
        started_at=fields.get("started_at", ""),
    )


def _with(required: list[Required], runs: list[dict[str, Any]], statuses: Any = (), after: str = HEAD) -> Situation:
    checks = {
        "runs": tuple(_run(fields, number) for number, fields in enumerate(runs)),
        "statuses": tuple(StatusSeen(s["context"], s["state"]) for s in statuses),
        "head_after": after,
    }
    return situation(rules={"required": tuple(required)}, checks=checks)


def _verdict(s: Situation) -> BlockerCode | None:
    decision = decide_landing(s)
    if isinstance(decision, Land):
        return None
    assert isinstance(decision, NotYet)
    (blocker,) = decision.blockers
    return blocker.code


@pytest.mark.parametrize("case", WORDS["input"]["cases"], ids=lambda case: case["name"])
def test_words(case: dict[str, Any]) -> None:
    expected = WORDS["expected"]["cases"][case["name"]]
    s = _with([Required(name) for name in case["required"]], case["check_runs"], case.get("statuses", ()))
    if not case["required"]:
        # Nothing red is not green, until the policy says that no check is wanted.
        assert _verdict(s) is BlockerCode.NO_GATE
        assert expected["then"] == "pass after a settle time if policy allows no checks"
        assert _verdict(situation(rules={"required": ()}, checks={"runs": ()}, landing={"checks": "none"})) is None
        return
    assert _verdict(s) is CODES[expected["verdict"]]


def _of_heads() -> dict[str, Situation]:
    cases = {case["name"]: case for case in HEADS["input"]["cases"]}
    both, foreign = cases["status_and_check_same_name"], cases["name_from_other_app"]
    required = Required(foreign["required"]["name"], foreign["required"]["app_id"])
    return {
        "fresh_head": _with([Required("build")], cases["fresh_head"]["checks"]["b" * 40]),
        "head_moves_during_read": _with([Required("build")], [{"name": "build", "conclusion": "success"}], after=OTHER),
        "same_name_same_app_two_runs": _with([Required("gate")], cases["same_name_same_app_two_runs"]["runs"]),
        "rerun_of_same_suite": _with([Required("build")], cases["rerun_of_same_suite"]["runs"]),
        "two_suites_disagree": _with([Required("gate")], cases["two_suites_disagree"]["runs"]),
        "status_and_check_same_name": _with([Required("build")], [both["check"]], [both["status"]]),
        "name_from_other_app": _with([required], foreign["runs"]),
    }


@pytest.mark.parametrize(("name", "s"), list(_of_heads().items()), ids=list(_of_heads()))
def test_heads(name: str, s: Situation) -> None:
    assert _verdict(s) is CODES[HEADS["expected"]["cases"][name]["verdict"]]


def test_green_checks_of_an_old_head_land_nothing() -> None:
    old = situation(checks={"sha": OTHER, "head_after": OTHER})
    assert _verdict(old) is BlockerCode.HEAD_MOVING


def test_an_approval_that_a_push_carried_along_is_githubs_to_count() -> None:
    # The rules say whether a push takes approvals back; GitHub's verdict on this head is what counts, and without one
    # a review that the rules ask for is missing.
    assert _verdict(situation(rules={"approvals": 1}, evidence={"review": "REVIEW_REQUIRED"})) is (
        BlockerCode.REVIEW_MISSING
    )
