"""The release tests share one emulated GitHub a module, and a world with a release on its way."""

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from app.emulator.client import Emulator

if TYPE_CHECKING:
    from release_world import ReleaseWorld
    from scene import Scene
    from served import Served

# For the worlds that the tests share.
sys.path[:0] = [
    str(Path(__file__).parent),
    *(str(Path(__file__).parents[1] / name) for name in ("controller", "delivery")),
]


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


@pytest.fixture(scope="module")
def served(emulator: Emulator, tmp_path_factory: pytest.TempPathFactory) -> Iterator["Served"]:
    """The service as a process, with a policy under which nothing but the App keeps the base of releases."""
    from scene import Scene
    from served import Served

    made = Served(emulator, tmp_path_factory.mktemp("served"))
    Scene(made).policy()
    made.rest()
    yield made
    made.end()


@pytest.fixture
def begun(served: "Served") -> Iterator[Callable[[str], "Scene"]]:
    """Begins releases, and takes them away after the test: each costs a look at every later event."""
    from scene import Scene

    made: list[Scene] = []

    def begin(name: str) -> Scene:
        letters = "".join(c if c.isalnum() else "-" for c in name)
        made.append(Scene.begun(served, f"release-{letters}"))
        return made[-1]

    yield begin
    for scene in made:
        scene.leave()
