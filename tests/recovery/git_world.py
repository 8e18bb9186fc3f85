"""An emulated GitHub, the service as a process, and plain git that has a lease token and nothing else."""

import json
import os
import secrets
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from app.emulator.client import Emulator
from app.service.keys import new_keys

PERMISSIONS = {"metadata": "read", "contents": "write", "pull_requests": "write", "issues": "write", "checks": "write"}
POLICY = "version: 1\nmode: repair\ntrunks: [release-*]\n"
REPO = "acme/shop"
PATIENCE_S = 20.0


class GitWorld:
    """The service in front of acme/shop. `restart` begins a new one on the same database."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.emulator = Emulator.start(folder / "github")
        self.emulator.org("acme")
        self.user: str = self.emulator.user("wanda")["token"]
        admin: str = self.emulator.user("ada")["token"]
        for name in ("shop", "other"):
            self.emulator.repo(
                "acme",
                name,
                files={"README.md": "shop\n", ".github/agent-recovery.yml": POLICY},
                branches={"release-1": None},
                collaborators={"wanda": "write", "ada": "admin"},
            )
        app = self.emulator.app("agent-recovery", permissions=PERMISSIONS, events=[])
        self.emulator.installation("agent-recovery", "acme")
        self.settings = new_keys().settings() | {
            "AGENT_RECOVERY_APP_ID": str(app["id"]),
            "AGENT_RECOVERY_APP_PRIVATE_KEY": app["pem"],
            "AGENT_RECOVERY_GITHUB_URL": self.emulator.url,
            "AGENT_RECOVERY_DATABASE_URL": f"sqlite:///{folder}/service.db",
            "AGENT_RECOVERY_PORT": "0",
        }
        self.log = folder / "service.log"
        self.github, self.admin = (
            httpx.Client(base_url=self.emulator.url, headers={"Authorization": f"Bearer {token}"}, timeout=PATIENCE_S)
            for token in (self.user, admin)
        )
        self.start()

    def start(self) -> None:
        with self.log.open("ab") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "app.cli", "serve"],
                env={"PATH": os.environ["PATH"], **self.settings},
                stdout=subprocess.PIPE,
                stderr=stderr,
            )
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE_S)
        line = self.process.stdout.readline() if ready else b""
        assert line, self.log.read_text()
        self.url: str = json.loads(line)["url"]
        self.api = httpx.Client(base_url=f"{self.url}/api/v1/repos/{REPO}/tickets", timeout=PATIENCE_S)

    def restart(self, how: signal.Signals = signal.SIGTERM) -> None:
        self.end_service(how)
        self.start()

    def end_service(self, how: signal.Signals = signal.SIGTERM) -> None:
        self.api.close()
        if self.process.poll() is None:
            self.process.send_signal(how)
        self.process.wait(30)

    def end(self) -> None:
        self.end_service()
        self.github.close()
        self.admin.close()
        self.emulator.stop()

    def issue(self, title: str = "Add prices") -> int:
        number: int = self.emulator.issue(REPO, title, author="wanda")["number"]
        return number

    def claim(self, ticket: int | str, generation: int = 0) -> dict[str, Any]:
        """A grant, with the evidence given."""
        body = {"claim_id": secrets.token_hex(8), "observed_generation": generation, "holder": "agent"}
        answer = self.api.post(f"/{ticket}/claim", json=body, headers={"Authorization": f"Bearer {self.user}"})
        assert answer.status_code == 200, answer.text
        grant: dict[str, Any] = answer.json()
        return grant

    def take_over(self, ticket: int) -> dict[str, Any]:
        """Another agent's grant, after the present holder was silent for too long."""
        self.emulator.advance(3600)
        return self.claim(ticket, self.record(ticket)["generation"])

    def write(self, ticket: int | str, call: str, token: str, **body: Any) -> httpx.Response:
        sent = {"key": secrets.token_hex(8), "seq": 1, **body}
        return self.api.post(f"/{ticket}/{call}", json=sent, headers={"Authorization": f"Bearer {token}"})

    def ref(self, name: str) -> str | None:
        """What a ref points to on GitHub."""
        found = self.github.get(f"/repos/{REPO}/git/matching-refs/{name.removeprefix('refs/')}").json()
        return next((one["object"]["sha"] for one in found if one["ref"] == name), None)

    def record(self, ticket: int | str, commit: str | None = None) -> dict[str, Any]:
        """The record of a ledger commit, by default of the head."""
        head = commit or self.ref(f"refs/agent-recovery/active/{ticket}")
        tree = self.github.get(f"/repos/{REPO}/git/commits/{head}").json()["tree"]["sha"]
        blob = self.github.get(f"/repos/{REPO}/git/trees/{tree}").json()["tree"][0]["sha"]
        raw = self.github.get(f"/repos/{REPO}/git/blobs/{blob}", headers={"Accept": "application/vnd.github.raw+json"})
        value: dict[str, Any] = raw.json()
        return value

    def story(self, ticket: int) -> list[str]:
        """The subjects of a ledger, the oldest first."""
        subjects = []
        wanted = self.ref(f"refs/agent-recovery/active/{ticket}")
        while wanted is not None:
            commit = self.github.get(f"/repos/{REPO}/git/commits/{wanted}").json()
            subjects.append(commit["message"].partition("\n")[0])
            parents = [parent["sha"] for parent in commit["parents"]]
            wanted = parents[0] if parents else None
        return subjects[::-1]

    def address(self, token: str, repo: str = REPO) -> str:
        return self.url.replace("://", f"://agent:{token}@") + f"/git/{repo}.git"

    def agent(self, grant: dict[str, Any]) -> "PlainGit":
        return PlainGit(self, grant)


class PlainGit:
    """A clone made through the endpoint, on the ticket branch."""

    def __init__(self, world: GitWorld, grant: dict[str, Any]) -> None:
        self.world, self.grant = world, grant
        self.token: str = grant["lease_token"]
        self.branch: str = grant["branch"]
        self.home = world.folder / secrets.token_hex(4)
        self.home.mkdir()
        self.folder = self.home / "work"
        self.git("clone", "-q", world.address(self.token), str(self.folder), cwd=self.home)
        self.git("checkout", "-q", "-B", self.branch, grant["head_sha"])

    @property
    def environment(self) -> dict[str, str]:
        who = {f"GIT_{role}_{what}": "agent" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        quiet = {"HOME": str(self.home), "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
        return {"PATH": os.environ["PATH"], **who, **quiet}

    def run(self, *arguments: str, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["git", *arguments],
            cwd=cwd or self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def git(self, *arguments: str, cwd: Path | None = None) -> str:
        done = self.run(*arguments, cwd=cwd)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def commit(self, name: str, content: bytes = b"x\n") -> str:
        (self.folder / name).write_bytes(content)
        self.git("add", name)
        self.git("commit", "-qm", f"Add {name}")
        return self.git("rev-parse", "HEAD")

    def push(self, *refspecs: str) -> "subprocess.CompletedProcess[str]":
        return self.run("push", "origin", *(refspecs or (f"HEAD:refs/heads/{self.branch}",)))

    def begin_push(self, *refspecs: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            ["git", "push", "origin", *(refspecs or (f"HEAD:refs/heads/{self.branch}",))],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


def until(holds: Callable[[], Any], what: str) -> None:
    """Waits until it holds."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.02)
