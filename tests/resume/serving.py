"""A service of a test behind a real port, so that real processes of the command line call it."""

import asyncio
import os
import secrets
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import uvicorn
from loop_world import REPO
from resume_world import ResumeWorld
from spoken_world import Replica

from app.service.app import create_app
from app.service.callers import Callers
from app.service.settings import Settings

ROOT = Path(__file__).resolve().parents[2]


@asynccontextmanager
async def served(world: ResumeWorld, service: Replica) -> AsyncIterator[str]:
    """The service's address while the block runs."""
    app = create_app(Settings.model_construct())
    app.state.tickets = service.controller
    app.state.callers = Callers(service.github, world.keys.lease_keys)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, lifespan="off", log_level="warning"))
    task = asyncio.create_task(server.serve())
    for _ in range(1000):
        if server.started:
            break
        await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        await task


async def claims_and_dies(world: ResumeWorld, url: str) -> tuple[int, str]:
    """One turn of a supervisor's loop in a shell: the command line claims in a folder of its own, and the agent that
    should follow dies. Its exit code, and what it said.
    """
    folder = world.folder / f"agent-{secrets.token_hex(3)}"
    folder.mkdir()
    environment = os.environ | {"AGENT_RECOVERY_URL": url, "GITHUB_TOKEN": world.token, "PYTHONPATH": str(ROOT)}
    line = f'"{sys.executable}" -m app.cli claim {world.ticket} --repo {REPO} --json; code=$?; exit $code'
    process = await asyncio.create_subprocess_exec(
        "sh",
        "-c",
        line,
        cwd=folder,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, said.decode()
