"""Landing and what follows it, with calls disturbed: the end is that of the undisturbed run, without a second comment,
merge or closing.

By default a few calls of each story are disturbed, the writes first; `CRASH=all` disturbs every one in every way, and
`CRASH=story/kind/number` plays one again.
"""

from collections.abc import Iterator
from itertools import cycle

import pytest

from app.emulator.client import Emulator
from tests.crash import Call, Reach, Stage
from tests.crash_chosen import ALL, chosen, differing, stories_of
from tests.crash_end import end_of, judged
from tests.crash_stories import STORIES_OF_LANDING

pytestmark = [pytest.mark.drill, pytest.mark.timeout(3 * 3600 if ALL == "all" else 240)]

SAMPLE: dict[str, tuple[str, ...]] = {
    "lands": ("PUT pulls/*/merge", "PATCH issues/*", "graphql UpdateRefs"),
    "lands_from_behind": ("PUT pulls/*/update-branch",),
    "merged_by_hand": ("PATCH issues/*",),
}
"""The calls of each story that are disturbed by default: the last one of each name."""
WAYS = cycle(("killed after", "late", "cut after", "very late", "killed after, database lost"))


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    data = tmp_path_factory.mktemp("github")
    with Emulator.start(data) as emulator:
        yield Stage(emulator, data, tmp_path_factory.mktemp("agents"))


def _chosen(story: str, calls: list[Call]) -> Iterator[tuple[str, int]]:
    if ALL:
        yield from chosen(story, calls, {})
        return
    for name in SAMPLE[story]:
        yield next(WAYS), max(number for number, call in enumerate(calls) if call.name == name)


@pytest.mark.parametrize("story", stories_of(STORIES_OF_LANDING, STORIES_OF_LANDING))
async def test_the_end_is_that_of_the_undisturbed_landing(stage: Stage, story: str) -> None:
    expected, calls = await stage.play(STORIES_OF_LANDING[story], end_of)
    assert (expected.status, expected.open_permits, expected.issue) == ("landed", 0, ("closed", 1))
    assert any(call.reach is Reach.WRITE for call in calls)
    failures = await differing(
        story,
        calls,
        _chosen(story, calls),
        lambda kind, number: stage.play(STORIES_OF_LANDING[story], end_of, kind, number),
        lambda found, kind, call: judged(found, expected, kind, call),
    )
    assert not failures, "\n".join(failures)
