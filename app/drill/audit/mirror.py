"""The auditor's own mirror of a repository: branches and ledgers by git alone, whole ledgers read commit by commit."""

import base64
import os
import subprocess
from pathlib import Path

from app.domain.refs import BRANCH_NAMESPACE, DEFAULT_NAMESPACE
from app.ledger.clone import Clone
from app.ledger.codec import Entry

LONGEST = 20_000
"""Ledger commits of one ticket that are read; a longer ledger is nobody's work."""
_TIMEOUT_S = 600
_SPECS = ("+refs/heads/*:refs/heads/*", f"+{DEFAULT_NAMESPACE}/*:{DEFAULT_NAMESPACE}/*")


class NotMirrored(Exception):
    """git could not fetch the repository; the message is git's, without credentials."""


class Mirror:
    """A bare copy in `folder`, made anew for each audit."""

    def __init__(self, folder: Path, clone_url: str, token: str) -> None:
        """Fetches every branch and ledger ref. Raises NotMirrored."""
        basic = base64.b64encode(f"x-access-token:{token}".encode()).decode()
        # In the environment, so that the token stands neither in a command line nor in a file.
        self._environment = os.environ | {
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "http.extraHeader",
            "GIT_CONFIG_VALUE_0": f"Authorization: Basic {basic}",
        }
        self._folder = folder
        subprocess.run(["git", "init", "--quiet", "--bare", str(folder)], check=True, env=self._environment)
        try:
            self._git("fetch", "--quiet", "--no-tags", clone_url, *_SPECS)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            raise NotMirrored("git could not fetch the branches and ledgers of the repository") from error
        self._clone = Clone(folder)
        self.refs = self._refs()

    @property
    def namespace(self) -> str:
        """Where the ledgers lie: custom refs, or branches where those are refused."""
        custom = any(name.startswith(f"{DEFAULT_NAMESPACE}/") for name in self.refs)
        branches = any(name.startswith(f"{BRANCH_NAMESPACE}/") for name in self.refs)
        return BRANCH_NAMESPACE if branches and not custom else DEFAULT_NAMESPACE

    def ledger(self, ref: str) -> tuple[Entry, ...]:
        """The whole ledger under a ref, newest first; empty where none stands."""
        head = self.refs.get(ref)
        if head is None:
            return ()
        found: list[Entry] = []
        with self._clone.objects() as objects:
            for sha in self._clone.first_parents(head, LONGEST):
                entry = objects.entry(sha)
                if entry is None:
                    break
                found.append(entry)
        return tuple(found)

    def contains(self, sha: str, ancestor: str) -> bool:
        """Whether `ancestor` is `sha` or in its history; False where one of them is not in the repository."""
        return self._clone.contains(sha, ancestor)

    def _refs(self) -> dict[str, str]:
        lines = self._git("for-each-ref", "--format=%(objectname) %(refname)").splitlines()
        return {name: sha for sha, name in (line.split(" ", 1) for line in lines)}

    def _git(self, *arguments: str) -> str:
        command = ["git", "-C", str(self._folder), *arguments]
        done = subprocess.run(
            command, check=True, capture_output=True, text=True, env=self._environment, timeout=_TIMEOUT_S
        )
        return done.stdout
