from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.emulator.client import Emulator

sys.path.insert(0, str(Path(__file__).parent))  # for the world that the tests share

from outsiders import EVENTS, PERMISSIONS, Outside


@pytest.fixture(scope="session")
def short_folder() -> Iterator[Path]:
    """The path of a unix socket has room for hardly more than a hundred characters."""
    with tempfile.TemporaryDirectory(prefix="outside-") as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def running(short_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    with Emulator.start(tmp_path_factory.mktemp("github"), unix_socket=short_folder / "github") as started:
        yield started


@pytest.fixture
def outside(running: Emulator, short_folder: Path) -> Outside:
    running.reset()
    tokens = {name: running.user(name)["token"] for name in ("dev", "mate", "reader", "stranger")}
    running.org("octo")
    app = running.app(
        "keeper",
        permissions=PERMISSIONS,
        events=EVENTS,
        webhook_url="http://127.0.0.1:9/",  # nobody listens there: deliveries are made and kept
        webhook_secret="hook secret",
    )
    repo = running.repo(
        "octo",
        "demo",
        files={"README.md": "hello\n"},
        branches={"42-x": {"a.txt": "1\n"}},
        collaborators={"dev": "admin", "mate": "write", "reader": "read"},
    )
    installation = running.installation("keeper", "octo")
    tokens["bot"] = running.installation_token(app, installation["id"])
    return Outside(running, repo, app, installation, tokens, short_folder / "github")
