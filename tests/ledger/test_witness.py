"""What other memories say about a ledger's head."""

from typing import Any

import pytest

from app.domain.record import Record
from app.ledger.witness import Backwards, Current, Forked, Missing, Witness, judge


@pytest.fixture(scope="session")
def entries(writers: Any) -> tuple[Any, ...]:
    """Sequences 5, 4 and 3, newest first; what lies below is known by SHA only."""
    third = writers.sealed(writers.held(sequence=3), bare=True)
    fourth = writers.pushed(third)
    return writers.pushed(fourth), fourth, third


def test_without_witnesses_nothing_contradicts(entries: Any) -> None:
    assert judge(entries, []) == Current()
    assert judge((), []) == Current()


@pytest.mark.parametrize(
    ("sequence", "generation", "commit", "verdict"),
    [
        (5, 1, 0, Current),
        (4, 1, 1, Current),
        (3, 1, 2, Current),
        (2, 1, "1" * 40, Current),
        (2, 1, "9" * 40, Forked),
        (1, 1, "9" * 40, Current),
        (5, 1, 1, Forked),
        (4, 1, 0, Forked),
        (5, 1, "", Current),
        (6, 1, "9" * 40, Backwards),
        (4, 2, "9" * 40, Backwards),
    ],
)
def test_verdicts(entries: Any, sequence: int, generation: int, commit: int | str, verdict: type) -> None:
    sha = entries[commit].sha if isinstance(commit, int) else commit
    for prefix in (sha, sha[:12]):
        found = judge(entries, [Witness("the table", sequence, generation, prefix)], earlier=["1" * 40])
        assert isinstance(found, verdict), found


def test_a_ledger_that_is_gone_is_missing_and_the_highest_witness_is_named() -> None:
    found = judge((), [Witness("a", 3, 1, "x"), Witness("b", 7, 2, "y")])
    assert isinstance(found, Missing)
    assert found.evidence.source == "b"
    assert "sequence 7 of generation 2" in found.expected


def test_the_worst_of_several_witnesses_decides(entries: Any) -> None:
    true, false = Witness("a", 5, 1, entries[0].sha), Witness("b", 9, 1, "f" * 40)
    assert isinstance(judge(entries, [true, false]), Backwards)
    assert isinstance(judge(entries, [false, true]), Backwards)
    assert isinstance(judge(entries, [true, Witness("c", 4, 1, "f" * 12)]), Forked)


def test_a_head_that_cannot_be_read_is_not_current(writers: Any) -> None:
    entry = writers.sealed(Record(ticket=42, sequence=1, status="unclaimed"))
    unreadable = type(entry)(entry.sha, None, None, entry.tree, entry.message, "{")
    assert isinstance(judge([unreadable], [Witness("a", 1, 0, entry.sha)]), Backwards)


@pytest.mark.parametrize(
    ("sequence", "generation", "shown", "verdict"),
    [
        (9, 1, "stone", Current),
        (8, 1, "other", Current),  # of what was pruned, nothing is left to compare with
        (2, 1, "other", Current),
        (9, 1, "other", Forked),
        (10, 1, "other", Backwards),
        (8, 2, "other", Backwards),
    ],
)
@pytest.mark.parametrize("returned", [False, True])
def test_below_a_tombstone_nothing_can_be_compared_and_above_it_everything(
    writers: Any, returned: bool, sequence: int, generation: int, shown: str, verdict: type
) -> None:
    at = {"at": "2026-11-30T04:00:00Z", "sequence": 9}
    fields = writers.held(sequence=9, status="cancelled").model_dump() | {"lease": None, "pruned": at}
    stone = writers.sealed(Record.model_validate(fields), bare=True, event="pruned")
    chain = (writers.sealed(writers.held(sequence=10), stone), stone) if returned else (stone,)
    if returned and verdict is Backwards:
        sequence += 1
    witness = Witness("the table", sequence, generation, stone.sha if shown == "stone" else "9" * 40)
    assert isinstance(judge(chain, [witness]), verdict)
