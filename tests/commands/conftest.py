"""The command tests share one emulated GitHub a module, and the loop's world with people who comment in it."""

import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from app.emulator.client import Emulator

if TYPE_CHECKING:
    from spoken_world import SpokenWorld

_HERE = Path(__file__).parent
# For the worlds that the tests share.
sys.path[:0] = [str(_HERE), str(_HERE.parent / "controller"), str(_HERE.parent / "delivery")]


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    with Emulator.start(tmp_path_factory.mktemp("github")) as started:
        yield started


@pytest.fixture
async def world(emulator: Emulator, tmp_path: Path) -> AsyncIterator["SpokenWorld"]:
    from spoken_world import SpokenWorld  # here, because its folder is put on the path above

    made = SpokenWorld(emulator, tmp_path)
    yield made
    await made.close()
