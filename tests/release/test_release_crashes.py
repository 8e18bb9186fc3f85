"""A release with calls disturbed: the end is that of the undisturbed run, and nothing unauthorized is merged.

By default a few calls are disturbed; `CRASH=all` disturbs every one of each story in every way, and
`CRASH=story/kind/number` plays one again.
"""

import os
from collections.abc import Iterator
from dataclasses import replace

import pytest

from app.emulator.client import Emulator
from tests.crash import DISTURBANCES, Call, Stage
from tests.crash_release import STORIES_OF_RELEASES, ReleaseEnd, ReleasePlay, ReleaseWorld, release_end

ALL = os.environ.get("CRASH", "")
pytestmark = [pytest.mark.drill, pytest.mark.timeout(3 * 3600 if ALL == "all" else 240)]

SAMPLE: dict[str, tuple[tuple[str, str], ...]] = {
    "first difference": (("POST pulls", "killed after, database lost"),),
    "merge-release": (
        ("PUT pulls/*/merge", "killed after, database lost"),
        ("PUT pulls/*/merge", "late"),
        ("graphql UpdateRefs", "502 though done"),
    ),
    "merged by hand": (("POST issues", "killed after, database lost"),),
}
"""The calls that are disturbed by default, each the first of its name, and how."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    data = tmp_path_factory.mktemp("github")
    with Emulator.start(data) as emulator:
        yield Stage(emulator, data, tmp_path_factory.mktemp("agents"), ReleasePlay, ReleaseWorld)


def _stories() -> list[str]:
    if ALL and ALL != "all":
        return [ALL.split("/")[0]] if ALL.split("/")[0] in STORIES_OF_RELEASES else []
    return list(STORIES_OF_RELEASES if ALL else SAMPLE)


def _chosen(story: str, calls: list[Call]) -> Iterator[tuple[str, int]]:
    if ALL == "all":
        for number, call in enumerate(calls):
            yield from ((kind, number) for kind, reaches in DISTURBANCES.items() if call.reach in reaches)
    elif ALL:
        _, kind, number = ALL.split("/")
        yield kind, int(number)
    else:
        names = [call.name for call in calls]
        yield from ((kind, names.index(name)) for name, kind in SAMPLE[story])


def judged(end: ReleaseEnd, expected: ReleaseEnd, kind: str) -> ReleaseEnd:
    """The end without what a disturbance may leave. A wish to merge dies within minutes, so one that a long pause held
    up is not carried out: then nothing is merged, and the word for that commit still stands.
    """
    end = replace(end, doubled=expected.doubled) if end.doubled <= expected.doubled + 1 else end
    if kind == "paused" and expected.merges and not end.merges:
        is_safe = end.open_permits == 0 and end.incidents == 0 and all(len(of_one) == 1 for of_one in end.answers)
        return expected if is_safe else end
    return end


@pytest.mark.parametrize("story", _stories())
async def test_the_end_is_that_of_the_undisturbed_release(stage: Stage, story: str) -> None:
    expected, calls = await stage.play(STORIES_OF_RELEASES[story], release_end)
    assert (expected.open_permits, expected.doubled) == (0, 0)
    assert all(len(answers) == 1 for answers in expected.answers)
    failures = []
    for kind, number in _chosen(story, calls):
        try:
            found, _ = await stage.play(STORIES_OF_RELEASES[story], release_end, kind, number)
            end = judged(found, expected, kind)
            problem = "" if end == expected else f"{end} instead of {expected}"
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        if problem:
            failures.append(f"CRASH='{story}/{kind}/{number}' ({calls[number].name}): {problem}")
    assert not failures, "\n".join(failures)
