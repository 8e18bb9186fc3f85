"""Long commands say how far they are, and short ones say nothing."""

import pytest

from app.service import progress
from app.service.progress import Progress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    moments = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: moments[-1])
    return moments


def test_it_speaks_at_most_once_a_second_and_not_in_the_first(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    told = Progress()
    for moment, done in ((0.1, 1), (0.9, 2), (1.1, 3), (1.2, 4), (2.2, 5)):
        clock.append(moment)
        told(done, 40, "#7")
    told.end()
    assert [line.strip() for line in capsys.readouterr().err.splitlines()] == ["#7 (3 of 40)", "#7 (5 of 40)"]


def test_a_short_command_says_nothing(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    told = Progress()
    told(1, 1, "the repository")
    told.end()
    assert capsys.readouterr().err == ""
