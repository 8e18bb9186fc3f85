"""The tests of a repository's examination share one emulated GitHub a module, and the loop's world."""

import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from app.emulator.client import Emulator

if TYPE_CHECKING:
    from loop_world import LoopWorld

sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("controller", "adoption")]


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    with Emulator.start(tmp_path_factory.mktemp("github")) as started:
        yield started


@pytest.fixture
async def world(emulator: Emulator, tmp_path: Path) -> AsyncIterator["LoopWorld"]:
    from loop_world import LoopWorld  # here, because its folder is put on the path above

    made = LoopWorld(emulator, tmp_path)
    yield made
    await made.close()
