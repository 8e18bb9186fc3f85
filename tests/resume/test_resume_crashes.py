"""Starting agents and giving tickets up with calls disturbed: the end is that of the undisturbed run, one agent works,
and none was started twice for one attempt.

By default a few calls are disturbed; `CRASH=all` disturbs every one of each story in every way, `CRASH=story` every one
of one story, and `CRASH=story/kind/number` plays one again.
"""

import os
from collections.abc import Iterator

import pytest

from app.emulator.client import Emulator
from tests.crash import DISTURBANCES, Call, Stage
from tests.crash_resume import STORIES_OF_RESUMING, ResumePlay, ResumeWorld, both, resume_end

ALL = os.environ.get("CRASH", "")
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


def _stories() -> list[str]:
    if ALL and ALL != "all":
        return [ALL.split("/")[0]] if ALL.split("/")[0] in STORIES_OF_RESUMING else []
    return list(STORIES_OF_RESUMING)


def _chosen(story: str, calls: list[Call]) -> Iterator[tuple[str, int]]:
    if ALL in ("all", story):
        for number, call in enumerate(calls):
            yield from ((kind, number) for kind, reaches in DISTURBANCES.items() if call.reach in reaches)
    elif ALL:
        _, kind, number = ALL.split("/")
        yield kind, int(number)
    else:
        names = [call.name for call in calls]
        yield from ((kind, names.index(name)) for name, kind in SAMPLE.get(story, ()))


@pytest.mark.parametrize("story", _stories())
async def test_the_end_is_that_of_the_undisturbed_story(stage: Stage, story: str) -> None:
    expected, calls = await stage.play(STORIES_OF_RESUMING[story], resume_end)
    assert expected.state.open_permits == 0
    assert expected.doubled_attempts == ()
    assert expected.within_cap
    failures = []
    for kind, number in _chosen(story, calls):
        call = calls[number]
        try:
            found, made = await stage.play(STORIES_OF_RESUMING[story], resume_end, kind, number)
            call = made[number] if number < len(made) else call
            end, wanted = both(found, expected, kind, call)
            problem = "" if end == wanted else f"{end} instead of {wanted}"
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        if problem:
            failures.append(f"CRASH='{story}/{kind}/{number}' ({call.name}): {problem}")
    assert not failures, "\n".join(failures)
