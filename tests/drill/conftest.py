import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.drill.observer import AppIdentity
from app.emulator.client import Emulator

sys.path.insert(0, str(Path(__file__).parent))  # for the stage that the tests of proofs share

from drill_scene import Scene

PERMISSIONS = {"contents": "write", "issues": "write", "pull_requests": "write", "checks": "write"}


@dataclass(frozen=True)
class Stage:
    github: Emulator
    app: AppIdentity
    tokens: dict[str, str]


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A GitHub with people and an App that is installed nowhere yet."""
    github = Emulator.start(tmp_path_factory.mktemp("github"))
    try:
        tokens = {login: github.user(login)["token"] for login in ("olive", "observer", "worker")}
        github.org("acme")
        made: dict[str, Any] = github.app("agent-recovery", permissions=PERMISSIONS)
        yield Stage(github, AppIdentity(int(made["id"]), "agent-recovery", made["pem"]), tokens)
    finally:
        github.stop()


@pytest.fixture
def scene(stage: Stage, tmp_path: Path) -> Scene:
    """A repository of its own for each test."""
    return Scene(stage.github, stage.app, f"orchard-{uuid.uuid4().hex[:8]}", tmp_path, stage.tokens)
