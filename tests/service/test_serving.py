"""The service as a process, with the real loop, against the emulated GitHub: bad input, and a clean end."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.emulator.client import Emulator
from app.service.keys import new_keys

PERMISSIONS = {"metadata": "read", "contents": "write", "pull_requests": "write", "issues": "write", "checks": "write"}
POLICY = "version: 1\nmode: repair\ntrunks: [release-*]\n"


class World:
    """An emulated GitHub with the App installed on acme/shop, and the service beside it."""

    def __init__(self, folder: Path) -> None:
        self.emulator = Emulator.start(folder / "github")
        self.emulator.org("acme")
        self.user = self.emulator.user("wanda")
        self.emulator.repo(
            "acme",
            "shop",
            files={"README.md": "shop\n", ".github/agent-recovery.yml": POLICY},
            branches={"release-1": None, "topic": None},
            collaborators={"wanda": "write"},
        )
        github_app = self.emulator.app("agent-recovery", permissions=PERMISSIONS, events=["issues"])
        self.installation = self.emulator.installation("agent-recovery", "acme")
        self.settings = new_keys().settings() | {
            "AGENT_RECOVERY_APP_ID": str(github_app["id"]),
            "AGENT_RECOVERY_APP_PRIVATE_KEY": github_app["pem"],
            "AGENT_RECOVERY_GITHUB_URL": self.emulator.url,
            "AGENT_RECOVERY_DATABASE_URL": f"sqlite:///{folder}/service.db",
            "AGENT_RECOVERY_PORT": "0",
        }
        self.log = folder / "service.log"

    def serve(self, **changed: str) -> "Served":
        return Served(self.settings | changed, self.log, self.user["token"])


class Served:
    """One run of `agent-recovery serve`."""

    def __init__(self, settings: dict[str, str], log: Path, token: str) -> None:
        self.log = log
        with log.open("ab") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "app.cli", "serve"],
                env={"PATH": os.environ["PATH"], **settings},
                stdout=subprocess.PIPE,
                stderr=stderr,
            )
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], 20)
        line = self.process.stdout.readline() if ready else b""
        assert line, log.read_text()
        self.http = httpx.Client(base_url=json.loads(line)["url"], timeout=20)
        self.user = {"Authorization": f"Bearer {token}"}

    def call(self, ticket: int, call: str, body: dict[str, Any], token: str | None = None) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}"} if token else self.user
        return self.http.post(f"/api/v1/repos/acme/shop/tickets/{ticket}/{call}", json=body, headers=headers)

    def claim(self, ticket: int, claim_id: str = "claim-0001", generation: int = 0) -> httpx.Response:
        return self.call(ticket, "claim", {"claim_id": claim_id, "observed_generation": generation})

    def end(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.http.close()
        return self.process.wait(30)


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Iterator[World]:
    world = World(tmp_path_factory.mktemp("serving"))
    yield world
    world.emulator.stop()


@pytest.fixture(scope="module")
def served(world) -> Iterator[Served]:
    served = world.serve()
    yield served
    served.end()


def refused(response: httpx.Response, status: int, code: str) -> dict[str, Any]:
    detail = response.json()["error"]
    assert (response.status_code, detail["code"]) == (status, code), detail
    assert detail["message"]
    assert detail["next_action"]
    return detail


def test_it_becomes_ready_and_shows_its_switches(served):
    deadline = time.monotonic() + 10
    response = served.http.get("/readyz")
    # The service is ready before its first look at the installations is back.
    while response.json().get("installations") != 1 and time.monotonic() < deadline:
        time.sleep(0.05)
        response = served.http.get("/readyz")
    assert (response.status_code, response.json()["installations"]) == (200, 1)
    assert response.json()["writes"] == "on"


def test_a_claim_on_a_closed_issue_a_pull_request_and_nothing_is_refused(world, served):
    closed = world.emulator.issue("acme/shop", "done already", author="wanda")["number"]
    headers = {"Authorization": f"Bearer {world.user['token']}"}
    github = httpx.Client(base_url=world.emulator.url, headers=headers)
    github.patch(f"/repos/acme/shop/issues/{closed}", json={"state": "closed"}).raise_for_status()
    world.emulator.commit("acme/shop", {"a.txt": "a\n"}, branch="topic")
    body = {"title": "a change", "head": "topic", "base": "release-1"}
    pull = github.post("/repos/acme/shop/pulls", json=body).raise_for_status().json()["number"]
    refused(served.claim(closed), 409, "issue_closed")
    refused(served.claim(pull), 422, "not_a_ticket")
    refused(served.claim(9999), 404, "not_found")


def test_a_claim_a_checkpoint_and_what_a_holder_may_not_send(world, served):
    ticket = world.emulator.issue("acme/shop", "add a cart", author="wanda")["number"]
    grant = served.claim(ticket)
    assert grant.status_code == 200, grant.text
    lease = grant.json()["lease_token"]
    again = served.claim(ticket)
    assert again.json().get("nonce") == grant.json()["nonce"], again.text
    other = refused(served.claim(ticket, "claim-0002", 1), 409, "lease_live")
    assert other["generation"] == 1

    secret = "ghp_" + "s3cr3t" * 6
    checkpoint = {"objective": f"deploy with {secret}", "thinking": "hmm", "from_the_future": 1}
    body = {"key": "key-00001", "seq": 1, "checkpoint": checkpoint}
    written = served.call(ticket, "checkpoint", body, lease)
    assert written.status_code == 200, written.text
    assert {change["field"] for change in written.json()["changes"]} >= {"objective", "thinking", "from_the_future"}
    assert secret not in written.text
    assert served.call(ticket, "checkpoint", body, lease).json()["repeated"]
    assert secret not in served.http.get(f"/api/v1/repos/acme/shop/tickets/{ticket}/brief", headers=served.user).text

    too_large = {"key": "key-00002", "seq": 2, "checkpoint": {"objective": "x " * (41 * 512)}}
    refused(served.call(ticket, "checkpoint", too_large, lease), 413, "checkpoint_too_large")
    wrong_type = {"key": "key-00003", "seq": 3, "checkpoint": {"completed_steps": 7}}
    refused(served.call(ticket, "checkpoint", wrong_type, lease), 422, "checkpoint_invalid")

    given_back = served.call(ticket, "handoff", {"key": "key-00004", "seq": 4}, lease)
    assert given_back.status_code == 200, given_back.text
    assert served.claim(ticket, "claim-0003", 1).status_code == 200
    late = {"key": "key-00005", "seq": 5, "checkpoint": {"objective": "zombie"}}
    stale = refused(served.call(ticket, "checkpoint", late, lease), 409, "stale_generation")
    assert stale["generation"] == 2
    for token in (lease, world.user["token"], secret):
        assert token not in served.log.read_text()


def test_a_suspended_installation_is_told_as_such(world, served):
    ticket = world.emulator.issue("acme/shop", "paused", author="wanda")["number"]
    number = world.installation["id"]
    world.emulator.change_installation(number, suspended=True)
    try:
        refused(served.claim(ticket), 409, "installation_suspended")
    finally:
        world.emulator.change_installation(number, suspended=False)
    assert served.claim(ticket).status_code == 200


def test_writes_off_refuses_a_claim_and_sends_no_write(world):
    ticket = world.emulator.issue("acme/shop", "not now", author="wanda")["number"]
    off = world.serve(AGENT_RECOVERY_WRITES="off")
    assert off.http.get("/readyz").json()["writes"] == "off"
    refused(off.claim(ticket), 409, "writes_off")
    assert off.end() == 0


def test_sigterm_ends_it_cleanly(world):
    served = world.serve()
    assert served.end() == 0
    lines = [json.loads(line) for line in world.log.read_text().splitlines()]
    assert [line["event"] for line in lines if line["event"] in ("started", "stopped")][-2:] == ["started", "stopped"]


def test_a_port_in_use_is_an_error_and_not_a_hang(world, served):
    port = str(served.http.base_url.port)
    log = world.log.with_name("second.log")
    with log.open("ab") as stderr:
        environment = {"PATH": os.environ["PATH"], **world.settings, "AGENT_RECOVERY_PORT": port}
        done = subprocess.run(
            [sys.executable, "-m", "app.cli", "serve"], env=environment, stdout=stderr, stderr=stderr, timeout=30
        )
    assert done.returncode != 0
    assert "address already in use" in log.read_text()
