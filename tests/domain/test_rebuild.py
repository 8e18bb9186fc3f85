"""What a lost ledger is rebuilt to, and when it is not."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from app.domain.command_noted import KEPT, command, known, noted
from app.domain.outcome import Blocked
from app.domain.rebuild import Rebuild, Remembered, rebuilt
from app.domain.record import Record
from app.domain.sealed_body import ANSWER_BYTES, payload_of
from app.domain.ticket_id import Child

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
A, B = "a" * 40, "b" * 40


def body(sequence: int = 7, generation: int = 2, source: str = "comment 5", **more: Any) -> Remembered:
    checkpoint = {
        "ticket_branch": "ticket/42-apples",
        "immediate_pr_base": "release-1",
        "base_sha": A,
        "pr_number": 43,
        "completed_steps": [{"id": "one", "text": "one"}],
        "next_steps": [{"text": "two"}],
    }
    fields = {
        "ticket": 42,
        "sequence": sequence,
        "generation": generation,
        "status": "working",
        "published": {"sha": B, "generation": generation, "nonce": "n" * 32},
        "checkpoint": checkpoint,
    }
    return Remembered(source, fields | more)


def build(*bodies: Remembered, sequence: int = 7, generation: int = 2, accept_loss: bool = False) -> Rebuild | Blocked:
    return rebuilt(
        42,
        bodies,
        highest_sequence=sequence,
        highest_generation=generation,
        by="wanda",
        now=NOW,
        accept_loss=accept_loss,
    )


def test_what_was_burned_is_kept_in_the_sealed_text_and_stays_burned() -> None:
    record = Record(ticket=42, sequence=7, status="working", generation=2, burned_shas=(A,))
    told = json.loads(payload_of(record, repository_id=1, ledger_ref="refs/x", ledger_commit=B))
    made = build(Remembered("comment 5", told))
    assert isinstance(made, Rebuild)
    assert made.record.burned_shas == (A,)


def test_a_command_that_was_carried_out_is_known_again_after_the_rebuild() -> None:
    record = Record(ticket=42, sequence=7, status="working", generation=2)
    for number in range(KEPT + 3):
        record = noted(record, command(f"comment-{number}", "hold", "ann", "said\n" + "word " * 60, now=NOW))
    told = json.loads(payload_of(record, repository_id=1, ledger_ref="refs/x", ledger_commit=B))
    made = build(Remembered("comment 5", told))
    assert isinstance(made, Rebuild)
    assert known(made.record, "comment-0") is None
    again = known(made.record, f"comment-{KEPT + 2}")
    assert again is not None
    assert (again.verb, again.by, again.at) == ("hold", "ann", NOW)
    assert again.answer.startswith("said word word")
    assert len(again.answer.encode()) <= ANSWER_BYTES


def test_it_begins_above_everything_witnessed_in_a_new_generation_without_a_holder() -> None:
    made = build(body(), body(sequence=5, source="check-run 9"))
    assert isinstance(made, Rebuild)
    record = made.record
    assert (record.sequence, record.generation, record.status, record.lease) == (8, 3, "unclaimed", None)
    assert record.work is not None
    assert (record.work.branch, record.work.trunk, record.work.base_sha) == ("ticket/42-apples", "release-1", A)
    assert [step.id for step in record.checkpoint.completed_steps] == ["one"]
    assert record.projections.pr_number == 43
    assert record.intent is not None
    assert (record.intent.by, record.intent.at) == ("wanda", NOW)
    assert record.approvals == ()
    assert (made.source, made.lost) == ("comment 5", "")


def test_what_was_published_is_kept_and_counts_for_no_lease() -> None:
    made = build(body())
    assert isinstance(made, Rebuild)
    assert made.record.published is not None
    assert made.record.published.sha == B
    assert made.record.published_now is None


@pytest.mark.parametrize(
    ("state", "after"),
    [
        ("intended", "unknown"),
        ("dispatching", "unknown"),
        ("unknown", "unknown"),
        ("abandoned", "unknown"),
        ("confirmed", "confirmed"),
        ("failed_no_effect", "failed_no_effect"),
    ],
)
def test_effects_that_were_not_settled_are_unknown(state: str, after: str) -> None:
    effect = {"key": "deploy-1", "kind": "deploy.staging", "state": state, "generation": 2, "nonce": "n"}
    made = build(body(effects=[effect], effect_keys={"0123456789abcdef": "confirmed:0"}))
    assert isinstance(made, Rebuild)
    assert [(e.key, e.state) for e in made.record.effects] == [("deploy-1", after)]
    assert made.record.effect_keys == {"0123456789abcdef": "confirmed:0"}


@pytest.mark.parametrize(("sequence", "generation"), [(9, 2), (7, 3), (12, 4)])
def test_a_body_behind_the_high_water_mark_needs_a_person_who_accepts_the_loss(sequence: int, generation: int) -> None:
    refused = build(body(), sequence=sequence, generation=generation)
    assert isinstance(refused, Blocked)
    assert "--accept-loss" in refused.remedy
    made = build(body(), sequence=sequence, generation=generation, accept_loss=True)
    assert isinstance(made, Rebuild)
    assert (made.record.sequence, made.record.generation) == (max(sequence, 7) + 1, generation + 1)
    assert f"sequence {sequence} of generation {generation}" in made.lost


def test_an_ended_ticket_stays_ended() -> None:
    made = build(body(status="landed"))
    assert isinstance(made, Rebuild)
    assert made.record.status == "landed"


def test_a_childs_ledger_stays_the_childs() -> None:
    child = Child(42, "docs-1")
    made = rebuilt(
        child,
        [body(ticket="42.docs-1")],
        highest_sequence=7,
        highest_generation=2,
        by="wanda",
        now=NOW,
        accept_loss=False,
    )
    assert isinstance(made, Rebuild)
    assert made.record.ticket_id == child


@pytest.mark.parametrize(
    "broken",
    [
        {"checkpoint": {"base_sha": "no sha"}},
        {"checkpoint": []},
        {"published": {"sha": "main"}},
        {"published": {}},
        {"effects": [{"key": "../x", "kind": "k", "state": "confirmed", "generation": 1, "nonce": ""}]},
        {"effects": "none"},
        {"status": 4},
    ],
)
def test_what_this_version_cannot_read_is_no_reason_to_guess(broken: dict[str, Any]) -> None:
    refused = build(body(**broken))
    assert isinstance(refused, Blocked)
    assert "comment 5 cannot be read" in refused.reason


def test_nothing_remembered_is_nothing_to_rebuild_from() -> None:
    assert isinstance(build(), Blocked)
