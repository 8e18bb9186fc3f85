"""A release with calls disturbed: the end is that of the undisturbed run, and nothing unauthorized is merged.

By default a few calls are disturbed; `CRASH=all` disturbs every one of each story in every way, and
`CRASH=story/kind/number` plays one again.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from app.emulator.client import Emulator
from tests.crash import Stage
from tests.crash_chosen import ALL, chosen, differing, stories_of
from tests.crash_release import STORIES_OF_RELEASES, ReleaseEnd, ReleasePlay, ReleaseWorld, release_end

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


def judged(end: ReleaseEnd, expected: ReleaseEnd, kind: str) -> ReleaseEnd:
    """The end without what a disturbance may leave. A wish to merge dies within minutes, so one that a long pause held
    up is not carried out: then nothing is merged, and the word for that commit still stands.
    """
    end = replace(end, doubled=expected.doubled) if end.doubled <= expected.doubled + 1 else end
    if kind == "paused" and expected.merges and not end.merges:
        is_safe = end.open_permits == 0 and end.incidents == 0 and all(len(of_one) == 1 for of_one in end.answers)
        return expected if is_safe else end
    return end


@pytest.mark.parametrize("story", stories_of(STORIES_OF_RELEASES, SAMPLE))
async def test_the_end_is_that_of_the_undisturbed_release(stage: Stage, story: str) -> None:
    expected, calls = await stage.play(STORIES_OF_RELEASES[story], release_end)
    assert (expected.open_permits, expected.doubled) == (0, 0)
    assert all(len(answers) == 1 for answers in expected.answers)
    failures = await differing(
        story,
        calls,
        chosen(story, calls, SAMPLE),
        lambda kind, number: stage.play(STORIES_OF_RELEASES[story], release_end, kind, number),
        lambda found, kind, _: (judged(found, expected, kind), expected),
    )
    assert not failures, "\n".join(failures)
