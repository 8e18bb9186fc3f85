"""Whose turn it is on a trunk: a table of rows, and a long queue played to its end."""

from datetime import UTC, datetime, timedelta

import pytest

from app.domain.landing_turns import AGAIN, FORGOTTEN, LONGEST, TURN, Asking, Turn, Waits, asked, following

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def waiting(ticket: str, since: int = 0, priority: int = 2, seen: timedelta = MINUTE) -> Asking:
    return Asking(ticket, priority, NOW - since * MINUTE, NOW - seen)


def holding(ticket: str, began: timedelta = MINUTE, until: timedelta = MINUTE) -> Asking:
    return Asking(ticket, 2, NOW - 30 * MINUTE, NOW - MINUTE, NOW - began, NOW + until)


@pytest.mark.parametrize(
    ("row", "answer"),
    [
        ((), Turn(NOW + TURN)),
        ((holding("1"),), Waits("1", NOW + MINUTE)),
        ((holding("1", until=-MINUTE),), Waits("1", NOW + AGAIN)),
        ((waiting("1", since=5),), Waits("1", NOW + AGAIN)),
        ((waiting("1", since=5, priority=3),), Turn(NOW + TURN)),
        ((waiting("1", since=50, seen=FORGOTTEN + MINUTE),), Turn(NOW + TURN)),
        ((holding("9"), waiting("1", since=5, priority=0)), Turn(NOW + TURN)),
        ((holding("9", began=LONGEST + MINUTE),), Turn(NOW + TURN)),
        ((holding("9", began=LONGEST + MINUTE), waiting("1")), Waits("1", NOW + AGAIN)),
        ((waiting("9", since=9), waiting("1", since=5)), Turn(NOW + TURN)),
    ],
)
def test_who_is_next(row: tuple[Asking, ...], answer: Turn | Waits) -> None:
    mine, found = asked(row, "9", 2, now=NOW)
    assert found == answer
    assert mine.has_turn(NOW) == isinstance(answer, Turn)
    assert mine.asked_at == NOW


def test_there_is_one_turn_at_a_time_and_everybody_gets_theirs() -> None:
    row: dict[str, Asking] = {}
    now, served = NOW, []
    tickets = [str(n) for n in range(1, 31)]
    for _ in range(200):
        for ticket in tickets:
            others = [a for a in row.values() if a.ticket != ticket]
            row[ticket], answer = asked([*others, *([row[ticket]] if ticket in row else [])], ticket, 2, now=now)
            assert sum(a.has_turn(now) for a in row.values()) <= 1
            if isinstance(answer, Turn):
                served.append(ticket)
                tickets.remove(ticket)
                del row[ticket]
                break
        now += MINUTE
    assert served == [str(n) for n in range(1, 31)]


def test_the_next_is_the_most_urgent_and_then_the_first() -> None:
    row = (waiting("3", since=1), waiting("1", since=9, priority=3), waiting("2", since=5), holding("4"))
    found = following(row, now=NOW)
    assert found is not None
    assert found.ticket == "2"
    assert following((holding("4"),), now=NOW) is None
