"""Runs, tokens, old names and limits survive the end of the emulator by SIGKILL."""

from __future__ import annotations

from pathlib import Path

from actions_world import FILES
from emulated import ALL, rest
from kept import kill, start

ROOT = Path(__file__).resolve().parents[2]
BASE = "/repos/octo/new"


def test_what_survives(tmp_path: Path) -> None:
    emulator = start(tmp_path / "state")
    emulator.user("dev")
    emulator.org("octo")
    app = emulator.app("keeper", permissions=ALL | {"actions": "write"})
    emulator.repo("octo", "old", files=FILES, collaborators={"dev": "write"})
    installation = emulator.installation("keeper", "octo")["id"]
    token = emulator.installation_token(app, installation)
    fine = emulator.fine_grained_token("dev", "octo", {"issues": "read"})
    emulator.rename_repo("octo/old", "new")
    emulator.workflow_command("octo/new", "run.yml", ["sleep", "8"])
    emulator.limits(content_a_minute=3)
    dispatch = {"ref": "main", "inputs": {"ticket": "42"}, "return_run_details": True}
    with rest(emulator, token) as bot:
        url = f"{BASE}/actions/workflows/run.yml/dispatches"
        number = bot.post(url, json=dispatch).json()["workflow_run_id"]
        while bot.get(f"{BASE}/actions/runs/{number}").json()["status"] != "in_progress":
            pass
        assert [bot.post(f"{BASE}/issues", json={"title": "t"}).status_code for _ in range(4)] == [201] * 3 + [403]
        used = int(bot.get("/rate_limit").headers["x-ratelimit-used"])
        assert used > 4
    kill(emulator)
    with start(tmp_path / "state") as again, rest(again, token) as bot, rest(again, fine) as dev:
        run = bot.get(f"{BASE}/actions/runs/{number}").json()
        assert (run["status"], run["conclusion"]) == ("completed", "failure")
        assert bot.get("/repos/octo/old").headers["location"].endswith(f"/repositories/{run['repository']['id']}")
        assert int(bot.get("/rate_limit").headers["x-ratelimit-used"]) >= used
        assert bot.post(f"{BASE}/issues", json={"title": "t"}).status_code == 403
        assert dev.get(f"{BASE}/issues").status_code == 200
        assert dev.post(f"{BASE}/issues", json={"title": "t"}).status_code == 403
        assert bot.post(f"{BASE}/actions/runs/{number}/rerun").status_code == 201
        while bot.get(f"{BASE}/actions/runs/{number}").json()["status"] != "in_progress":
            pass
