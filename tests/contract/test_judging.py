"""The judge itself: what it lets pass, what it calls a fault, and that a fault fails the run and names its test."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.emulator.recording import VARIABLE
from tests.contract.judging import judge
from tests.npm.packages import needs_packages

pytestmark = needs_packages
ROOT = Path(__file__).parents[2]
REF = "GET /repos/{owner}/{repo}/git/ref/{ref*}"
SHOWN = {
    "ref": "refs/heads/main",
    "node_id": "n",
    "url": "http://127.0.0.1/x",
    "object": {"type": "commit", "sha": "a" * 40, "url": "http://127.0.0.1/y"},
}


def line(operation: str, status: int, response: Any, request: Any = None, version: str | None = None) -> bytes:
    kept = {"operation": operation, "version": version, "status": status, "media": "application/json"}
    return json.dumps(kept | {"request": request, "response": response}).encode()


def test_what_fits_is_no_fault() -> None:
    assert judge(line(REF, 200, SHOWN)) == []
    assert judge(line(REF, 404, {"message": "Not Found", "documentation_url": "d", "status": "404"})) == []


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        (line(REF, 200, {**SHOWN, "object": {**SHOWN["object"], "sha": 5}}), "/object/sha 5 is not of type"),
        (line(REF, 200, {k: v for k, v in SHOWN.items() if k != "url"}), '"url" is a required property'),
        (line(REF, 200, SHOWN | {"colour": "red"}), "'colour' was unexpected"),
        (line(REF, 200, SHOWN | {"url": "no address"}), "/url"),
        (line(REF, 418, {"message": "teapot"}), "status 418 is neither described nor known"),
        (line("GET /repos/{owner}/{repo}/wishes", 200, []), "describes no such operation"),
        (line("DELETE /repos/{owner}/{repo}/git/refs/{ref*}", 204, {}), "a body where GitHub describes none"),
        (line("POST /repos/{owner}/{repo}/git/refs", 201, SHOWN, {"ref": "refs/heads/x"}), "request"),
        (b'{"event":"pull_request","action":"dreamt","payload":{}}', "describes no such event"),
        (b'{"event":"create","action":null,"payload":{"ref":"x"}}', '"ref_type" is a required property'),
    ],
)
def test_faults_tell_the_operation_and_the_place(kept: bytes, told: str) -> None:
    faults = judge(kept)
    assert any(told in fault.text for fault in faults), faults
    known = json.loads(kept)
    assert all(
        fault.subject.endswith(str(known.get("status", known.get("action") or known.get("event")))) for fault in faults
    )


def test_a_later_version_is_judged_by_its_own_description() -> None:
    """2026-03-10 has no `rate` beside the limits by resource."""
    bucket = {"limit": 60, "remaining": 59, "reset": 1, "used": 1}
    shown = {"resources": {"core": bucket, "search": bucket}}
    assert judge(line("GET /rate_limit", 200, shown | {"rate": bucket})) == []
    assert judge(line("GET /rate_limit", 200, shown, version="2026-03-10")) == []
    assert (
        "'rate' was unexpected"
        in judge(line("GET /rate_limit", 200, shown | {"rate": bucket}, version="2026-03-10"))[0].text
    )


def run(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Run the tests of a folder with the watch, as if no other watched already."""
    env = {k: v for k, v in os.environ.items() if k != VARIABLE} | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.contract.watch", *more]
    return subprocess.run(
        # A folder of its own for temporary files: in the shared one pytest would first clear away those of older runs.
        [*command, "-c", "/dev/null", "--rootdir", str(folder), "--basetemp", str(folder / "tmp"), "."],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_without_the_packages_nothing_is_judged_and_the_run_says_so(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "from tests.npm import packages\npackages.missing = lambda: 'there is no npm here'\n"
    )
    (tmp_path / "test_quiet.py").write_text(
        f"import os\ndef test_nothing_is_kept(): assert {VARIABLE!r} not in os.environ\n"
    )
    done = run(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "was not judged by GitHub's description: there is no npm here" in done.stdout


@pytest.mark.parametrize("parallel", [[], ["-n", "2"]])
def test_a_fault_fails_the_run_and_names_the_test(tmp_path: Path, parallel: list[str]) -> None:
    bad = line(REF, 200, SHOWN | {"colour": "red"}).decode()
    (tmp_path / "test_said.py").write_text(
        "import os, pathlib\n"
        "def say(text):\n"
        f"    with (pathlib.Path(os.environ[{VARIABLE!r}]) / '1.jsonl').open('a') as kept:\n"
        "        kept.write(text + '\\n')\n"
        f"def test_well(): say({line(REF, 200, SHOWN).decode()!r})\n"
        f"def test_badly(): say({bad!r})\n"
    )
    done = run(tmp_path, *parallel)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "ERROR test_said.py::test_badly" in done.stdout
    assert f"{REF} 200: / Additional properties are not allowed ('colour' was unexpected)" in done.stdout
    assert "2 passed, 1 error" in done.stdout
