"""`gh` as a person runs it, for whom the emulator is github.com: it is reached by the unix socket, git by a rewritten
address, and nothing of this machine's configuration is read."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from outsiders import REPO, Outside, clean_env, run


@cache
def installed() -> dict[tuple[int, int], str]:
    """Every version of `gh` on the path and in the environment of the tests."""
    found: dict[tuple[int, int], str] = {}
    for folder in [str(Path(sys.executable).parent), *os.environ["PATH"].split(os.pathsep)]:
        program = Path(folder) / "gh"
        if os.access(program, os.X_OK):
            said = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
            version = re.search(r"gh version (\d+)\.(\d+)", said)
            if version:
                found.setdefault((int(version[1]), int(version[2])), str(program))
    return found


every_gh = pytest.mark.parametrize(
    "version",
    [pytest.param(v, id=f"gh-{v[0]}.{v[1]}") for v in installed()]
    or [pytest.param((0, 0), marks=pytest.mark.skip(reason="gh is not installed (make gh, or apt-get install gh)"))],
)


@dataclass
class Gh:
    """One `gh` at one person's desk; ``folder`` is where it is run, by default a clone of the repository."""

    outside: Outside
    version: tuple[int, int]
    home: Path
    folder: Path
    who: str = "dev"

    @classmethod
    def at_desk(cls, outside: Outside, version: tuple[int, int], path: Path) -> Gh:
        """A fresh desk with a clone of the repository, made by `gh` itself."""
        desk = cls(outside, version, path / "home", path)
        desk.home.mkdir()
        desk("config", "set", "http_unix_socket", str(outside.socket))
        desk("repo", "clone", REPO, "work")
        desk.folder = path / "work"
        return desk

    def env(self) -> dict[str, str]:
        """The environment of this person."""
        token, port = self.outside.tokens[self.who], self.outside.port
        basic = b64encode(f"x-access-token:{token}".encode()).decode()
        settings = {
            f"url.http://github.com:{port}/.insteadOf": "https://github.com/",
            "http.curloptResolve": f"github.com:{port}:127.0.0.1",
            f"http.http://github.com:{port}/.extraHeader": f"AUTHORIZATION: basic {basic}",
        }
        pairs = {"GIT_CONFIG_COUNT": str(len(settings))}
        for index, (key, value) in enumerate(settings.items()):
            pairs |= {f"GIT_CONFIG_KEY_{index}": key, f"GIT_CONFIG_VALUE_{index}": value}
        return clean_env(
            HOME=str(self.home),
            GH_CONFIG_DIR=str(self.home / "gh"),
            GH_TOKEN=token,
            GH_PROMPT_DISABLED="1",
            GH_NO_UPDATE_NOTIFIER="1",
            GH_TELEMETRY="false",
            NO_COLOR="1",
            **pairs,
        )

    def try_(self, *args: str, who: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run it, whatever becomes of it."""
        desk = self if who is None else Gh(self.outside, self.version, self.home, self.folder, who)
        return run(desk.folder, installed()[self.version], *args, env=desk.env(), check=False)

    def __call__(self, *args: str, who: str | None = None) -> str:
        """Run it; it must succeed. What it printed."""
        done = self.try_(*args, who=who)
        assert done.returncode == 0, f"gh {' '.join(args)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout.strip()

    def refused(self, *args: str, who: str | None = None) -> str:
        """Run it; it must fail. What it said."""
        done = self.try_(*args, who=who)
        assert done.returncode != 0, f"gh {' '.join(args)} was not refused:\n{done.stdout}\n{done.stderr}"
        return done.stderr.strip()

    def json(self, *args: str) -> Any:
        """Run it; its output as JSON."""
        return json.loads(self(*args))

    def git(self, *args: str) -> str:
        """git at the same desk."""
        return run(self.folder, "git", *args, env=self.env()).stdout.strip()
