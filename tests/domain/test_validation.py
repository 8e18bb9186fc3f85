"""Validations: what a result says about a snapshot, and when it may stand in for running its checks again."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from app.domain.validation import (
    MAX_STORED,
    Failed,
    NotRun,
    Passed,
    Snapshot,
    Validation,
    judged,
    of_verify,
    passes,
    recorded,
    reusable,
    shown,
    snapshot_of,
    validations_of,
    version_of,
)
from tests.domain.recovery_scene import BASE, HEAD, NOW, OTHER, RECORD, noted

DEPENDENCIES = "sha256:" + "1" * 64
TREE = "7" * 40
HERE = Snapshot(HEAD, TREE)


def result(**fields: Any) -> Validation:
    facts: dict[str, Any] = {"profile": "unit", "version": "3", "validated_sha": HEAD, "completed": ("a", "b")}
    return Validation.model_validate({**facts, **fields})


JUDGED: list[tuple[str, Validation | None, Snapshot, type[object], str]] = [
    ("never run", None, HERE, NotRun, "never run"),
    ("passed", result(), HERE, Passed, ""),
    ("another commit", result(validated_sha=OTHER), HERE, NotRun, OTHER),
    ("failed", result(failed=("c",)), HERE, Failed, ""),
    ("half-way", result(not_run=("c", "d")), HERE, NotRun, "2 checks did not run"),
    ("failed and half-way", result(failed=("c",), not_run=("d",)), HERE, Failed, ""),
    ("nothing ran", result(completed=()), HERE, NotRun, "names no check"),
    ("the tree", result(validated_sha=None, validated_snapshot=f"tree:{TREE}"), HERE, Passed, ""),
    ("another tree", result(validated_sha=None, validated_snapshot=f"tree:{BASE}"), HERE, NotRun, BASE),
    ("tree unknown", result(validated_sha=None, validated_snapshot=f"tree:{TREE}"), Snapshot(HEAD), NotRun, TREE),
    (
        "a commit decides over a tree",
        result(validated_sha=OTHER, validated_snapshot=f"tree:{TREE}"),
        HERE,
        NotRun,
        OTHER,
    ),
    ("other predecessor", result(predecessor_sha=BASE), replace(HERE, predecessor_sha=OTHER), NotRun, "void"),
    ("stacked since", result(), replace(HERE, predecessor_sha=OTHER), NotRun, "void"),
    ("same predecessor", result(predecessor_sha=OTHER), replace(HERE, predecessor_sha=OTHER), Passed, ""),
    ("predecessor moved", result(), replace(HERE, stale=True), NotRun, "moved on"),
]


@pytest.mark.parametrize(("name", "made", "at", "kind", "words"), JUDGED, ids=[j[0] for j in JUDGED])
def test_what_a_result_says(name: str, made: Validation | None, at: Snapshot, kind: type, words: str) -> None:
    verdict = judged(made, at)
    assert type(verdict) is kind
    assert words in getattr(verdict, "reason", "")


SURE = {"deterministic": True, "dependencies": DEPENDENCIES}
REUSED: list[tuple[str, Validation | None, str | None, str]] = [
    ("all the same", result(**SURE), DEPENDENCIES, ""),
    ("never run", None, DEPENDENCIES, "never run"),
    ("not declared", result(dependencies=DEPENDENCIES), DEPENDENCIES, "not declared deterministic"),
    ("no digest then", result(deterministic=True), DEPENDENCIES, "not known to be the same"),
    ("no digest now", result(**SURE), None, "not known to be the same"),
    ("other digest", result(**SURE), "sha256:" + "2" * 64, "not known to be the same"),
    ("both without", result(deterministic=True), None, "not known to be the same"),
    ("other commit", result(validated_sha=OTHER, **SURE), DEPENDENCIES, OTHER),
    ("failed", result(failed=("x",), **SURE), DEPENDENCIES, "it failed"),
    ("half-way", result(not_run=("x",), **SURE), DEPENDENCIES, "half-way"),
    ("other checks", result(version="2", **SURE), DEPENDENCIES, "its checks were others"),
    ("void", result(predecessor_sha=OTHER, **SURE), DEPENDENCIES, "void"),
]


@pytest.mark.parametrize(("name", "made", "now", "words"), REUSED, ids=[r[0] for r in REUSED])
def test_when_a_result_is_reused(name: str, made: Validation | None, now: str | None, words: str) -> None:
    verdict = reusable(made, HERE, version="3", dependencies=now)
    if name == "all the same":
        assert verdict == Passed(("a", "b"))
    else:
        assert isinstance(verdict, NotRun)
        assert words in verdict.reason


SHAS = st.sampled_from([HEAD, OTHER, BASE])
VALIDATIONS = st.builds(
    lambda sha, tree, failed, not_run, predecessor: result(
        validated_sha=sha,
        validated_snapshot=f"tree:{TREE}" if tree or sha is None else None,
        failed=failed,
        not_run=not_run,
        predecessor_sha=predecessor,
        **SURE,
    ),
    st.none() | SHAS,
    st.booleans(),
    st.sampled_from([(), ("x",)]),
    st.sampled_from([(), ("y",)]),
    st.none() | SHAS,
)


@given(VALIDATIONS, SHAS, st.none() | SHAS, st.booleans(), st.sampled_from([None, "3", "4"]))
def test_a_gate_opens_only_for_a_whole_pass_on_exactly_its_commit(
    made: Validation, sha: str, predecessor: str | None, stale: bool, version: str | None
) -> None:
    record = noted(predecessor_sha=predecessor).model_copy(update={"validations": (made.model_dump(mode="json"),)})
    missing = passes(record, {"unit": version}, snapshot_of(record, sha, TREE, stale=stale))
    whole = not made.failed and not made.not_run
    right = made.validated_sha == sha and made.predecessor_sha == predecessor and not stale
    assert missing == (() if whole and right and version in (None, made.version) else ("unit",))


def test_the_service_stamps_what_it_knows_better_and_keeps_the_latest_of_a_profile() -> None:
    record = noted(predecessor_issue_or_pr=41, predecessor_sha=OTHER)
    once = recorded(record, result(generation=9, predecessor_sha=BASE, failed=("x",)), now=NOW)
    twice = recorded(once, result(), now=NOW)
    (kept,) = validations_of(twice)
    assert (kept.generation, kept.predecessor_sha, kept.recorded_at, kept.failed) == (2, OTHER, NOW, ())
    assert shown(twice, snapshot_of(twice, HEAD))[0].state == "passed"
    # A stack update makes the predecessor another one, and what was found on the old one void.
    moved = twice.model_copy(update={"checkpoint": twice.checkpoint.model_copy(update={"predecessor_sha": BASE})})
    assert shown(moved, snapshot_of(moved, HEAD))[0].because == "it was made on another predecessor, so it is void"


def test_validations_leave_room_in_the_record() -> None:
    record = RECORD
    for n in range(20):
        record = recorded(
            record, result(profile=f"p{n}", completed=tuple(f"{c}{'x' * 100}" for c in range(10))), now=NOW
        )
    names = [v.profile for v in validations_of(record)]
    assert names[-1] == "p19"
    assert 1 < len(names) < 20
    assert len(str(record.validations)) < 2 * MAX_STORED


def test_what_a_holder_pushed_in_another_form_says_nothing() -> None:
    pushed = ({"profile": 7}, {"profile": "x", "version": "1"}, {}, result().model_dump(mode="json"))
    record = RECORD.model_copy(update={"validations": pushed})
    assert [v.profile for v in validations_of(record)] == ["unit"]


def test_names_lose_secrets_paths_and_lines() -> None:
    token = "ghp_" + "A" * 36
    (name, path) = result(completed=(f"pytest\n{token}", "/home/wanda/x/run.sh")).completed
    assert token not in name
    assert "\n" not in name
    assert "wanda" not in path


@pytest.mark.parametrize(
    "wrong",
    [
        {"validated_sha": None},
        {"validated_sha": "HEAD"},
        {"validated_snapshot": "tree:zz"},
        {"dependencies": "md5:1"},
        {"profile": ""},
        {"completed": tuple("x" * 21)},
    ],
)
def test_what_is_no_validation(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        result(**wrong)


def test_the_verify_commands_as_a_validation() -> None:
    commands = (("pytest", "-q"), ("ruff", "check"), ("mypy",))
    made = of_verify(commands, {("pytest", "-q"): 0, ("ruff", "check"): 1}, HEAD)
    assert (made.completed, made.failed, made.not_run) == (("pytest -q",), ("ruff check",), ("mypy",))
    assert made.version == version_of(commands) != version_of(commands[:2])
    assert isinstance(judged(of_verify(commands, dict.fromkeys(commands, 0), HEAD), HERE), Passed)
