"""The doctor against the emulated GitHub: every probe runs, finds what is so, and leaves nothing behind."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.doctor.cli import PROBES, exit_code
from app.doctor.finding import Finding, State
from app.doctor.probes_of_projects import TITLE
from app.emulator.client import Emulator
from app.service.keys import new_keys

pytestmark = pytest.mark.drill

ROOT = Path(__file__).parents[2]
PERMISSIONS = {
    "metadata": "read",
    "contents": "write",
    "pull_requests": "write",
    "issues": "write",
    "checks": "write",
}
MORE = {"actions": "read", "organization_projects": "write", "administration": "write", "workflows": "write"}
NEED_MORE = (
    "runs-of-custom-refs",
    "label-deleted",
    "project-values",
    "guarded-base",
    "guards-and-ledgers",
    "workflow-files",
    "release-guard",
)
REPO = "acme/sandbox"
# Deliveries are tried and kept, and nobody hears them.
NOBODY = "http://127.0.0.1:9/webhook"


class Sandboxed:
    """An operator's environment and a repository nobody works in."""

    def __init__(self, emulator: Emulator, *, permissions: dict[str, str], events: list[str]) -> None:
        emulator.reset()
        emulator.org("acme")
        self.emulator = emulator
        self.token = emulator.user("olga")["token"]
        emulator.repo("acme", "sandbox", files={"README.md": "x\n"}, collaborators={"olga": "admin"})
        self.app = emulator.app("agent-recovery", permissions=permissions, events=events, webhook_url=NOBODY)
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
            "rulesets": self.get("/rulesets"),
            "labels": [label["name"] for label in self.get("/labels")],
            "locked": [i["number"] for i in self.get("/issues?state=closed") if i["locked"]],
        }

    def items_of(self, project: int) -> Any:
        headers = {"authorization": f"Bearer {self.token}"}
        path = f"/orgs/acme/projectsV2/{project}/items"
        return httpx.get(self.emulator.url + path, headers=headers).raise_for_status().json()


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    with Emulator.start(tmp_path_factory.mktemp("github")) as started:
        yield started


@pytest.fixture
def sandboxed(emulator: Emulator) -> Sandboxed:
    return Sandboxed(emulator, permissions=PERMISSIONS, events=[])


def test_every_probe_runs_and_cleans_up_after_itself(emulator: Emulator) -> None:
    sandboxed = Sandboxed(emulator, permissions=PERMISSIONS | MORE, events=["issues"])
    fields = [{"name": "Points", "type": "NUMBER"}, {"name": "Due", "type": "DATE"}]
    project = emulator.project("acme", TITLE, fields=fields)
    before = sandboxed.what_stands()
    done = sandboxed.doctor("--probe", REPO, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    states = {f["probe"]: f["state"] for f in told["findings"]}
    assert list(states) == [probe.name for probe in PROBES]
    assert set(states.values()) == {"as relied on"}
    values = next(f["seen"] for f in told["findings"] if f["probe"] == "project-values")
    assert all(kind in values for kind in ("NUMBER", "DATE", "SINGLE_SELECT"))
    assert told["left"] == []
    assert sandboxed.what_stands() == before
    assert sandboxed.items_of(project["number"]) == []


def test_what_the_app_may_not_do_is_not_tried_and_not_wrong(sandboxed: Sandboxed) -> None:
    before = sandboxed.what_stands()
    done = sandboxed.doctor("--probe", REPO, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    others = {f["probe"]: f["state"] for f in told["findings"] if f["state"] != "as relied on"}
    assert others == dict.fromkeys(NEED_MORE, "not tried")
    assert sandboxed.what_stands() == before


def test_what_github_refuses_is_found(sandboxed: Sandboxed) -> None:
    sandboxed.emulator.switches(REPO, update_refs="refused", custom_refs="refused")
    done = sandboxed.doctor("--probe", REPO, "--json")
    assert done.returncode == 5
    told = json.loads(done.stdout)
    found = {f["probe"] for f in told["findings"] if f["state"] == "otherwise"}
    assert {"custom-refs", "receive-pack", "draft"} <= found


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


def test_what_is_not_verified_has_its_probe_row_by_row() -> None:
    page = (ROOT / "docs" / "unverified.md").read_text(encoding="utf-8")
    tables = re.findall(r"^\| probe \|.*\n\|[-|]+\n((?:\|.*\n)+)", page, re.MULTILINE)
    cells = [row.split("|")[1].strip() for table in tables for row in table.splitlines()]
    commands = {cell.strip("`") for cell in cells if cell.startswith("`")}
    by_hand = {match[1].lower(): match[2] for cell in cells if (match := re.fullmatch(r"\[(.+)\]\(#(.+)\)", cell))}
    assert len(tables) == 2
    assert len(commands) + len(by_hand) == len(cells)
    assert commands == {probe.name for probe in PROBES}
    ways = dict(re.findall(r"^### (.+)\n\n((?:(?!^#).*\n)+)", page, re.MULTILINE))
    assert {title.lower() for title in ways} == set(by_hand)
    for title, way in ways.items():
        assert by_hand[title.lower()] == title.lower().replace(" ", "-")
        assert re.search(r"`gh |^    |deliveries|rerun", way, re.MULTILINE), title


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
