"""The service as a process beside the release world: deliveries go to its webhook, its own workers do the work, and a
test only waits until nothing is left to do.
"""

import hashlib
import hmac
import json
import os
import secrets
import select
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

import httpx
from loop_world import REPO
from release_world import INTO, TRUNK, ReleaseWorld

from app.emulator.client import Emulator

REST_WITHIN_S = 100.0
SOON_S = 2.0
"""What is due so soon belongs to what is going on."""
_STARTS_WITHIN_S = 90
OTHER_APP = {"checks": "write", "statuses": "write", "issues": "write", "pull_requests": "write", "contents": "write"}


class Served(ReleaseWorld):
    """One repository, one service with a database of its own. `expected` is the base's head, as people left it."""

    def __init__(self, emulator: Emulator, folder: Path) -> None:
        super().__init__(emulator, folder)
        self.database = folder / "service.db"
        self.log = folder / "service.log"
        self._port = "0"
        self._started: subprocess.Popen[bytes] | None = None
        self.expected = str(self.head(INTO))
        self.apps: dict[str, httpx.Client] = {}
        # A whole module asks within minutes what an installation asks in a day.
        emulator.rate(f"installation:{self.installation}", 1_000_000)
        self.start()

    # ---- the service

    def start(self) -> None:
        """Start the service, or start it again on the same database."""
        settings = self.key_settings | {
            "AGENT_RECOVERY_APP_ID": str(self.app["id"]),
            "AGENT_RECOVERY_APP_PRIVATE_KEY": self.app["pem"],
            "AGENT_RECOVERY_GITHUB_URL": self.emulator.url,
            "AGENT_RECOVERY_DATABASE_URL": f"sqlite:///{self.database}",
            "AGENT_RECOVERY_PORT": self._port,
        }
        with self.log.open("ab") as log:
            self._started = subprocess.Popen(
                [sys.executable, "-m", "app.cli", "serve"],
                env={"PATH": os.environ["PATH"], **settings},
                stdout=subprocess.PIPE,
                stderr=log,
            )
        assert self._started.stdout is not None
        ready, _, _ = select.select([self._started.stdout], [], [], _STARTS_WITHIN_S)
        line = self._started.stdout.readline() if ready else b""
        assert line, self.log.read_text()[-3000:]
        self.service = httpx.Client(base_url=json.loads(line)["url"], timeout=20)
        secret = self.key_settings["AGENT_RECOVERY_WEBHOOK_SECRET"]
        self.emulator.change_app(
            "agent-recovery", webhook_url=f"{self.service.base_url}".rstrip("/") + "/webhook", webhook_secret=secret
        )

    def stop(self) -> None:
        """End the service as an operator does."""
        if self._started is None:
            return
        if self._started.poll() is None:
            self._started.send_signal(signal.SIGTERM)
        self._started.wait(60)
        assert self._started.stdout is not None
        self._started.stdout.close()
        self.service.close()
        self._started = None

    def restart(self, *, database: bool = True) -> None:
        """Another process on the same database, or on an empty one."""
        self.stop()
        if not database:
            for file in self.database.parent.glob(f"{self.database.name}*"):
                file.unlink()
        self.start()

    def end(self) -> None:
        """End the service and hang up."""
        self.stop()
        self.http.close()
        for client in [*self.people.values(), *self.apps.values()]:
            client.close()

    async def close(self) -> None:
        self.stop()
        await super().close()

    def deliver(self, event: str, payload: dict[str, Any], *, secret: str | None = None) -> int:
        """Post a delivery of our own making to the webhook, signed as GitHub signs it; the status of the answer."""
        body = json.dumps(payload).encode()
        key = secret or self.key_settings["AGENT_RECOVERY_WEBHOOK_SECRET"]
        headers = {
            "X-GitHub-Event": event,
            "X-GitHub-Delivery": secrets.token_hex(16),
            "X-Hub-Signature-256": "sha256=" + hmac.new(key.encode(), body, hashlib.sha256).hexdigest(),
            "Content-Type": "application/json",
        }
        return self.service.post("/webhook", content=body, headers=headers).status_code

    def rest(self, within_s: float = REST_WITHIN_S) -> Self:
        """Wait until every delivery is answered and no key is due or being worked on."""
        deadline, quiet = time.monotonic() + within_s, 0
        while quiet < 2:
            assert time.monotonic() < deadline, f"still at work on {self._busy()}\n{self.log.read_text()[-2000:]}"
            if self.emulator.flush() or self._busy():
                quiet = 0
                time.sleep(0.1)
            else:
                quiet += 1
                time.sleep(0.05)
        return self

    def rest_through(self, ahead_s: float = 150.0) -> Self:
        """The same, and what is to be tried again within so many seconds is tried now."""
        self.rest()
        nudged = int(self.emulator.issue(REPO, "A moment passes", author="wanda")["number"])
        for _ in range(10):
            if not self._busy(ahead_s):
                break
            self.emulator.advance(20)
            # The service learns the time from GitHub's answers, and it asks because something happens.
            self.as_person("wanda", "PATCH", f"issues/{nudged}", title=secrets.token_hex(4))
            self.rest()
        return self

    def _busy(self, ahead_s: float = SOON_S) -> list[str]:
        soon = int((self.emulator.now() + ahead_s) * 1_000_000)
        query = "SELECT key FROM pokes WHERE claimed_by IS NOT NULL OR due_at <= ?"
        connection = sqlite3.connect(f"file:{self.database}?mode=ro", uri=True, timeout=10)
        try:
            return [key for (key,) in connection.execute(query, (soon,))]
        finally:
            connection.close()

    def another_app(self, slug: str) -> httpx.Client:
        """An App that is not ours, installed here; it may write nearly everything."""
        if slug not in self.apps:
            app = self.emulator.app(slug, permissions=OTHER_APP, events=[])
            number = self.emulator.installation(slug, "acme")["id"]
            self.apps[slug] = self._client(self.emulator.installation_token(app, number))
        return self.apps[slug]

    # ---- the release

    def policy(self, text: str | None) -> None:
        super().policy(text)
        self.expected = str(self.head(INTO))

    def trunk(self, name: str = TRUNK) -> str:
        """A new trunk with a difference of its own; its head."""
        if self.head(name) is None:
            self.branch(name)
        return self.differ(branch=name)

    def reached(self) -> list[str]:
        """What came into the base of releases that nobody put there: merged pull requests, and another head."""
        found = [f"#{number} is merged" for number in self.merges()]
        head = self.head(INTO)
        return found + ([] if head == self.expected else [f"{INTO} is at {head}, not at {self.expected}"])

    def release_pull(self, trunk: str = TRUNK) -> dict[str, Any]:
        """The open release pull request of a trunk."""
        (found,) = (pull for pull in self.pulls("open", head=trunk) if pull["base"]["ref"] == INTO)
        return self.pull(int(found["number"]))

    def guards(self, sha: str) -> list[dict[str, Any]]:
        return [run for run in super().guards(sha) if run["app"]["id"] == self.app["id"]]

    def answers(self, number: int, comment: int) -> list[str]:
        """What our App answered to a comment."""
        return [c["body"] for c in self.ours(number) if f"agent-recovery:answer {comment} " in c["body"]]

    def told(self, who: str, number: int, text: str) -> str:
        """Say something and wait; the one answer, empty where there is none."""
        made = self.say(who, number, text)
        self.rest()
        found = self.answers(number, int(made["id"]))
        assert len(found) <= 1, found
        return found[0] if found else ""
