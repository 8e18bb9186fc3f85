"""Every external call of every story, disturbed in every way: the end state is that of the undisturbed run.

`CRASH=all` plays all of them (`make crash`), `CRASH=story/kind/number` one again. By default every kind of call is
disturbed: each once over all stories, and writes to GitHub, pushes and commands once more in every sixth story; the
ways are dealt out so that all of them come up.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.emulator.client import Emulator
from tests.crash import DISTURBANCES, Call, Reach, Stage
from tests.crash_end import EndState, end_of, judged
from tests.crash_stories import STORIES

pytestmark = [pytest.mark.drill, pytest.mark.timeout(3 * 3600 if os.environ.get("CRASH") == "all" else 240)]
MAKES_OBJECTS = ("POST git/trees", "POST git/commits")
"""Nobody sees an object before a ref names it, so by default these are disturbed once over all stories, like reads."""
Dealt = dict[tuple[str, Call], tuple[str, int]]
Undisturbed = dict[str, tuple[EndState, list[Call]]]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    data = tmp_path_factory.mktemp("github")
    with Emulator.start(data) as emulator:
        yield Stage(emulator, data, tmp_path_factory.mktemp("agents"))


@pytest.fixture(scope="module")
def undisturbed() -> Undisturbed:
    return {}


@pytest.fixture(scope="module")
def dealt() -> Dealt:
    """Where each kind of call was met first, in a story or over all of them."""
    return {}


def _way(call: Call, number: int) -> str:
    """The way in which a call is disturbed by default."""
    ways = [kind for kind, reaches in DISTURBANCES.items() if call.reach in reaches]
    return ways[number % len(ways)]


def _chosen(story: str, kind: str, number: int, call: Call, dealt: Dealt) -> bool:
    if call.reach not in DISTURBANCES[kind]:
        return False
    wanted = os.environ.get("CRASH", "")
    if wanted == "all":
        return True
    if wanted:
        return wanted == f"{story}/{kind}/{number}"
    here, index = (story, number), list(STORIES).index(story)
    anywhere, in_story = dealt.setdefault(("", call), here), dealt.setdefault((story, call), here)
    again = call.reach in (Reach.WRITE, Reach.PUSH, Reach.COMMAND) and call.name not in MAKES_OBJECTS
    wanted_here = anywhere == here or (again and in_story == here and (index + number) % 6 == 0)
    return wanted_here and kind == _way(call, number + index)


def _expected(end: EndState, kind: str, call: Call) -> EndState:
    """What the end has to be where it cannot be that of the undisturbed run."""
    if call.reach is Reach.COMMAND and kind == "killed before":
        # Begun, and no end seen: it is never run again, nothing is found where it would have left something, and a
        # person is told so once.
        effects = tuple((key, "unknown") for key, _ in end.effects)
        return replace(end, carried_out=0, effects=effects, told=end.told + 1)
    return end


@pytest.mark.parametrize("kind", DISTURBANCES)
@pytest.mark.parametrize("story", STORIES)
async def test_the_end_is_that_of_the_undisturbed_run(
    stage: Stage, undisturbed: Undisturbed, dealt: Dealt, story: str, kind: str
) -> None:
    if story not in undisturbed:
        undisturbed[story] = await stage.play(STORIES[story], end_of)
    end, calls = undisturbed[story]
    assert end.open_permits == 0
    assert end.two_nonces == ()
    failures = []
    for number, call in enumerate(calls):
        if not _chosen(story, kind, number, call, dealt):
            continue
        try:
            state, made = await stage.play(STORIES[story], end_of, kind, number)
            # A slow machine reads once more before it sends: what was hit is what this play says.
            call = made[number] if number < len(made) else call
            expected = _expected(end, kind, call)
            if kind == "paused" and state.warned == expected.warned + 1:
                # The pause is longer than a holder may work without a checkpoint, and that is told once.
                state = replace(state, warned=expected.warned)
            state, expected = judged(state, expected, kind, call)
            problem = "" if state == expected else f"{state} instead of {expected}"
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        if problem:
            failures.append(f"CRASH='{story}/{kind}/{number}' ({call.name}): {problem}")
    assert not failures, "\n".join(failures)


async def test_a_crash_after_the_effect_and_a_retry_leave_one_pr(stage: Stage) -> None:
    """The published fault of repeated deliveries whose second run met what the first had made."""
    case = json.loads((Path(__file__).parents[1] / "fixtures" / "repeated_deliveries.json").read_text())
    expected = case["expected"]["cases"]["crash_after_effect_then_queue_retry"]["open_prs"]
    _, calls = await stage.play(STORIES["first_push"], end_of)
    made = calls.index(Call(Reach.WRITE, "POST pulls"))
    state, _ = await stage.play(STORIES["first_push"], end_of, "killed after, database lost", made)
    assert [pull[0] for pull in state.pulls] == ["open"] * expected
