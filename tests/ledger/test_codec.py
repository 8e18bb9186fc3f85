"""How records and commits are written and read back."""

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.checkpoint import Checkpoint, Step
from app.domain.record import MAX_BYTES, Answered, Record
from app.ledger.codec import (
    Entry,
    NewerSchema,
    NotStorable,
    Unreadable,
    blob_bytes,
    commit_bytes,
    commit_sha,
    draft,
    dump,
    load,
    same_json,
    tree_bytes,
    tree_sha,
)

WHEN = datetime(2026, 11, 30, 4, 5, 52, tzinfo=UTC)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
steps = st.lists(st.builds(Step, text=texts, id=texts), max_size=4).map(tuple)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@given(
    objective=texts,
    completed=steps,
    sequence=st.integers(0, 10**6),
    answer=st.dictionaries(texts, values, max_size=3),
    unknown=st.dictionaries(st.from_regex(r"\Ax_[a-z]{1,8}\Z"), values, max_size=3),
)
def test_a_record_reads_back_as_it_was_written(
    objective: str, completed: tuple[Step, ...], sequence: int, answer: dict[str, Any], unknown: dict[str, Any]
) -> None:
    record = Record(
        ticket=42,
        sequence=sequence,
        status="working",
        checkpoint=Checkpoint(objective=objective, completed_steps=completed),
        requests=(Answered(key="k", seq=1, generation=1, answer=answer),),
        **unknown,
    )
    text = dump(record)
    back = load(text)
    assert isinstance(back, Record)
    assert back == record
    assert dump(back) == text


MOMENTS = ("9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59Z", "1899-12-31T00:00:00Z")
"""Moments that have no place in UTC, and such that nothing can be added to or taken from."""


def held_until(moment: str) -> str:
    lease = {"generation": 1, "nonce": "n", "holder": "h", "login": "l", "claim_id_hash": "0"}
    times = {"granted_at": "2026-11-30T04:00:00Z", "expires_at": moment}
    record = {"schema": 1, "ticket": 42, "sequence": 1, "status": "working", "lease": lease | times}
    return json.dumps(record)


@given(st.text(max_size=300) | st.binary(max_size=300).map(lambda b: b.decode("utf-8", "surrogateescape")))
def test_no_text_makes_reading_raise(text: str) -> None:
    assert isinstance(load(text), Unreadable)


@given(field=st.sampled_from([*sorted(Record.model_fields), "schema", "x"]), value=values)
def test_no_value_in_any_field_makes_reading_raise(field: str, value: Any) -> None:
    fields = json.loads(dump(Record(ticket=42, sequence=1, status="working"))) | {field: value}
    assert isinstance(load(json.dumps(fields)), Record | Unreadable | NewerSchema)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not JSON"),
        ("[]", "no JSON object"),
        ('{"schema":1,"ticket":1,"ticket":1}', "twice"),
        ('{"schema":NaN}', "not finite"),
        ('{"schema":1e999}', "not finite"),
        ('{"schema":1,"ticket":' + "9" * 30 + "}", "too large"),
        ('{"schema":1,"ticket":' + "9" * 5000 + "}", "too large"),
        ('{"a":' * 33 + "1" + "}" * 33, "nested too deeply"),
        ("[" * 20_000, "malformed"),
        ('{"schema":1,"x":"\\ud800"}', "no Unicode"),
        ('{"schema":true}', "no schema"),
        ('{"schema":0}', "no schema"),
        ('{"schema":1,"ticket":"42","sequence":1,"status":"working"}', "'ticket'"),
        ('{"schema":1,"ticket":42,"sequence":1.0,"status":"working"}', "'sequence'"),
        ('{"schema":1,"ticket":42,"sequence":1,"status":"asleep"}', "'status'"),
        ('{"schema":1,"ticket":42,"sequence":1}', "'status'"),
        *((held_until(moment), "'lease.expires_at'") for moment in MOMENTS),
        (" " * (MAX_BYTES + 1), "larger"),
    ],
)
def test_why_a_text_is_no_record(text: str, reason: str) -> None:
    read = load(text)
    assert isinstance(read, Unreadable)
    assert reason in read.reason


def test_a_newer_schema_is_named_and_not_interpreted() -> None:
    assert load('{"schema":2,"ticket":"anything"}') == NewerSchema(2)


def test_a_record_over_the_limit_is_not_written() -> None:
    huge = Record(ticket=1, sequence=1, status="working", checkpoint=Checkpoint(objective="é" * MAX_BYTES))
    with pytest.raises(NotStorable, match=f"at most {MAX_BYTES}"):
        dump(huge)
    with pytest.raises(NotStorable):
        dump(Record(ticket=1, sequence=1, status="working", x_half="\ud800"))


@pytest.mark.parametrize(
    "changed",
    [
        {"requests": (Answered(key="k" * 8, seq=2**63, generation=1, answer={}),)},
        {"x_number": 2**70},
        {"x_deep": json.loads("[" * 40 + "]" * 40)},
        {"generation": -(2**64)},
        {"schema_": 2},
    ],
)
def test_what_could_not_be_read_again_is_not_written(changed: dict[str, Any]) -> None:
    record = Record(ticket=1, sequence=1, status="working").model_copy(update=changed)
    with pytest.raises(NotStorable):
        dump(record)


def test_text_stands_unescaped_and_keys_are_sorted() -> None:
    text = dump(Record(ticket=42, sequence=1, status="working", checkpoint=Checkpoint(objective="größer")))
    assert "größer" in text
    assert text.endswith("}\n")
    keys = list(json.loads(text))
    assert keys == sorted(keys)
    assert "schema" in keys


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1, True),
        (1, True, False),
        (0, False, False),
        (1, 1.0, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ([1, 2], [2, 1], False),
        (None, "", False),
    ],
)
def test_equality_is_that_of_json(one: Any, other: Any, same: bool) -> None:
    assert same_json(one, other) is same


def test_object_ids_are_those_git_computes(tmp_path: Path, writers: Any) -> None:
    made = draft(
        ref="refs/agent-recovery/active/42",
        parent="a" * 40,
        code_parent="b" * 40,
        record=writers.held(),
        event="pushed",
        repository_id=1,
        sealer=writers.sealer,
        request="request-1",
        when=WHEN,
        nonce="0123",
    )

    def stored(kind: str, content: bytes) -> str:
        command = ["git", "hash-object", "-w", "--stdin", "-t", kind]
        return (
            subprocess.run(command, cwd=tmp_path, input=content, check=True, capture_output=True)
            .stdout.decode()
            .strip()
        )

    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    stored("blob", blob_bytes(made.record_text))
    assert stored("tree", tree_bytes(made.record_text)) == made.tree == tree_sha(made.record_text)
    assert stored("commit", commit_bytes(made)) == commit_sha(made)


def test_a_message_tells_the_story_and_ends_with_the_seal(writers: Any) -> None:
    entry = writers.sealed(writers.held(sequence=7), event="claimed by generation 1", request="abcdefgh")
    lines = entry.message.split("\n")
    assert lines[0] == "42 · claimed by generation 1"
    assert lines[1] == ""
    assert lines[2:-1] == [
        "Recovery-Ticket: 42",
        "Recovery-Generation: 1",
        "Recovery-Sequence: 7",
        "Recovery-Event: claimed by generation 1",
        "Recovery-Request: abcdefgh",
    ]
    assert lines[-1].startswith("Recovery-Seal: ed25519:k1:")
    assert entry.event == "claimed by generation 1"


@pytest.mark.parametrize("event", ["", "two\nlines", "x" * 81, " leading", "Recovery\r", "a\x00b", "é"])
def test_an_event_cannot_break_the_message(writers: Any, event: str) -> None:
    with pytest.raises(ValueError, match="event"):
        writers.sealed(writers.held(), event=event)


def test_a_request_cannot_break_the_message(writers: Any) -> None:
    with pytest.raises(ValueError, match="request"):
        writers.sealed(writers.held(), request="a\nRecovery-Ticket: 1")


def test_a_trailer_given_twice_says_nothing() -> None:
    entry = Entry("a" * 40, None, None, "t", "s\n\nRecovery-Ticket: 1\nRecovery-Ticket: 2\nRecovery-Event: x", None)
    assert entry.trailers == {"Recovery-Event": "x"}
    assert isinstance(entry.record, Unreadable)
    assert entry.raw_fields() == {}
