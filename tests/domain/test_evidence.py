"""What evidence makes of the verify commands' result, and that leaving them out is believed only by the record."""

from typing import Any

import pytest

from app.domain.agent_api import EvidenceRequest, VerifyRun
from app.domain.criteria import criteria
from app.domain.evidence import with_evidence
from app.domain.fencing import AtPublished
from app.domain.record import Record
from app.domain.stack import MovedOn, stacking
from app.domain.surroundings import Asked, Predecessor, Surroundings, Tip
from app.domain.validation import VERIFY, Validation, recorded, validations_of, version_of
from app.domain.verdict import verdict_on
from tests.domain.recovery_scene import HEAD, NOW, OTHER, POLICY, RECORD, WORLD, around, noted, view

COMMANDS = (("pytest", "-q"), ("ruff", "check"))
DEPENDENCIES = "sha256:" + "1" * 64
ALONE = Surroundings()


def request(*codes: int | None, clean: bool = True, head: str = HEAD, **more: Any) -> EvidenceRequest:
    """`None` as a code: left out, because a recorded result stands."""
    runs = tuple(
        VerifyRun(command=command, exit_code=code or 0, reused=code is None)
        for command, code in zip(COMMANDS, codes, strict=False)
    )
    return EvidenceRequest(key="k" * 8, seq=1, head_sha=head, clean=clean, verify=runs, **more)


def known(**fields: Any) -> Record:
    facts: dict[str, Any] = {
        "profile": VERIFY,
        "version": version_of(COMMANDS),
        "validated_sha": HEAD,
        "completed": ("pytest -q", "ruff check"),
        "deterministic": True,
        "dependencies": DEPENDENCIES,
        **fields,
    }
    return recorded(RECORD, Validation.model_validate(facts), now=NOW)


def after(record: Record, asked: EvidenceRequest, seen: Surroundings = ALONE) -> Validation | None:
    return next(iter(validations_of(with_evidence(record, asked, COMMANDS, seen, now=NOW))), None)


def test_what_ran_is_the_result_of_the_commit_that_was_shown() -> None:
    made = after(RECORD, request(0, 1))
    assert made is not None
    assert (made.completed, made.failed, made.not_run) == (("pytest -q",), ("ruff check",), ())
    assert (made.validated_sha, made.generation, made.deterministic) == (HEAD, 2, False)
    half = after(RECORD, request(0))
    assert half is not None
    assert half.not_run == ("ruff check",)


def test_a_tree_that_is_not_clean_and_a_policy_without_commands_say_nothing() -> None:
    assert after(RECORD, request(0, 0, clean=False)) is None
    assert with_evidence(RECORD, request(), (), ALONE, now=NOW) == RECORD


def test_what_stands_stays_as_it_was_recorded() -> None:
    record = known()
    assert with_evidence(record, request(None, None, dependencies=DEPENDENCIES), COMMANDS, ALONE, now=NOW) == record


@pytest.mark.parametrize(
    ("record", "now"),
    [
        (RECORD, DEPENDENCIES),
        (known(), None),
        (known(), "sha256:" + "2" * 64),
        (known(deterministic=False), DEPENDENCIES),
        (known(validated_sha=OTHER), DEPENDENCIES),
        (known(failed=("ruff check",), completed=("pytest -q",)), DEPENDENCIES),
        (known(version="older"), DEPENDENCIES),
    ],
)
def test_what_was_left_out_without_a_result_that_stands_did_not_run(record: Record, now: str | None) -> None:
    made = after(record, request(None, None, dependencies=now))
    assert made is not None
    assert (made.completed, made.not_run) == ((), ("pytest -q", "ruff check"))


def test_a_declaration_outlives_a_run_of_the_same_checks() -> None:
    made = after(known(validated_sha=OTHER), request(0, 0, dependencies=DEPENDENCIES))
    assert made is not None
    assert (made.deterministic, made.dependencies, made.validated_sha) == (True, DEPENDENCIES, HEAD)
    others = after(known(validated_sha=OTHER, version="older"), request(0, 0, dependencies=DEPENDENCIES))
    assert others is not None
    assert others.deterministic is False


def test_a_stack_update_voids_what_it_affects_and_the_check_run_shows_it() -> None:
    stacked = noted(predecessor_issue_or_pr=41, predecessor_sha=OTHER)
    made = Validation.model_validate(
        {"profile": VERIFY, "version": version_of(POLICY.verify), "validated_sha": HEAD, "completed": ("pytest -q",)}
    )
    record = recorded(stacked, made, now=NOW)
    at = Predecessor(41, "issue", "OPEN", branches=(Tip("ticket/41", OTHER, None),))
    asked = Asked(predecessor=41, predecessor_sha=OTHER)
    still = around(record=record, asked=asked, predecessor=at)
    assert criteria(still)[11].met is True
    assert "verify" in verdict_on(record, AtPublished(HEAD, True), still.observation).summary
    moved = Predecessor(41, "issue", "OPEN", branches=(Tip("ticket/41", "d" * 40, None),))
    gone_on = around(record=record, asked=asked, predecessor=moved)
    assert isinstance(stacking(record.checkpoint, gone_on.observation.around), MovedOn)
    judged = criteria(gone_on)[11]
    assert (judged.met, "moved on, so it is void" in judged.reason) == (None, True)
    summary = verdict_on(record, AtPublished(HEAD, True), gone_on.observation).summary
    assert "not run (the predecessor has moved on, so it is void)" in summary
    # The holder takes the new one in and records it: what was found on the old one is void for that as well.
    restacked = record.model_copy(
        update={"checkpoint": record.checkpoint.model_copy(update={"predecessor_sha": "d" * 40})}
    )
    judged = criteria(
        around(record=restacked, asked=Asked(predecessor=41, predecessor_sha="d" * 40), predecessor=moved)
    )[11]
    assert (judged.met, "another predecessor" in judged.reason) == (None, True)


def test_a_failed_profile_of_the_agents_own_is_not_hidden_by_a_verify_that_passed() -> None:
    record = known(version=version_of(POLICY.verify), completed=("pytest -q",))
    assert criteria(view(record))[11].met is True
    failed = Validation(profile="unit", version="1", validated_sha=HEAD, failed=("a",))
    judged = criteria(view(recorded(record, failed, now=NOW)))[11]
    assert (judged.met, judged.reason) == (False, f"failed on {HEAD}: unit")
    elsewhere = Validation(profile="unit", version="1", validated_sha=OTHER, failed=("a",))
    assert criteria(view(recorded(record, elsewhere, now=NOW)))[11].met is True


def test_verify_commands_that_changed_were_not_run() -> None:
    judged = criteria(view(known(version="older")))[11]
    assert (judged.met, "are others" in judged.reason) == (None, True)
    assert WORLD.around == ALONE
