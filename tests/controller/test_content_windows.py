"""New content is counted by all replicas together: of many writers none gets a place that another one has, and a lost
database loses nothing but the common count.
"""

import asyncio
import random
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.controller.content_windows import BUCKET_S, ContentWindows, wait_in
from app.controller.database import Database
from app.github.clock import GitHubClock
from app.github.errors import RateLimited
from app.github.pace import CONTENT, Pace

(MINUTE, A_MINUTE), (HOUR, AN_HOUR) = CONTENT
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
COMMENT = "POST /repos/{owner}/{repo}/issues/{number}/comments"


@contextmanager
def replicas(url: str, count: int) -> Iterator[list[ContentWindows]]:
    databases = [Database(url) for _ in range(count)]
    try:
        yield [ContentWindows(database) for database in databases]
    finally:
        for database in databases:
            database.close()


async def test_of_many_replicas_at_once_no_more_are_let_through_than_the_minute_takes(database_url: str) -> None:
    with replicas(database_url, 4) as windows:
        # They do not even agree on the time to the second.
        asked = [
            windows[n % 4].take("installation:1", NOW + timedelta(seconds=random.uniform(0, 2)))
            for n in range(2 * A_MINUTE)
        ]
        waits = await asyncio.gather(*asked)
        assert sum(wait == 0 for wait in waits) == A_MINUTE
        assert all(MINUTE - 2 < wait <= MINUTE + BUCKET_S for wait in waits if wait)
        # Another payer has windows of its own, and looking takes nothing.
        assert await windows[0].wait_s("installation:2", NOW) == 0
        assert await windows[0].take("installation:2", NOW) == 0
        later = NOW + timedelta(seconds=max(waits) + 2)
        assert await windows[1].wait_s("installation:1", later) == 0


async def test_replicas_share_the_hour_and_a_new_one_knows_it(database_url: str) -> None:
    taken, at = 0, NOW
    with replicas(database_url, 2) as windows:
        while at < NOW + timedelta(hours=1) - timedelta(seconds=2 * BUCKET_S):
            answers = await asyncio.gather(*(window.take("installation:1", at) for window in windows * 6))
            taken += sum(wait == 0 for wait in answers)
            at += timedelta(seconds=20)
    assert taken == AN_HOUR
    with replicas(database_url, 1) as (fresh,):
        wait = await fresh.take("installation:1", at)
        assert 0 < wait <= HOUR + BUCKET_S
        assert await fresh.take("installation:1", at + timedelta(seconds=wait)) == 0


async def test_a_database_that_does_not_answer_leaves_each_process_its_own_count(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/service.db")
    windows = ContentWindows(database)
    database.close()
    assert await windows.take("installation:1", NOW) == 0
    pace = Pace(GitHubClock(), _never, "installation:1", windows)
    for _ in range(A_MINUTE):
        await pace.room_for(COMMENT)
    with pytest.raises(RateLimited):
        await pace.room_for(COMMENT)


async def test_what_waits_is_told_when_to_come_back_and_short_waits_are_sat_through(tmp_path: Path) -> None:
    clock = _Hand()
    with replicas(f"sqlite:///{tmp_path}/service.db", 2) as windows:
        first, second = (Pace(clock.github, clock.sleep, "installation:1", shared) for shared in windows)
        for n in range(A_MINUTE):
            await (first, second)[n % 2].room_for(COMMENT)
        for pace in (first, second):
            with pytest.raises(RateLimited) as told:
                await pace.room_for(COMMENT)
            assert 0 < told.value.wait_s <= MINUTE + BUCKET_S
            assert await pace.content_wait_s() == pytest.approx(told.value.wait_s)
        # An edit tells nobody anything new.
        await second.room_for("PATCH /repos/{owner}/{repo}/issues/comments/{id}")
        clock.seconds += told.value.wait_s - 3
        await second.room_for(COMMENT)
        assert clock.slept == [pytest.approx(3)]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 400), max_size=60), st.sampled_from([((20.0, 3),), ((20.0, 3), (100.0, 7))]))
def test_no_window_ever_holds_more_than_it_may(gaps: list[float], windows: tuple[tuple[float, int], ...]) -> None:
    made: dict[int, int] = {}
    times: list[float] = []
    now = 1_800_000_000.0
    for gap in gaps:
        now += gap / 20
        wait = wait_in(made, now, windows)
        if wait == 0:
            begin = int(now // BUCKET_S) * BUCKET_S
            made[begin] = made.get(begin, 0) + 1
            times.append(now)
        else:
            # Who comes back then finds a place, where nobody else took it.
            assert wait_in(made, now + wait, windows) == 0
    for seconds, most in windows:
        assert all(sum(t <= u < t + seconds for u in times) <= most for t in times)


class _Hand:
    """A clock that moves only by sleeping."""

    def __init__(self) -> None:
        self.seconds = 1_800_000_000.0
        self.slept: list[float] = []
        self.github = GitHubClock(system=self._now, monotonic=self._now)

    def _now(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds


def _never(_: float) -> asyncio.Future[None]:
    return asyncio.get_running_loop().create_future()
