"""In progress if and only if the ledger stands under `active/`, on every way on which the code writes a ledger, and at
every point at which a process can die on it (the second specification, 40.3; the ownership protocol, I4).
"""

import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import writing_paths
from index_stories import STORIES, IndexPlay
from loop_world import LoopWorld

from app.emulator.client import Emulator
from tests.crash import DISTURBANCES, Call, Disturber, Reach
from tests.crash_end import repository_of
from tests.marker_index import MarkerIndex

OTHERWISE = {
    "app.agent.pushing:publish": "the command line's way to the fenced push, which the stories make themselves",
    "app.controller.uninstalling:Uninstalling._delete": "takes the App out: index and records go together",
    "app.controller.upkeep:Upkeep.after_the_end": "needs a Project; it writes a ledger where it lies, under done/",
}
"""Places that no story comes by, and why."""


WAYS = ("killed after", "killed after, database lost", "killed before", "cut after", "502 though done")
MOVES = ("graphql UpdateRefs", "POST /acme/shop.git/git-receive-pack")
"""Calls of the service that can move a ledger."""


@dataclass
class Played:
    """What came of a story: its calls, where ledgers lie in the end, and the places in the code that wrote them."""

    passed: set[str] = field(default_factory=set)
    calls: list[Call] = field(default_factory=list)
    ends: dict[str, frozenset[str]] = field(default_factory=dict)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("github")


@pytest.fixture(scope="module")
def emulator(data: Path) -> Iterator[Emulator]:
    with Emulator.start(data) as started:
        yield started


@pytest.fixture(scope="module")
def passed() -> set[str]:
    return set()


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
    emulator: Emulator, data: Path, tmp_path: Path, passed: set[str], story: str
) -> None:
    passed |= (await play(emulator, data, tmp_path, story)).passed


def test_every_place_that_writes_a_ledger_was_passed(passed: set[str]) -> None:
    """A new place that no story comes by fails here, until a story does."""
    if not passed:
        pytest.skip("the stories were not played")
    assert writing_paths.in_the_code() - passed == OTHERWISE.keys()


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
