"""The doctor against the emulated GitHub: every probe runs, finds what is so, and leaves nothing behind."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.doctor.cli import PROBES, exit_code
from app.doctor.finding import Finding, State
from app.emulator.client import Emulator
from app.service.keys import new_keys

ROOT = Path(__file__).parents[2]
PERMISSIONS = {"metadata": "read", "contents": "write", "pull_requests": "write", "issues": "write", "checks": "write"}
REPO = "acme/sandbox"


class Sandboxed:
    """An operator's environment and a repository nobody works in."""

    def __init__(self, emulator: Emulator) -> None:
        emulator.reset()
        emulator.org("acme")
        self.emulator = emulator
        self.token = emulator.user("olga")["token"]
        emulator.repo("acme", "sandbox", files={"README.md": "x\n"}, collaborators={"olga": "admin"})
        self.app = emulator.app("agent-recovery", permissions=PERMISSIONS, events=[])
        emulator.installation("agent-recovery", "acme")
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("AGENT_RECOVERY_")},
            **new_keys().settings(),
            "AGENT_RECOVERY_APP_ID": str(self.app["id"]),
            "AGENT_RECOVERY_APP_PRIVATE_KEY": self.app["pem"],
            "AGENT_RECOVERY_GITHUB_URL": emulator.url,
            "PYTHONPATH": str(ROOT),
        }

    def doctor(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "app.cli", "doctor", *arguments],
            capture_output=True,
            text=True,
            env={**self.environment, **environment},
            timeout=100,
            check=False,
        )

    def get(self, path: str) -> Any:
        headers = {"authorization": f"Bearer {self.token}"}
        answer = httpx.get(f"{self.emulator.url}/repos/{REPO}{path}", headers=headers)
        return answer.raise_for_status().json()

    def what_stands(self) -> dict[str, Any]:
        issues = self.get("/issues?state=open")
        return {
            # GitHub keeps `refs/pull/N/head` of closed pull requests for good.
            "refs": [r["ref"] for r in self.get("/git/matching-refs/") if not r["ref"].startswith("refs/pull/")],
            "open": [i["number"] for i in issues],
            "comments": self.get("/issues/comments"),
        }


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    with Emulator.start(tmp_path_factory.mktemp("github")) as started:
        yield started


@pytest.fixture
def sandboxed(emulator: Emulator) -> Sandboxed:
    return Sandboxed(emulator)


def test_every_probe_runs_and_cleans_up_after_itself(sandboxed: Sandboxed) -> None:
    before = sandboxed.what_stands()
    done = sandboxed.doctor("--probe", REPO, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    states = {f["probe"]: f["state"] for f in told["findings"]}
    assert list(states) == [probe.name for probe in PROBES]
    # An App without permission for Actions cannot list runs; everything else is tried.
    assert {name for name, state in states.items() if state != "as relied on"} <= {"runs-of-custom-refs"}
    assert told["left"] == []
    assert sandboxed.what_stands() == before


@pytest.mark.parametrize(
    ("switch", "otherwise"),
    [("update_refs", {"custom-refs", "draft"}), ("custom_refs", {"custom-refs", "receive-pack"})],
)
def test_what_github_refuses_is_found(sandboxed: Sandboxed, switch: str, otherwise: set[str]) -> None:
    sandboxed.emulator.switches(REPO, **{switch: "refused"})
    done = sandboxed.doctor("--probe", REPO, "--json")
    assert done.returncode == 5
    told = json.loads(done.stdout)
    found = {f["probe"] for f in told["findings"] if f["state"] == "otherwise"}
    assert otherwise <= found


def test_it_keeps_out_of_a_repository_with_tickets(sandboxed: Sandboxed, tmp_path: Path) -> None:
    url = sandboxed.emulator.url.replace("://", f"://x-access-token:{sandboxed.token}@")
    subprocess.run(["git", "clone", "-q", f"{url}/{REPO}.git", str(tmp_path / "c")], check=True)
    push = ["git", "-C", str(tmp_path / "c"), "push", "-q", "origin", "HEAD:refs/agent-recovery/active/7"]
    subprocess.run(push, check=True)
    before = sandboxed.what_stands()
    done = sandboxed.doctor("--probe", REPO)
    assert done.returncode == 2
    assert "1 tickets in progress" in done.stderr
    assert sandboxed.what_stands() == before


@pytest.mark.parametrize(
    ("arguments", "environment", "code", "words"),
    [
        (["--probe", "acme"], {}, 2, "OWNER/NAME"),
        (["--probe", "acme/../x"], {}, 2, "OWNER/NAME"),
        (["--probe", "acme/nowhere"], {}, 7, "Is the App installed"),
        (["--probe", REPO], {"AGENT_RECOVERY_WRITES": "off"}, 4, "nothing was done"),
        (["--probe", REPO], {"AGENT_RECOVERY_APP_ID": ""}, 2, "AGENT_RECOVERY_APP_ID"),
        ([], {}, 2, "--probe"),
    ],
)
def test_bad_calls_say_what_is_wrong(
    sandboxed: Sandboxed, arguments: list[str], environment: dict[str, str], code: int, words: str
) -> None:
    done = sandboxed.doctor(*arguments, **environment)
    assert done.returncode == code
    assert words in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_every_probe_stands_in_the_page_of_what_is_not_verified() -> None:
    page = (ROOT / "docs" / "unverified.md").read_text(encoding="utf-8")
    missing = [probe.name for probe in PROBES if f"`{probe.name}`" not in page]
    assert missing == []


@pytest.mark.parametrize(
    ("states", "code"),
    [
        ([State.AS_RELIED_ON, State.NOT_TRIED], 0),
        ([State.AS_RELIED_ON, State.OTHERWISE], 5),
        ([State.NOT_TRIED], 7),
    ],
)
def test_the_exit_code_tells_the_whole(states: list[State], code: int) -> None:
    assert exit_code([Finding("p", "r", state, "s") for state in states]) == code
