"""A stage for proofs: every write of the story made by hand, one at a time, on the emulated GitHub.

No part of the App takes part. What the App would write is written here with its identity and git, so that a proof can
be looked at just before and just after the one write it is about.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from github import Auth, Github, GithubIntegration
from github.PullRequest import PullRequest
from github.Repository import Repository

from app.drill.git_reader import LedgerCommit
from app.drill.observer import AppIdentity, Observer
from app.drill.proofs_of_work import POLICY, Place
from app.emulator.client import Emulator

TRUNK, BRANCH = "release-1-2-0", "ticket/1-ripen"
NONCES = {1: "nonce-of-generation-1", 2: "nonce-of-generation-2"}
STEPS = ("1", "2", "3")


class Scene:
    """One repository of its own with Issue #1, and a worker's clone."""

    def __init__(self, github: Emulator, app: AppIdentity, name: str, folder: Path, tokens: dict[str, str]) -> None:
        self.github = github
        self.app = app
        self.name = name
        self.folder = folder
        self.full_name = f"acme/{name}"
        self.workspace = folder / "workspace"
        github.repo(
            "acme",
            name,
            files={"README.md": "# An orchard\n", POLICY: "version: 1\nmode: repair\n"},
            default_branch="main",
            branches={TRUNK: None},
            collaborators={"observer": "read", "worker": "write"},
        )
        self.place = Place(app=app, ticket=1, default_branch="main", trunk=TRUNK, branch=BRANCH)
        github.issue(self.full_name, "Ripen", body="- [ ] Water\n", author="olive")
        self._worker = tokens["worker"]
        clone_url = f"{github.url}/{self.full_name}.git"
        self.observer = Observer(
            api_url=f"{github.url}/api/v3",
            clone_url=clone_url,
            repository=self.full_name,
            token=tokens["observer"],
            folder=folder / "observer.git",
        )
        self.git("clone", "--quiet", clone_url, str(self.workspace), at=folder)
        self.git("checkout", "--quiet", "-b", BRANCH, f"origin/{TRUNK}")
        self.head = self.rev("HEAD")
        self.record: dict[str, Any] = {
            "schema": 1,
            "ticket": 1,
            "sequence": -1,
            "generation": 0,
            "status": "unclaimed",
            "lease": None,
            "published": None,
            "checkpoint": {"completed_steps": [], "next_steps": []},
        }
        self.ledger_head: str | None = None

    # What the worker does

    def git(self, *arguments: str, at: Path | None = None) -> str:
        env = os.environ | {
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "true",
            "GIT_CONFIG_COUNT": "3",
            "GIT_CONFIG_KEY_0": "credential.helper",
            "GIT_CONFIG_VALUE_0": f"!f() {{ echo username=x-access-token; echo password={self._worker}; }}; f",
            "GIT_CONFIG_KEY_1": "user.name",
            "GIT_CONFIG_VALUE_1": "worker",
            "GIT_CONFIG_KEY_2": "user.email",
            "GIT_CONFIG_VALUE_2": "worker@example.com",
        }
        done = subprocess.run(
            ["git", *arguments], cwd=at or self.workspace, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"git {arguments}: {done.stderr}"
        return done.stdout.strip()

    def rev(self, name: str) -> str:
        return self.git("rev-parse", name)

    def work(self, step: str, *, text: str = "done") -> str:
        """A commit for a step; not pushed."""
        (self.workspace / f"step-{step}.txt").write_text(f"{text}\n")
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", f"Do step {step}\n\nStep: {step}")
        return self.rev("HEAD")

    def push(self, *refspecs: str) -> None:
        self.git("push", "--quiet", "origin", *(refspecs or (f"HEAD:refs/heads/{BRANCH}",)))

    # What a ledger is made of

    def write_ledger(self, event: str, *, code_parent: str | None = None, push: bool = True, **changes: Any) -> str:
        """One ledger commit on top of the last one."""
        self.record = {**self.record, **changes, "sequence": self.record["sequence"] + 1}
        (self.folder / "record.json").write_text(json.dumps(self.record))
        blob = self.git("hash-object", "-w", str(self.folder / "record.json"))
        (self.folder / "tree").write_text(f"100644 blob {blob}\trecord.json\n")
        with (self.folder / "tree").open("rb") as listing:
            tree = subprocess.run(
                ["git", "mktree"], cwd=self.workspace, stdin=listing, capture_output=True, text=True, check=True
            ).stdout.strip()
        parents = [f"-p{p}" for p in (self.ledger_head, code_parent) if p]
        message = (
            f"1 · {event}\n\nRecovery-Ticket: 1\nRecovery-Generation: {self.record['generation']}\n"
            f"Recovery-Event: {event}\nRecovery-Seal: ed25519:by-hand:00"
        )
        self.ledger_head = self.git("commit-tree", tree, *parents, "-m", message)
        if push:
            self.push(f"+{self.ledger_head}:refs/agent-recovery/active/1")
        return self.ledger_head

    def claim(self, generation: int = 1) -> str:
        lease = {"generation": generation, "nonce": NONCES[generation], "login": "worker", "holder": "agent"}
        return self.write_ledger("claim", generation=generation, lease=lease, status="recovering")

    def publish(self, *, status: str = "working", steps: tuple[str, ...] = (), push: bool = True) -> str:
        """The worker's HEAD as published under the present lease: branch and ledger."""
        head = self.rev("HEAD")
        generation = self.record["generation"]
        if push:
            self.push(f"+HEAD:refs/heads/{BRANCH}")
        self.head = head
        self.write_ledger(
            "push",
            code_parent=head,
            status=status,
            published={"sha": head, "generation": generation, "nonce": NONCES[generation]},
            checkpoint={"completed_steps": [{"id": s, "text": "x"} for s in steps], "next_steps": []},
        )
        return head

    def begin(self, *steps: str) -> str:
        """Generation 1 has claimed and published these steps."""
        self.claim(1)
        for step in steps or ("1",):
            self.work(step)
        return self.publish(steps=steps or ("1",))

    def standing_ledger(self) -> LedgerCommit:
        return self.observer.ledger(1)[0]

    # What the App would do

    def install(self) -> None:
        self.github.installation(self.app.slug, "acme", [self.name])

    @property
    def as_app(self) -> Repository:
        """The repository as the App itself may write it."""
        api = f"{self.github.url}/api/v3"
        quick: dict[str, Any] = {"seconds_between_requests": None, "seconds_between_writes": None}
        asker = GithubIntegration(auth=Auth.AppAuth(self.app.id, self.app.private_key), base_url=api, **quick)
        token = asker.get_access_token(asker.get_repo_installation("acme", self.name).id).token
        return Github(auth=Auth.Token(token), base_url=api, retry=None, **quick).get_repo(self.full_name)

    def open_pull(self) -> PullRequest:
        return self.as_app.create_pull(base=TRUNK, head=BRANCH, title="Ripen", body="Ticket: #1\n", draft=True)

    def checkpoint_text(self) -> str:
        payload = json.dumps({"ledger_commit": self.ledger_head, "checkpoint": self.record["checkpoint"]})
        return f"<details>\n\n```json agent-recovery\n{payload}\n```\n\n</details>"

    def show_check(self, sha: str, *, conclusion: str = "success", title: str = "Fenced") -> int:
        external = f"1:{self.record['generation']}:{self.record['sequence']}:{str(self.ledger_head)[:12]}"
        run = self.as_app.create_check_run(
            "Agent Recovery",
            sha,
            status="completed",
            conclusion=conclusion,
            external_id=external,
            output={"title": title, "summary": title, "text": self.checkpoint_text()},
        )
        return run.id
