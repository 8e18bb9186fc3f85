"""Every write of every story, disturbed in every way: the end state is that of the undisturbed run.

`CRASH=all` plays all of them (`make crash`), `CRASH=story/kind/number` one again; by default each write of a story is
disturbed in some ways, so that all ways come up in each story.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from crash_harness import DISTURBANCES, STORIES, EndState, Stage

from app.emulator.client import Emulator

MAKES_OBJECTS = ("POST git/trees", "POST git/commits")
"""Nobody sees an object before a ref names it, so these are disturbed in full only when everything is."""
EVERY = 9
"""By default each write meets one disturbance, another one than its neighbours."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    data = tmp_path_factory.mktemp("github")
    with Emulator.start(data) as emulator:
        yield Stage(emulator, data, tmp_path_factory.mktemp("agents"))


@pytest.fixture(scope="module")
def undisturbed() -> dict[str, tuple[EndState, list[str]]]:
    return {}


def _chosen(story: str, kind: str, number: int, name: str) -> bool:
    wanted = os.environ.get("CRASH", "")
    if wanted == "all":
        return True
    if wanted:
        return wanted == f"{story}/{kind}/{number}"
    ways = EVERY * 3 if name in MAKES_OBJECTS else EVERY
    return (number + DISTURBANCES.index(kind) + list(STORIES).index(story)) % ways == 0


@pytest.mark.parametrize("kind", DISTURBANCES)
@pytest.mark.parametrize("story", STORIES)
async def test_the_end_is_that_of_the_undisturbed_run(
    stage: Stage, undisturbed: dict[str, tuple[EndState, list[str]]], story: str, kind: str
) -> None:
    if story not in undisturbed:
        undisturbed[story] = await stage.play(story)
    expected, writes = undisturbed[story]
    assert expected.open_permits == 0
    assert expected.two_nonces == ()
    failures = []
    for number, name in zip(count(), writes):
        if not _chosen(story, kind, number, name):
            continue
        try:
            state, _ = await stage.play(story, kind, number)
            if (kind, name) == ("very late", "POST check-runs"):
                # It comes when another stands already and cannot be deleted: it must say the same as that one.
                state = replace(state, doubled_check_runs=state.doubled_check_runs - 1)
            problem = "" if state == expected else f"{state} instead of {expected}"
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        if problem:
            failures.append(f"CRASH='{story}/{kind}/{number}' ({name}): {problem}")
    assert not failures, "\n".join(failures)


async def test_a_crash_after_the_effect_and_a_retry_leave_one_pr(stage: Stage) -> None:
    """The published fault of repeated deliveries whose second run met what the first had made."""
    case = json.loads((Path(__file__).parents[1] / "fixtures" / "repeated_deliveries.json").read_text())
    expected = case["expected"]["cases"]["crash_after_effect_then_queue_retry"]["open_prs"]
    _, writes = await stage.play("first_push")
    state, _ = await stage.play("first_push", "killed after, database lost", writes.index("POST pulls"))
    assert [pull[0] for pull in state.pulls] == ["open"] * expected
