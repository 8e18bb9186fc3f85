"""In progress if and only if the ledger stands under `active/`, on every way on which the code writes a ledger, and at
every point at which a process can die on it (the second specification, 40.3; the ownership protocol, I4).
"""

import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import writing_paths
from index_stories import STORIES, IndexPlay
from loop_world import LoopWorld

from app.emulator.client import Emulator
from tests.crash import DISTURBANCES, Call, Disturber, Play, Reach, Stage
from tests.crash_end import repository_of
from tests.crash_resume import STORIES_OF_RESUMING, ResumePlay, ResumeWorld
from tests.marker_index import MarkerIndex

OTHERWISE = {
    "app.agent.pushing:publish": "the command line's way to the fenced push, which the stories make themselves",
    "app.controller.late:note_late_runs": "a run that comes after the end, in test_cancel; it writes under done/ only",
    "app.controller.uninstalling:Uninstalling._delete": "takes the App out: index and records go together",
    "app.controller.upkeep:Upkeep.after_the_end": "needs a Project; it writes a ledger where it lies, under done/",
}
"""Places that no story comes by, and why."""


WAYS = ("killed after", "killed after, database lost", "killed before", "cut after", "502 though done")
MOVES = ("graphql UpdateRefs", "POST /acme/shop.git/git-receive-pack")
"""Calls of the service that can move a ledger."""


Passed = dict[str, set[str]]
"""By which places in the code each story wrote ledgers."""


@dataclass
class Played:
    """What came of a story: its calls, where ledgers lie in the end, and the places in the code that wrote them."""

    passed: set[str] = field(default_factory=set)
    calls: list[Call] = field(default_factory=list)
    ends: dict[str, frozenset[str]] = field(default_factory=dict)


@pytest.fixture(scope="module")
def passed() -> Passed:
    return {}


async def play(emulator: Emulator, data: Path, folder: Path, story: str, kind: str = "", target: int = -1) -> Played:
    """Play a story, with one call of it disturbed. Raises AssertionError where the index lied."""
    disturber = Disturber(emulator, kind, target)
    world = LoopWorld(emulator, folder)
    disturber.index = index = MarkerIndex(repository_of(data))
    acting = IndexPlay(world, disturber)
    made = Played()
    try:
        with writing_paths.noted() as made.passed:
            await STORIES[story](acting)
            await acting.finish()
        made.calls = disturber.of_story
        made.ends = {str(ticket): frozenset(acting.places(ticket)) for ticket in acting.tickets}
    finally:
        await world.close()
    assert index.faults == []
    assert acting.misplaced == []
    assert index.seen > 20
    return made


@pytest.mark.parametrize("story", STORIES)
async def test_the_index_tells_the_truth_after_every_request(
    emulator: Emulator, data: Path, tmp_path: Path, passed: Passed, story: str
) -> None:
    passed[story] = (await play(emulator, data, tmp_path, story)).passed


@pytest.mark.parametrize("story", STORIES_OF_RESUMING)
async def test_the_index_tells_the_truth_while_agents_are_started_and_tickets_given_up(
    emulator: Emulator, data: Path, tmp_path: Path, passed: Passed, story: str
) -> None:
    stage = Stage(emulator, data, tmp_path, ResumePlay, ResumeWorld)
    with writing_paths.noted() as places:
        await stage.play(STORIES_OF_RESUMING[story], _nothing_more)
    passed[story] = places


async def _nothing_more(play: Play, data: Path) -> None:
    """The stage has judged the index all along."""


def test_every_place_that_writes_a_ledger_was_passed(passed: Passed) -> None:
    """A new place that no story comes by fails here, until a story does."""
    if passed.keys() != STORIES.keys() | STORIES_OF_RESUMING.keys():
        pytest.skip("only some stories of this file were chosen, and it judges what all passed: run the whole file")
    assert writing_paths.in_the_code() - set().union(*passed.values()) == OTHERWISE.keys()


@pytest.mark.drill
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("story", STORIES)
async def test_whoever_dies_leaves_an_index_that_tells_the_truth(
    emulator: Emulator, data: Path, tmp_path: Path, story: str
) -> None:
    """Every call that can move a ledger, with the process that makes it killed before or after it, or its answer lost;
    who comes next finds it. By default every third of them, `INDEX=all` for all.
    """
    whole = await play(emulator, data, _folder(tmp_path), story)
    moving = [n for n, call in enumerate(whole.calls) if call.reach is Reach.PUSH or call.name in MOVES]
    assert moving, {call.name for call in whole.calls}
    first, step = (0, 1) if os.environ.get("INDEX") == "all" else (list(STORIES).index(story) % 3, 3)
    for count, number in enumerate(moving[first::step]):
        kinds = [kind for kind in WAYS if whole.calls[number].reach in DISTURBANCES[kind]]
        kind = kinds[(count + first) % len(kinds)]
        at = f"{story}: {kind} at {number}, {whole.calls[number].name}"
        try:
            made = await play(emulator, data, _folder(tmp_path), story, kind, number)
        except Exception as error:
            raise AssertionError(at) from error
        assert made.ends == whole.ends, at


def _folder(within: Path) -> Path:
    made = within / secrets.token_hex(4)
    made.mkdir()
    return made
