"""Witnesses: only ever raised, and every contradiction named."""

import asyncio

import pytest

from app.controller.database import Database
from app.controller.witnesses import LedgerPoint, Verdict, Witnesses

REF = "refs/agent-recovery/active/42"
SEEN = LedgerPoint(sequence=7, generation=2, commit="a" * 40)


@pytest.fixture
def witnesses(database) -> Witnesses:
    return Witnesses(database)


@pytest.mark.parametrize(
    ("now", "verdict"),
    [
        (LedgerPoint(8, 2, "b" * 40), Verdict.RAISED),
        (LedgerPoint(9, 5, "b" * 40), Verdict.RAISED),
        (SEEN, Verdict.SAME),
        (LedgerPoint(7, 2, "b" * 40), Verdict.FORKED),
        (LedgerPoint(7, 3, "b" * 40), Verdict.FORKED),
        (LedgerPoint(6, 2, "b" * 40), Verdict.BEHIND),
        (LedgerPoint(6, 3, "b" * 40), Verdict.BEHIND),
        (LedgerPoint(8, 1, "b" * 40), Verdict.BEHIND),
    ],
)
async def test_what_is_seen_now_against_what_was_seen(witnesses, now, verdict):
    assert (await witnesses.see(1, REF, SEEN)).verdict is Verdict.RAISED
    testimony = await witnesses.see(1, REF, now)
    expected = now if verdict is Verdict.RAISED else SEEN
    assert (testimony.verdict, testimony.highest) == (verdict, expected)
    assert await witnesses.highest(1, REF) == expected


async def test_repositories_and_refs_do_not_mix(witnesses):
    await witnesses.see(1, REF, SEEN)
    assert await witnesses.highest(2, REF) is None
    assert await witnesses.highest(1, REF.replace("42", "4")) is None


async def test_racing_processes_end_at_the_highest(witnesses, database_url):
    other = Database(database_url)
    points = [LedgerPoint(n, 1, f"{n:040x}") for n in range(1, 40)]
    try:
        await asyncio.gather(
            *(witnesses.see(1, REF, point) for point in points[::-1]),
            *(Witnesses(other).see(1, REF, point) for point in points),
        )
    finally:
        other.close()
    assert await witnesses.highest(1, REF) == points[-1]
