"""The ownership protocol, R6 and R7: no answer never counts as "did not happen", and the rest is carried over."""

from datetime import UTC, datetime

import pytest

from app.domain.checkpoint import Checkpoint
from app.domain.record import CheckRunRef, Drafting, Permit, PermitKind, Projections, Record, Target
from app.domain.settling import REASON_BYTES, Declined, Made, NotSent, Result, Unknown, settle

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
HEAD = "a" * 40


def _permit(kind: PermitKind = "comment_create", **fields: object) -> Permit:
    target = Target(head_sha=HEAD, generation=3) if kind == "check_run_create" else Target(marker="m")
    return Permit.model_validate({"id": "p1", "kind": kind, "target": target, "author": "me", "round": "r", **fields})


OTHER = Permit(id="p2", kind="pr_create", target=Target(head="b", base="t"), author="you", round="r")


def _record(*open_: Permit, **fields: object) -> Record:
    return Record.model_validate(
        {"ticket": 42, "sequence": 5, "status": "working", "generation": 3, "open": open_, "later": 1, **fields}
    )


@pytest.mark.parametrize("unanswered", [False, True])
@pytest.mark.parametrize("state", ["fired", "unknown"])
@pytest.mark.parametrize(
    ("result", "closed", "becomes"),
    [
        (Made(_permit(), 9), True, None),
        (NotSent(_permit()), True, None),
        (Unknown(_permit()), False, ("unknown", True)),
        (Declined(_permit(), "no", NOW), False, ("blocked", None)),
    ],
    ids=["made", "not sent", "unknown", "declined"],
)
def test_what_each_answer_makes_of_a_permit(
    result: Result, closed: bool, becomes: tuple[str, bool | None] | None, state: str, unanswered: bool
) -> None:
    before = _record(_permit(state=state, unanswered=unanswered), OTHER)
    after = settle(before, [result])
    mine = [p for p in after.open if p.id == "p1"]
    assert (not mine) is closed
    if becomes is not None:
        # A refusal does not answer the sends before it: what was unanswered stays so.
        assert (mine[0].state, mine[0].unanswered) == (becomes[0], unanswered if becomes[1] is None else becomes[1])
    assert OTHER in after.open
    assert after.model_dump(exclude={"open", "projections"}) == before.model_dump(exclude={"open", "projections"})


@pytest.mark.parametrize("kind", [Made(_permit(), 9), Unknown(_permit()), Declined(_permit(), "x", NOW)])
def test_the_result_of_a_permit_that_is_not_open_changes_nothing(kind: Result) -> None:
    before = _record(OTHER)
    assert settle(before, [kind]) == before


def test_a_result_told_twice_counts_once() -> None:
    once = settle(_record(_permit()), [Made(_permit(), 9)])
    assert settle(once, [Made(_permit(), 10)]) == once


def test_a_refusal_is_kept_in_githubs_words_short_and_on_one_line() -> None:
    after = settle(_record(_permit()), [Declined(_permit(), "no\n\x1b[31m" + "é" * 500, NOW)])
    (blocked,) = after.open
    assert blocked.reason is not None
    assert blocked.reason.startswith("no ")
    assert "\n" not in blocked.reason
    assert "\x1b" not in blocked.reason
    assert len(blocked.reason.encode()) <= REASON_BYTES
    assert blocked.refused_at == NOW


def test_a_comment_and_a_check_run_are_noted_by_id() -> None:
    assert settle(_record(_permit()), [Made(_permit(), 9)]).projections.comment_id == 9
    run = _permit("check_run_create")
    expected = CheckRunRef(id=9, sha=HEAD, generation=3)
    assert settle(_record(run), [Made(run, 9)]).projections.check_run == expected


def test_a_new_pull_request_starts_without_comment_and_as_a_draft() -> None:
    pull = _permit("pr_create")
    before = _record(
        pull, projections=Projections(comment_id=4, drafting=Drafting(by="ann")), checkpoint=Checkpoint(objective="o")
    )
    after = settle(before, [Made(pull, 9)])
    assert after.projections == Projections(pr_number=9)
    assert (after.checkpoint.pr_number, after.checkpoint.objective) == (9, "o")


def test_a_pull_request_found_to_be_the_known_one_keeps_its_comment() -> None:
    pull = _permit("pr_create")
    known = Projections(pr_number=9, comment_id=4, drafting=Drafting(by="ann"))
    assert settle(_record(pull, projections=known), [Made(pull, 9)]).projections == known


@pytest.mark.parametrize(("made", "replaced"), [(9, 8), (8, None)], ids=["another", "the same"])
def test_the_pull_request_that_could_not_be_reopened_is_remembered_as_replaced(made: int, replaced: int | None) -> None:
    pull = _permit("pr_create")
    after = settle(_record(pull, projections=Projections(pr_number=8, reopen_pr=8)), [Made(pull, made)])
    assert (after.projections.reopen_pr, after.projections.replaced_pr) == (None, replaced)
