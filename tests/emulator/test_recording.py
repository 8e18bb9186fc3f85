"""What a recorder keeps, for the contract tests, and what it does not."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from emulated import rest

from app.emulator.client import Emulator
from app.emulator.inprocess import InProcess
from app.emulator.recording import VARIABLE


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Emulator, httpx.Client, Path]]:
    """An emulator that records to a folder, a client of its one person, and the folder."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "said"))
    with Emulator.start(tmp_path / "data") as emulator:
        token = emulator.user("dev")["token"]
        emulator.repo("dev", "demo")
        with rest(emulator, token) as client:
            yield emulator, client, tmp_path / "said"


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in folder.iterdir() for line in path.read_text().splitlines()]


def test_exchanges_are_kept_as_they_went_over_the_wire(kept: tuple[Emulator, httpx.Client, Path]) -> None:
    _, client, folder = kept
    made = client.post("/repos/dev/demo/issues", content=b'{\n "title": "x"\n}')
    client.get("/repos/dev/demo/issues/9", headers={"x-github-api-version": "2026-03-10"})
    first, second = lines(folder)
    assert first == {
        "operation": "POST /repos/{owner}/{repo}/issues",
        "version": None,
        "status": 201,
        "media": "application/json",
        "request": {"title": "x"},
        "response": made.json(),
    }
    assert (second["version"], second["status"], second["request"]) == ("2026-03-10", 404, None)


def test_other_media_control_calls_and_ordered_faults_are_not_words_of_github(
    kept: tuple[Emulator, httpx.Client, Path],
) -> None:
    emulator, client, folder = kept
    emulator.fault("status", match={"method": "GET"}, code=500, body={"message": "no"})
    assert client.get("/repos/dev/demo").status_code == 500
    client.get("/repos/dev/demo/contents/README.md", headers={"accept": "application/vnd.github.raw"})
    (raw,) = lines(folder)
    assert (raw["media"], raw["response"]) == ("application/vnd.github.raw", None)


def test_each_delivery_is_kept_once_also_after_a_reset(kept: tuple[Emulator, httpx.Client, Path]) -> None:
    emulator, client, folder = kept
    app = emulator.app("keeper", permissions={"issues": "write"}, events=["issues"], webhook_url="http://127.0.0.1:9/")
    emulator.installation(app["slug"], "dev")
    client.post("/repos/dev/demo/issues", json={"title": "x"})
    client.get("/repos/dev/demo")
    told = [(line["event"], line["action"]) for line in lines(folder) if "event" in line]
    assert told == [("ping", None), ("installation", "created"), ("issues", "opened")]
    emulator.reset()
    emulator.app("other", permissions={}, webhook_url="http://127.0.0.1:9/")
    assert [line["event"] for line in lines(folder) if "event" in line][3:] == ["ping"]


async def test_inside_a_process_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "said"))
    async with InProcess(tmp_path / "data") as github, github.client() as client:
        await client.get("/meta")
    assert [line["operation"] for line in lines(tmp_path / "said")] == ["GET /meta"]
