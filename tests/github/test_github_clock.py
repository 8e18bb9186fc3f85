"""GitHub's time, learned from its answers."""

from datetime import UTC, datetime, timedelta

import pytest

from app.github.clock import GitHubClock, http_date

NOON = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
NOON_HEADER = "Mon, 30 Nov 2026 12:00:00 GMT"


class Hands:
    def __init__(self) -> None:
        self.monotonic_s = 50.0

    def monotonic(self) -> float:
        return self.monotonic_s


def clock_at(system: datetime, hands: Hands) -> GitHubClock:
    return GitHubClock(monotonic=hands.monotonic, system=system.timestamp)


def test_before_the_first_answer_it_is_the_systems_time() -> None:
    hands = Hands()
    clock = clock_at(NOON, hands)
    hands.monotonic_s += 5
    assert clock.now() == NOON + timedelta(seconds=5)


@pytest.mark.parametrize("off", [timedelta(minutes=-5), timedelta(minutes=5), timedelta(days=-20000)])
def test_a_wrong_local_clock_is_corrected_within_a_second(off: timedelta) -> None:
    hands = Hands()
    clock = clock_at(NOON + off, hands)
    assert clock.learn(NOON_HEADER) == NOON
    assert NOON <= clock.now() <= NOON + timedelta(seconds=1)


def test_a_right_clock_is_left_alone() -> None:
    clock = clock_at(NOON + timedelta(milliseconds=700), Hands())
    clock.learn(NOON_HEADER)
    assert clock.now() == NOON + timedelta(milliseconds=700)


def test_a_slow_answer_does_not_drag_the_clock_back() -> None:
    clock = clock_at(NOON + timedelta(seconds=9), Hands())
    clock.learn(NOON_HEADER, elapsed_s=10)
    assert clock.now() == NOON + timedelta(seconds=9)


def test_it_never_goes_back_further_than_the_header_says() -> None:
    clock = clock_at(NOON + timedelta(seconds=90), Hands())
    clock.learn(NOON_HEADER, elapsed_s=3)
    assert clock.now() == NOON + timedelta(seconds=4)


@pytest.mark.parametrize("header", [None, "", "yesterday", "Mon, 99 Nov 2026 12:00:00 GMT", "\x00", "2026-11-30"])
def test_a_malformed_header_is_ignored(header: str | None) -> None:
    clock = clock_at(NOON, Hands())
    assert clock.learn(header) is None
    assert clock.now() == NOON


def test_a_header_in_another_zone_is_read_as_utc() -> None:
    assert http_date("Mon, 30 Nov 2026 13:00:00 +0100") == NOON
