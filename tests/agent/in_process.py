"""The agent's commands called in this process: the same arguments and outcome as a call of the program, without its
start; and git's credentials by a shell line instead of a second program.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from typer.exceptions import TyperException

from tests.agent.conftest import TICKET, Outcome, World

HELPER = '!f() { echo username=x-access-token; echo "password=$GITHUB_TOKEN"; }; f'


def swift(world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> World:
    """The world, with its `run` made of calls in this process."""
    from app.agent import workspace
    from app.agent.cli import app

    monkeypatch.setattr(workspace, "credential_helper", lambda: HELPER)

    def run(folder: Path, *arguments: str, **environment: str) -> Outcome:
        wanted = world.environment(**environment)
        with monkeypatch.context() as during:
            for name in os.environ.keys() - wanted.keys():
                during.delenv(name)
            for name, value in wanted.items():
                during.setenv(name, value)
            during.chdir(folder)
            capsys.readouterr()
            try:
                app(args=list(arguments), standalone_mode=False)
                code = 0
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 1
            except TyperException:
                code = 2  # a wrong call, as the program ends it
            said = capsys.readouterr()
        outcome = Outcome(code, said.out, said.err)
        world.outcomes.append(outcome)
        return outcome

    monkeypatch.setattr(world, "run", run)
    return world


def note(here: Path, **content: Any) -> None:
    """Puts this into next.json."""
    told = {"objective": "Prices", "next_steps": ["Then"], **content}
    (here / ".agent-recovery" / "next.json").write_text(json.dumps(told))


def soft_refs(world: World, here: Path) -> list[str]:
    listed = world.git(here, "for-each-ref", "--format=%(refname)", f"refs/agent-recovery-local/{TICKET}/")
    return listed.split()
