"""When a key is looked at again: ever more rarely for one reason, and soon where an event brought something new."""

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from app.controller.loop import Loop
from app.controller.turn import Ended

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
SOON = timedelta(seconds=5)
KEY = "acme/shop#42"


class Looking:
    """A loop of which only this question is asked."""

    def __init__(self) -> None:
        self.now = NOW
        nothing = cast(Any, None)
        self.loop = Loop(nothing, nothing, nothing, nothing, nothing, lambda: self.now, nothing, nothing)

    def look(self, reason: str, *, after: timedelta) -> float:
        """A round that begins `after` the last one and wants another in 5 s: in how many it comes."""
        self.now += after
        due = self.loop._slower(KEY, Ended(self.now + SOON, reason), self.now)
        assert due is not None
        return (due - self.now).total_seconds()


def test_a_reason_that_stays_is_followed_ever_more_rarely() -> None:
    looking, waits = Looking(), []
    for _ in range(5):
        waits.append(looking.look("written", after=timedelta(seconds=waits[-1]) if waits else timedelta()))
    assert waits[0] == SOON.total_seconds()
    assert waits == sorted(waits)
    assert waits[-1] > 4 * waits[0]


def test_what_events_bring_before_that_is_news() -> None:
    looking = Looking()
    assert [looking.look("written", after=timedelta(seconds=1)) for _ in range(9)] == [SOON.total_seconds()] * 9


@pytest.mark.parametrize("reason", ["another", "written"])
def test_another_reason_or_peace_in_between_begins_anew(reason: str) -> None:
    looking = Looking()
    looking.look("written", after=timedelta())
    looking.look("written", after=timedelta(minutes=1))
    if reason == "written":
        assert looking.loop._slower(KEY, Ended(None, "as it should be"), looking.now) is None
    assert looking.look(reason, after=timedelta(minutes=5)) == SOON.total_seconds()
