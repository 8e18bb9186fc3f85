"""The release tests share one emulated GitHub a module, and a world with a release on its way."""

import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from app.emulator.client import Emulator

if TYPE_CHECKING:
    from release_world import ReleaseWorld

# For the worlds that the tests share.
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "controller")]


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    with Emulator.start(tmp_path_factory.mktemp("github")) as started:
        yield started


@pytest.fixture
async def world(emulator: Emulator, tmp_path: Path) -> AsyncIterator["ReleaseWorld"]:
    from release_world import ReleaseWorld  # here, because its folder is put on the path above

    made = ReleaseWorld(emulator, tmp_path)
    yield made
    await made.close()
