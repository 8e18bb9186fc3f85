"""What was accepted before the emulator died is done after it has come back."""

from __future__ import annotations

from pathlib import Path

from emulated import rest
from kept import kill, start

ROOT = Path(__file__).resolve().parents[2]
BASE = "/repos/octo/demo"


def test_an_accepted_merge_survives_a_crash(tmp_path: Path) -> None:
    emulator = start(tmp_path / "state")
    token = emulator.user("dev")["token"]
    emulator.org("octo")
    emulator.repo("octo", "demo", branches={"topic": {"a.txt": "1\n"}}, collaborators={"dev": "write"})
    issue = emulator.issue("octo/demo", "Do it")["number"]
    with rest(emulator, token) as dev:
        number = dev.post(f"{BASE}/pulls", json={"issue": issue, "head": "topic", "base": "main"}).json()["number"]
        uuid = dev.put(f"{BASE}/pulls/{number}/merge-async", json={}).json()["details"]["uuid"]
    kill(emulator)
    with start(tmp_path / "state") as again, rest(again, token) as dev:
        answers = [dev.get(f"{BASE}/pulls/{number}/merge-async/{uuid}").json() for _ in range(2)]
        assert answers[-1]["status"] == "merged"
        assert dev.get(f"{BASE}/git/ref/heads/main").json()["object"]["sha"] == answers[-1]["details"]["sha"]
        assert dev.get(f"{BASE}/pulls/{number}").json()["merged"] is True
