"""Starting agents and giving tickets up with calls disturbed: the end is that of the undisturbed run, one agent works,
and none was started twice for one attempt.

By default a few calls are disturbed; `CRASH=all` disturbs every one of each story in every way, `CRASH=story` every one
of one story, and `CRASH=story/kind/number` plays one again.
"""

from collections.abc import Iterator

import pytest

from app.emulator.client import Emulator
from tests.crash import Stage
from tests.crash_chosen import ALL, chosen, differing, stories_of
from tests.crash_resume import STORIES_OF_RESUMING, ResumePlay, ResumeWorld, both, resume_end

pytestmark = [pytest.mark.drill, pytest.mark.timeout(3 * 3600 if ALL else 300)]

SAMPLE: dict[str, tuple[tuple[str, str], ...]] = {
    "dispatch_and_claim": (
        ("POST actions/workflows/agent.yml/dispatches", "killed before, database lost"),
        ("POST actions/workflows/agent.yml/dispatches", "killed after"),
        ("POST actions/workflows/agent.yml/dispatches", "late"),
    ),
    "abandon": (("graphql UpdateRefs", "killed after, database lost"), ("POST issues/*/comments", "killed after")),
    "exhaust": (("POST issues/*/comments", "502 though done"),),
    "recover_abandoned": (("graphql UpdateRefs", "killed after"),),
    "cancel_with_open_dispatch": (("graphql UpdateRefs", "cut after"),),
}
"""The calls that are disturbed by default, each the first of its name, and how."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    data = tmp_path_factory.mktemp("github")
    with Emulator.start(data) as emulator:
        yield Stage(emulator, data, tmp_path_factory.mktemp("agents"), ResumePlay, ResumeWorld)


@pytest.mark.parametrize("story", stories_of(STORIES_OF_RESUMING, STORIES_OF_RESUMING))
async def test_the_end_is_that_of_the_undisturbed_story(stage: Stage, story: str) -> None:
    expected, calls = await stage.play(STORIES_OF_RESUMING[story], resume_end)
    assert expected.state.open_permits == 0
    assert expected.doubled_attempts == ()
    assert expected.within_cap
    deed = STORIES_OF_RESUMING[story]
    failures = await differing(
        story,
        calls,
        chosen(story, calls, SAMPLE),
        lambda kind, number: stage.play(deed, resume_end, kind, number),
        lambda found, kind, call: both(found, expected, kind, call),
    )
    assert not failures, "\n".join(failures)
