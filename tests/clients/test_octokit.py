"""Octokit against the emulator: REST, pages, GraphQL, an App, and webhooks received by a server in JavaScript."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from outsiders import REPO, Outside

from tests.npm import packages

HERE = Path(__file__).parent
pytestmark = packages.needs_packages
SECRET = "hook secret"


def world(outside: Outside) -> str:
    """What a scenario needs to know."""
    return json.dumps(
        {
            "url": outside.url,
            "tokens": outside.tokens,
            "app": {name: outside.app[name] for name in ("id", "pem", "client_id")},
            "installation": outside.installation["id"],
            "node_id": outside.repo["node_id"],
            "head": outside.head("42-x"),
            "secret": SECRET,
        }
    )


def node() -> tuple[list[str], dict[str, str]]:
    """The command and the environment of a scenario."""
    program = shutil.which("node")
    assert program is not None
    command = [program, str(HERE / "octokit.mjs")]
    return command, {"PATH": os.environ["PATH"], "MODULES": str(packages.MODULES), "NODE_NO_WARNINGS": "1"}


@pytest.mark.parametrize("scenario", ["rest", "conditional", "paginate", "graphql", "app"])
def test_octokit(outside: Outside, scenario: str) -> None:
    command, env = node()
    done = subprocess.run(
        [*command, scenario], input=world(outside), env=env, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    if scenario == "graphql":
        asked = [r for r in outside.emulator.requests() if "updateRefs" in r["operations"]]
        assert len(asked) == 4, "the one that was done, then the lost one and its two repetitions"


class Server:
    """The server in JavaScript that answers webhooks."""

    def __init__(self, outside: Outside) -> None:
        command, env = node()
        self.process = subprocess.Popen(
            [*command, "webhooks"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdin is not None
        self.process.stdin.write(world(outside))
        self.process.stdin.close()
        self.hook = str(self.line()["hook"])

    def line(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the server has ended"
        return json.loads(line)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(10)
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def server(outside: Outside) -> Iterator[Server]:
    started = Server(outside)
    yield started
    started.stop()


def test_webhooks_are_verified_received_and_answered(outside: Outside, server: Server) -> None:
    outside.emulator.change_app("keeper", webhook_url=server.hook)
    issue = outside.rest("mate", "POST", f"/repos/{REPO}/issues", title="Hello?")
    assert server.line() == ["issues", "opened"]
    assert server.line() == ["issue_comment", "created"], "what the App does itself raises events too"
    comments = outside.rest("dev", "GET", f"/repos/{REPO}/issues/{issue['number']}/comments")
    assert [(c["user"]["login"], c["user"]["type"], c["body"]) for c in comments] == [
        ("keeper[bot]", "Bot", "Hello, mate")
    ]
    outside.emulator.flush()
    seen = [d for d in outside.emulator.deliveries() if d["event"] in ("issues", "issue_comment")]
    assert {d["status_code"] for d in seen} == {200}


def test_a_wrong_signature_is_refused_and_the_delivery_kept(outside: Outside, server: Server) -> None:
    outside.emulator.change_app("keeper", webhook_url=server.hook, webhook_secret="another")
    outside.rest("mate", "POST", f"/repos/{REPO}/issues", title="Hello?")
    outside.emulator.flush()
    failed = outside.emulator.deliveries()[-1]
    assert failed["status_code"] == 400
    outside.emulator.change_app("keeper", webhook_secret=SECRET)
    outside.emulator.replay(guid=failed["guid"])
    assert server.line() == ["issues", "opened"]
