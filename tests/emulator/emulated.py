"""A small world to test the emulator in, and the tools the tests share."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from app.emulator.client import Emulator

ALL = {"contents": "write", "issues": "write", "pull_requests": "write", "checks": "write", "statuses": "write"}
ALL |= {"organization_projects": "write"}
EVENTS = ["push", "create", "delete", "pull_request", "issues", "issue_comment", "check_run", "check_suite"]
SECRET = "hook secret"
ZERO = "0" * 40
REPO = "octo/demo"


@dataclass
class Inbox:
    """A webhook target that keeps what it receives."""

    url: str = ""
    status: int = 200
    received: list[tuple[dict[str, str], bytes]] = field(default_factory=list)


@dataclass
class World:
    """octo/demo with main, release-1 (at main) and 42-x (one commit ahead), its people and its App."""

    emulator: Emulator
    repo: dict[str, Any]
    app: dict[str, Any]
    installation: dict[str, Any]
    bot: httpx.Client
    dev: httpx.Client
    reader: httpx.Client
    tokens: dict[str, str]

    def head(self, branch: str) -> str:
        return str(self.bot.get(f"/repos/{REPO}/git/ref/heads/{branch}").json()["object"]["sha"])

    def refs(self, prefix: str) -> dict[str, str]:
        found = self.bot.get(f"/repos/{REPO}/git/matching-refs/{prefix}").json()
        return {r["ref"]: r["object"]["sha"] for r in found}

    def commit(self, parent: str, text: str = "x") -> str:
        """A commit that no ref names yet."""
        tree = self.bot.post(
            f"/repos/{REPO}/git/trees",
            json={
                "base_tree": parent,
                "tree": [{"path": "f.txt", "mode": "100644", "type": "blob", "content": text}],
            },
        ).json()["sha"]
        made = self.bot.post(f"/repos/{REPO}/git/commits", json={"tree": tree, "parents": [parent], "message": text})
        assert made.status_code == 201, made.text
        return str(made.json()["sha"])

    def graphql(self, query: str, client: httpx.Client | None = None, **variables: Any) -> Any:
        answer = (client or self.bot).post("/graphql", json={"query": query, "variables": variables})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def update_refs(self, *updates: dict[str, Any], client: httpx.Client | None = None) -> Any:
        return self.graphql(
            "mutation($i:UpdateRefsInput!){updateRefs(input:$i){clientMutationId}}",
            client,
            i={"repositoryId": self.repo["node_id"], "refUpdates": list(updates), "clientMutationId": "m"},
        )

    def open_pull(self, head: str = "42-x", base: str = "release-1", **more: Any) -> dict[str, Any]:
        made = self.bot.post(f"/repos/{REPO}/pulls", json={"title": "A change", "head": head, "base": base} | more)
        assert made.status_code == 201, made.text
        return dict(made.json())

    def pull(self, number: int) -> dict[str, Any]:
        return dict(self.bot.get(f"/repos/{REPO}/pulls/{number}").json())

    def timeline(self, number: int) -> list[str]:
        return [e["event"] for e in self.bot.get(f"/repos/{REPO}/issues/{number}/timeline").json()]

    def remote(self, who: str, repo: str = REPO) -> str:
        return self.emulator.url.replace("http://", f"http://x-access-token:{self.tokens[who]}@") + f"/{repo}.git"

    def clone(self, path: Path, who: str = "bot") -> Path:
        git(path.parent, "clone", "-q", self.remote(who), path.name)
        git(path, "config", "user.name", "Dev")
        git(path, "config", "user.email", "dev@example.com")
        return path


def git(path: Path, *args: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run git without any configuration of this machine."""
    env = {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }
    done = subprocess.run(["git", *args], cwd=path, env=env, capture_output=True, text=True)
    assert not check or done.returncode == 0, done.stderr
    return done


def new_commit(path: Path, name: str, text: str = "x") -> str:
    """Commit a file in a clone; the SHA."""
    (path / name).write_text(text)
    git(path, "add", name)
    git(path, "commit", "-q", "-m", f"Add {name}")
    return git(path, "rev-parse", "HEAD").stdout.strip()


def rest(emulator: Emulator, token: str) -> httpx.Client:
    """A REST client of a token."""
    return httpx.Client(
        base_url=emulator.url, headers={"authorization": f"Bearer {token}"}, timeout=30, trust_env=False, verify=False
    )
