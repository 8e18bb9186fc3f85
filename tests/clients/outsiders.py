"""A small world for clients that were written by others, and how they are run: with nothing of this machine."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from app.emulator.client import Emulator

REPO = "octo/demo"
ZERO = "0" * 40
PERMISSIONS = {
    "actions": "write",
    "administration": "write",
    "checks": "write",
    "contents": "write",
    "issues": "write",
    "pull_requests": "write",
    "statuses": "write",
    "workflows": "write",
}
EVENTS = [
    "check_run",
    "check_suite",
    "create",
    "delete",
    "issue_comment",
    "issues",
    "pull_request",
    "pull_request_review",
    "push",
    "status",
]


@dataclass
class Outside:
    """octo/demo with main and 42-x (one commit ahead); dev administers it, mate writes, reader reads."""

    emulator: Emulator
    repo: dict[str, Any]
    app: dict[str, Any]
    installation: dict[str, Any]
    tokens: dict[str, str]
    socket: Path

    @property
    def url(self) -> str:
        return self.emulator.url

    @property
    def port(self) -> str:
        return self.url.rpartition(":")[2]

    def rest(self, who: str, method: str, path: str, **json: Any) -> Any:
        """One REST call, for arranging and for looking: the parsed answer, which must be no refusal."""
        answer = httpx.request(
            method,
            self.url + path,
            json=json or None,
            headers={"authorization": f"Bearer {self.tokens[who]}"},
            trust_env=False,
            verify=False,
        )
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def head(self, branch: str) -> str:
        return str(self.rest("dev", "GET", f"/repos/{REPO}/git/ref/heads/{branch}")["object"]["sha"])

    def refs(self, prefix: str = "") -> dict[str, str]:
        found = self.rest("dev", "GET", f"/repos/{REPO}/git/matching-refs/{prefix}")
        return {r["ref"]: r["object"]["sha"] for r in found}

    def events(self) -> list[tuple[str, str | None]]:
        """What was delivered so far, as event and action."""
        self.emulator.flush()
        return [(d["event"], d["action"]) for d in self.emulator.deliveries()]

    def remote(self, who: str, repo: str = REPO) -> str:
        return f"http://x-access-token:{self.tokens[who]}@127.0.0.1:{self.port}/{repo}.git"

    def clone(self, path: Path, who: str = "dev", *options: str) -> Path:
        git(path.parent, "clone", "-q", *options, self.remote(who), path.name)
        return path


def clean_env(**more: str) -> dict[str, str]:
    """An environment in which no configuration of this machine is read."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_NAME": "Dev",
        "GIT_AUTHOR_EMAIL": "dev@example.com",
        "GIT_COMMITTER_NAME": "Dev",
        "GIT_COMMITTER_EMAIL": "dev@example.com",
    } | more


def run(
    path: Path, *command: str, env: Mapping[str, str], check: bool = True, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder; with ``check`` it must succeed."""
    done = subprocess.run(command, cwd=path, env=env, capture_output=True, text=True, input=stdin)
    assert not check or done.returncode == 0, f"{' '.join(command)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def git(path: Path, *args: str, check: bool = True, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    """Run git; ``env`` adds to a clean environment."""
    return run(path, "git", *args, env=clean_env(**env), check=check, stdin=stdin)


def commit(path: Path, name: str, content: str | bytes = "x\n") -> str:
    """Commit a file in a clone; the SHA."""
    (path / name).parent.mkdir(parents=True, exist_ok=True)
    (path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    git(path, "add", name)
    git(path, "commit", "-q", "-m", f"Add {name}")
    return git(path, "rev-parse", "HEAD").stdout.strip()
