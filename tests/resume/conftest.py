"""The tests of resuming share one emulated GitHub a module, whose clock a test moves by hand."""

import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from app.emulator.client import Emulator

if TYPE_CHECKING:
    from resume_world import ResumeWorld

_HERE = Path(__file__).parent
# For the worlds that the tests share.
sys.path[:0] = [str(_HERE), *(str(_HERE.parent / folder) for folder in ("controller", "delivery", "commands"))]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the emulated GitHub keeps its repositories."""
    return tmp_path_factory.mktemp("github")


@pytest.fixture(scope="module")
def emulator(data: Path) -> Iterator[Emulator]:
    with Emulator.start(data) as started:
        yield started


@pytest.fixture
async def world(emulator: Emulator, tmp_path: Path) -> AsyncIterator["ResumeWorld"]:
    from resume_world import ResumeWorld  # here, because its folder is put on the path above

    made = ResumeWorld(emulator, tmp_path)
    yield made
    await made.close()
