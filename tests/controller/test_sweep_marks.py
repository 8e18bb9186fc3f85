"""What a sweep keeps: written whole, forgotten ticket by ticket, one repository apart from the other."""

from datetime import UTC, datetime, timedelta

from app.controller.sweep_marks import Base, Seen, SweepMarks
from app.domain.glance import Mark
from app.domain.ticket_id import Child

DOCS = Child(42, "docs-1")
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
LATER = NOON + timedelta(minutes=5)
BASE = Base("a" * 40, "b" * 40, "c")
FIRST = Seen(7, NOON, BASE, {42: Mark("1"), DOCS: Mark("2", "9 CLEAN", "t")}, frozenset({42, DOCS}), frozenset())


async def test_nothing_is_known_before_the_first_sweep(database):
    assert await SweepMarks(database).last(7) is None


async def test_what_was_seen_is_there_for_the_next_sweep(database):
    marks = SweepMarks(database)
    await marks.keep(FIRST)
    found = await marks.last(7)
    assert (found.at, found.base, found.marks) == (NOON, BASE, FIRST.marks)
    assert found.looked_at == {42: NOON, DOCS: NOON}
    assert await marks.last(8) is None


async def test_only_a_poke_is_a_look(database):
    marks = SweepMarks(database)
    await marks.keep(FIRST)
    moved = Base("d" * 40, "", "e")
    await marks.keep(
        Seen(7, LATER, moved, {42: Mark("1", "9 BEHIND"), DOCS: Mark("3")}, frozenset({DOCS}), frozenset())
    )
    found = await marks.last(7)
    assert (found.at, found.base) == (LATER, moved)
    assert found.marks == {42: Mark("1", "9 BEHIND"), DOCS: Mark("3")}
    assert found.looked_at == {42: NOON, DOCS: LATER}


async def test_a_ticket_that_is_gone_is_forgotten(database):
    marks = SweepMarks(database)
    await marks.keep(FIRST)
    await marks.keep(Seen(8, NOON, BASE, {42: Mark("5")}, frozenset({42}), frozenset()))
    await marks.keep(Seen(7, LATER, BASE, {}, frozenset(), frozenset({42})))
    assert (await marks.last(7)).marks == {DOCS: Mark("2", "9 CLEAN", "t")}
    assert (await marks.last(8)).marks == {42: Mark("5")}


async def test_a_thousand_tickets(database):
    marks = SweepMarks(database)
    many = {number: Mark(str(number)) for number in range(1, 1001)}
    await marks.keep(Seen(7, NOON, BASE, many, frozenset(many), frozenset()))
    assert (await marks.last(7)).marks == many
    await marks.keep(Seen(7, LATER, BASE, {}, frozenset(), frozenset(many)))
    assert (await marks.last(7)).marks == {}
