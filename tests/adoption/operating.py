"""The operator's commands, called in this process beside a world's services and on their database."""

import asyncio
import json
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import pytest
from loop_world import LoopWorld
from typer.testing import CliRunner

from app.cli import ROOMS


@dataclass(frozen=True)
class Said:
    """What a command ended with."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        # Lines of the log may come before: in the program they go elsewhere.
        lines = self.out.splitlines()
        return json.loads("\n".join(lines[lines.index("{") :]))


class Operator:
    """Somebody at the service's machine. `database` is the file that the world's controllers are given."""

    def __init__(self, world: LoopWorld, monkeypatch: pytest.MonkeyPatch) -> None:
        self._world = world
        self.database = world.folder / "service.db"
        settings = {
            **world.key_settings,
            "AGENT_RECOVERY_APP_ID": str(world.app["id"]),
            "AGENT_RECOVERY_APP_PRIVATE_KEY": world.app["pem"],
            "AGENT_RECOVERY_GITHUB_URL": world.emulator.url,
            "AGENT_RECOVERY_DATABASE_URL": f"sqlite:///{self.database}",
            "AGENT_RECOVERY_PUBLIC_URL": "https://recovery.example.com",
        }
        # The logs are the whole process's: a command that sets them up in this one would take the tests' away.
        monkeypatch.setattr("app.service.operator_command.set_up_logs", lambda: None)
        for name, value in settings.items():
            monkeypatch.setenv(name, value)

    async def run(self, *words: str, answer: str = "") -> Said:
        """One command as its room defines it; `answer` is typed where it asks."""
        room = import_module(ROOMS[words[0]].module).app
        alone = len(room.registered_commands) == 1
        done = await asyncio.to_thread(CliRunner().invoke, room, words[1:] if alone else words, input=answer)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Said(done.exit_code, done.stdout, done.stderr)

    async def has_poked(self, key: str) -> bool:
        """Whether a command poked this key. It learned the time from another answer of GitHub's than the world's own
        service, so what was due there may be due here a second or two later.
        """
        for _ in range(100):
            if key in await self._world.poked():
                return True
            await asyncio.sleep(0.1)
        return False
