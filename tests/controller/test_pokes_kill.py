"""kill -9 of real worker processes: what they held goes on elsewhere, what they promised is there."""

import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from app.controller.clock import system_clock
from app.controller.database import Database
from app.controller.pokes import PokeStore

ROOT = Path(__file__).parents[2]
WORKER = """
import asyncio, sys
from app.controller.clock import system_clock
from app.controller.database import Database
from app.controller.pokes import PokeStore

async def main():
    store = PokeStore(Database(sys.argv[1]), system_clock)
    {work}

asyncio.run(main())
"""
TAKE_AND_HANG = """
    poke = await store.take("killed-worker")
    print(poke.key, flush=True)
    await asyncio.sleep(600)
"""
POKE_FOREVER = """
    async def chain(start):
        for number in range(start, 10**9, 8):
            await store.poke(f"octo-org/demo#{number}")
            print(number, flush=True)
    await asyncio.gather(*(chain(start) for start in range(1, 9)))
"""


def started(work: str, url: str) -> subprocess.Popen[str]:
    script = WORKER.format(work=work.strip())
    command = [sys.executable, "-c", script, url]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def kill(process: subprocess.Popen[str]) -> str:
    os.kill(process.pid, signal.SIGKILL)
    rest, _ = process.communicate(timeout=20)
    assert process.returncode == -signal.SIGKILL
    return rest


async def test_a_key_held_by_a_killed_process_goes_to_another(database, database_url):
    now = PokeStore(database, system_clock)
    await now.poke("octo-org/demo#42")
    worker = started(TAKE_AND_HANG, database_url)
    assert worker.stdout is not None
    assert worker.stdout.readline().strip() == "octo-org/demo#42"
    kill(worker)
    assert await now.take("successor") is None
    in_half_a_minute = PokeStore(database, lambda: system_clock() + timedelta(seconds=30))
    poke = await in_half_a_minute.take("successor")
    assert poke is not None
    assert poke.key == "octo-org/demo#42"


@pytest.mark.drill
async def test_every_poke_that_returned_survives_the_kill(database_url, clock):
    worker = started(POKE_FOREVER, database_url)
    assert worker.stdout is not None
    returned = [int(worker.stdout.readline()) for _ in range(200)]
    # The last line may be cut off by the kill; a number that is cut would name another poke.
    returned += [int(line) for line in kill(worker).split("\n")[:-1]]
    database = Database(database_url)
    store = PokeStore(database, lambda: system_clock() + timedelta(hours=1))
    kept = set()
    while (poke := await store.take("reader")) is not None:
        kept.add(poke.key)
    database.close()
    assert {f"octo-org/demo#{number}" for number in returned} <= kept
