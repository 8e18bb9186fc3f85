"""Reading a repository with git alone: a bare mirror of its branches and ledgers."""

import base64
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SPECS = ("+refs/heads/*:refs/heads/*", "+refs/agent-recovery/*:refs/agent-recovery/*")
_FIELDS = "%H%x00%P%x00%cI%x00%an%x00%B%x01"


@dataclass(frozen=True)
class Commit:
    sha: str
    parents: tuple[str, ...]
    at: str
    author: str
    message: str

    @property
    def steps(self) -> tuple[str, ...]:
        """The step ids its `Step:` trailers name."""
        lines = self.message.splitlines()
        return tuple(line.removeprefix("Step:").strip() for line in lines if line.startswith("Step:"))


@dataclass(frozen=True)
class LedgerCommit:
    """One ledger commit with its record as plain JSON: read without any code of the App."""

    commit: Commit
    record: dict[str, Any]

    @property
    def sha(self) -> str:
        return self.commit.sha

    @property
    def generation(self) -> int:
        return int(self.record["generation"])

    @property
    def sequence(self) -> int:
        return int(self.record["sequence"])

    @property
    def nonce(self) -> str | None:
        lease = self.record.get("lease")
        return lease["nonce"] if lease else None

    @property
    def published(self) -> dict[str, Any]:
        """The published head with its fencing identity; empty where nothing was published."""
        return self.record.get("published") or {}

    @property
    def counts(self) -> bool:
        """Whether what is published was published under the lease that stands in the same record."""
        lease, published = self.record.get("lease") or {}, self.published
        if not lease or not published:
            return False
        return (published["generation"], published["nonce"]) == (lease["generation"], lease["nonce"])


class GitReader:
    """A bare mirror that is fetched anew before every look; needs nothing but a token that may read."""

    def __init__(self, folder: Path, clone_url: str, token: str) -> None:
        self._folder = folder
        self._url = clone_url
        basic = base64.b64encode(f"x-access-token:{token}".encode()).decode()
        # In the environment, so that the token stands neither in a command line nor in a file.
        self._env = os.environ | {
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "http.extraHeader",
            "GIT_CONFIG_VALUE_0": f"Authorization: Basic {basic}",
        }
        subprocess.run(["git", "init", "--quiet", "--bare", str(folder)], check=True, env=self._env)

    def fetch(self) -> None:
        """Brings every branch and ledger ref to what GitHub shows now. Raises CalledProcessError."""
        self._git("fetch", "--quiet", "--prune", "--no-tags", self._url, *_SPECS)

    def refs(self, prefix: str) -> dict[str, str]:
        """The refs below a prefix, as fetched last."""
        lines = self._git("for-each-ref", "--format=%(objectname) %(refname)", prefix).splitlines()
        return {name: sha for sha, name in (line.split(" ", 1) for line in lines)}

    def commits(self, revision: str, *options: str) -> list[Commit]:
        """The commits of a range, newest first."""
        text = self._git("log", f"--format={_FIELDS}", *options, "--end-of-options", revision)
        commits = []
        for block in text.split("\x01"):
            if block.strip():
                sha, parents, at, author, message = block.lstrip("\n").split("\x00", 4)
                commits.append(Commit(sha, tuple(parents.split()), at, author, message))
        return commits

    def ledger(self, head: str) -> list[LedgerCommit]:
        """A ledger from its head to its birth, newest first."""
        commits = self.commits(head, "--first-parent")
        commits = [c for c in commits if "Recovery-Ticket:" in c.message]
        records = self._records([c.sha for c in commits])
        return [LedgerCommit(c, r) for c, r in zip(commits, records, strict=True)]

    def record(self, sha: str) -> dict[str, Any]:
        """The record in one ledger commit."""
        return self._records([sha])[0]

    def is_ancestor(self, older: str, newer: str) -> bool:
        done = subprocess.run(
            ["git", "-C", str(self._folder), "merge-base", "--is-ancestor", older, newer],
            env=self._env,
            capture_output=True,
            check=False,
        )
        return done.returncode == 0

    def _records(self, shas: list[str]) -> list[dict[str, Any]]:
        wanted = "".join(f"{sha}:record.json\n" for sha in shas)
        raw = subprocess.run(
            ["git", "-C", str(self._folder), "cat-file", "--batch"],
            input=wanted.encode(),
            capture_output=True,
            check=True,
            env=self._env,
        ).stdout
        records, at = [], 0
        for _ in shas:
            end = raw.index(b"\n", at)
            size = int(raw[at:end].rsplit(b" ", 1)[1])
            records.append(json.loads(raw[end + 1 : end + 1 + size]))
            at = end + 1 + size + 1
        return records

    def _git(self, *arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(self._folder), *arguments], check=True, capture_output=True, text=True, env=self._env
        ).stdout
