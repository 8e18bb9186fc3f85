"""kill -9 right after the 2xx: every acknowledged delivery is in the database."""

import asyncio
import hashlib
import hmac
import json
import os
import random
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from app.controller.clock import system_clock
from app.controller.database import Database
from app.controller.pokes import PokeStore

ROOT = Path(__file__).parents[2]
SECRET = b"test-secret"
SERVER = """
import asyncio, socket, sys
import structlog, uvicorn
from app.controller.clock import system_clock
from app.controller.database import Database
from app.controller.pokes import PokeStore
from app.service.intake import WebhookIntake

structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
intake = WebhookIntake([b"test-secret"], PokeStore(Database(sys.argv[1]), system_clock), own_app_id=111)
listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
server = uvicorn.Server(uvicorn.Config(intake, lifespan="off", log_level="warning"))
asyncio.run(server.serve(sockets=[listening]))
"""


def started(url: str) -> tuple[subprocess.Popen[str], int]:
    command = [sys.executable, "-c", SERVER, url]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, int(process.stdout.readline())


async def acknowledged_until_killed(process: subprocess.Popen[str], port: int, enough: int) -> set[str]:
    """Send from 16 connections, kill in the middle, return the keys whose delivery got its 2xx."""
    acknowledged: set[str] = set()

    async def send(client: httpx.AsyncClient, first: int) -> None:
        for number in range(first, 10**9, 16):
            payload = {"issue": {"number": number}, "repository": {"full_name": "octo-org/demo"}}
            body = json.dumps(payload).encode()
            digest = hmac.new(SECRET, body, hashlib.sha256).hexdigest()
            headers = {"X-GitHub-Event": "issues", "X-Hub-Signature-256": f"sha256={digest}"}
            try:
                answer = await client.post(f"http://127.0.0.1:{port}/webhook", content=body, headers=headers)
            except httpx.TransportError:
                return
            assert answer.status_code == 202
            acknowledged.add(f"octo-org/demo#{number}")
            if len(acknowledged) == enough:
                os.kill(process.pid, signal.SIGKILL)

    async with httpx.AsyncClient(trust_env=False) as client:
        await asyncio.gather(*(send(client, first) for first in range(1, 17)))
    assert process.wait(20) == -signal.SIGKILL
    return acknowledged


@pytest.mark.drill
@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_no_acknowledged_delivery_is_lost(tmp_path, seed):
    url = f"sqlite:///{tmp_path}/service.db"
    process, port = started(url)
    try:
        acknowledged = await acknowledged_until_killed(process, port, random.Random(seed).randint(50, 300))
    finally:
        process.kill()
        process.communicate()
    database = Database(url)
    store = PokeStore(database, lambda: system_clock() + timedelta(seconds=1))
    kept = set()
    while (poke := await store.take("reader")) is not None:
        kept.add(poke.key)
    database.close()
    assert acknowledged <= kept
