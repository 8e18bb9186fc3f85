"""A person's word about an effect: for this very one, in this generation, and only where one is needed."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.domain.effect import Effect, is_approved
from app.domain.effect_decision import approved, denied, resolved
from app.domain.effect_journal import Noted
from app.domain.outcome import Blocked, Code
from app.domain.record import Record

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def record(kind: str = "deploy.production", state: str = "intended", **more: Any) -> Record:
    fields = {"key": "prod", "kind": kind, "state": state, "generation": 2, "nonce": "n2"}
    return Record(
        ticket=42, sequence=5, status="working", generation=2, effects=(Effect.model_validate(fields),), **more
    )


def test_an_approval_is_of_this_effect_in_this_generation_and_takes_the_place_of_older_ones() -> None:
    old = ({"effect": "prod", "generation": 1, "by": "olive"}, {"effect": "mail", "generation": 2, "by": "olive"})
    answer = approved(record(approvals=old), "prod", by="olive", now=NOW)
    assert isinstance(answer, Noted)
    approvals = answer.record.approvals
    assert approvals == (old[1], {"effect": "prod", "generation": 2, "by": "olive", "at": "2026-11-30T12:00:00Z"})
    assert is_approved(approvals, "prod", 2)
    assert not is_approved(approvals, "prod", 3)
    again = approved(answer.record, "prod", by="olive", now=NOW)
    assert isinstance(again, Noted)
    assert again.record == answer.record


@pytest.mark.parametrize(
    ("before", "key", "code"),
    [
        (record(), "other", Code.NOT_FOUND),
        (record(state="dispatching"), "prod", Code.NOT_FOUND),
        (record(state="unknown"), "prod", Code.NOT_FOUND),
        (record("tag"), "prod", Code.USAGE),
    ],
)
def test_there_is_nothing_to_approve(before: Record, key: str, code: Code) -> None:
    answer = approved(before, key, by="olive", now=NOW)
    assert isinstance(answer, Blocked)
    assert answer.code is code


def test_of_an_ended_ticket_nothing_is_approved_and_what_is_unknown_is_still_resolved() -> None:
    over = record(state="unknown").model_copy(update={"status": "cancelled"})
    answer = approved(record().model_copy(update={"status": "landed"}), "prod", by="olive", now=NOW)
    assert isinstance(answer, Blocked)
    assert "landed" in answer.reason
    assert isinstance(resolved(over, "prod", done=True, by="olive", now=NOW), Noted)


@pytest.mark.parametrize(("done", "state"), [(True, "confirmed"), (False, "failed_no_effect")])
def test_a_person_says_how_an_unknown_effect_ended(done: bool, state: str) -> None:
    answer = resolved(record(state="unknown"), "prod", done=done, by="olive", now=NOW)
    assert isinstance(answer, Noted)
    assert (answer.effect.state, answer.effect.result and answer.effect.result.by) == (state, "person")


def test_one_that_shrank_to_its_key_is_resolved_too() -> None:
    from app.domain.effect_journal import lost_room

    shrunk = lost_room(record(state="unknown"))
    assert shrunk is not None
    answer = resolved(shrunk, "prod", done=True, by="olive", now=NOW)
    assert isinstance(answer, Noted)
    assert (answer.record.effects[0].state, answer.record.effect_keys) == ("confirmed", {})


@pytest.mark.parametrize("state", ["intended", "dispatching", "confirmed", "failed_no_effect", "abandoned"])
def test_only_an_unknown_effect_waits_for_a_person(state: str) -> None:
    answer = resolved(record(state=state), "prod", done=True, by="olive", now=NOW)
    assert isinstance(answer, Blocked)
    assert answer.code is Code.USAGE
    assert isinstance(resolved(record(), "other", done=True, by="olive", now=NOW), Blocked)


def test_the_same_word_again_changes_nothing() -> None:
    once = approved(record(), "prod", by="olive", now=NOW)
    assert isinstance(once, Noted)
    later = approved(once.record, "prod", by="olive", now=NOW + timedelta(hours=1))
    assert later == once
    ended = resolved(record(state="unknown"), "prod", done=True, by="olive", now=NOW)
    assert isinstance(ended, Noted)
    assert resolved(ended.record, "prod", done=True, by="olive", now=NOW + timedelta(hours=1)) == ended
    assert isinstance(resolved(ended.record, "prod", done=False, by="olive", now=NOW), Blocked)


def test_what_a_person_denies_is_done_in_no_generation_and_was_never_approved() -> None:
    approval = ({"effect": "prod", "generation": 2, "by": "olive"}, {"effect": "mail", "generation": 2, "by": "olive"})
    answer = denied(record(approvals=approval), "prod", by="olive", now=NOW)
    assert isinstance(answer, Noted)
    assert (answer.effect.state, answer.record.approvals) == ("failed_no_effect", approval[1:])
    assert denied(answer.record, "prod", by="olive", now=NOW + timedelta(hours=1)) == answer


@pytest.mark.parametrize("state", ["dispatching", "confirmed", "failed_no_effect", "unknown"])
def test_what_was_let_through_is_not_taken_back_by_a_word(state: str) -> None:
    answer = denied(record(state=state), "prod", by="olive", now=NOW)
    assert isinstance(answer, Blocked)
    assert answer.code is Code.NOT_FOUND
    assert isinstance(denied(record(), "other", by="olive", now=NOW), Blocked)
