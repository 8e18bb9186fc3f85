"""Local commands under a number, started and ended; who ordered one is told how it ended.

A command is started in a session of its own, so that signals reach all it started. Cancelling sends SIGINT, after
7.5 s SIGTERM, after 2.5 s more SIGKILL; a forced one SIGKILL at once (docs.github.com, "Workflow cancellation
reference"). Only process groups started here are ended, by their number.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

INTERRUPT_S = 7.5
TERMINATE_S = 2.5
Ending = Literal["success", "failure", "cancelled", "timed_out", "startup_failure"]


@dataclass(frozen=True)
class Launch:
    """What to start, and the file that takes all it writes."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str
    log: Path
    timeout_s: float


@dataclass(eq=False)
class _Running:
    process: asyncio.subprocess.Process
    cancelled: bool = False


class Processes:
    """The commands that run. They belong to this process: a stored world is woken without them."""

    def __init__(self) -> None:
        self._running: dict[int, _Running] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def __getstate__(self) -> dict[str, Any]:
        return {"_running": {}, "_tasks": set()}

    def start(self, number: int, launch: Launch, done: Callable[[Ending], None]) -> None:
        """Start a command; ``done`` is called once with how it ended, unless :meth:`stop_all` came before."""
        self._keep(self._carry_out(number, launch, done))

    def cancel(self, number: int, *, force: bool) -> bool:
        """End a command; False where none runs under the number."""
        running = self._running.get(number)
        if running is None:
            return False
        running.cancelled = True
        steps = [] if force else [(signal.SIGINT, INTERRUPT_S), (signal.SIGTERM, TERMINATE_S)]
        self._keep(_end(running.process, steps))
        return True

    async def stop_all(self) -> None:
        """Kill what runs and forget it; nobody is told."""
        tasks, self._tasks = list(self._tasks), set()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for running in self._running.values():
            await _end(running.process, [])
        self._running = {}

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry_out(self, number: int, launch: Launch, done: Callable[[Ending], None]) -> None:
        with launch.log.open("wb") as log:
            try:
                process = await asyncio.create_subprocess_exec(
                    *launch.argv,
                    cwd=launch.cwd,
                    env=dict(launch.env),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            except OSError as error:
                log.write(f"{error}\n".encode())
                done("startup_failure")
                return
            running = self._running[number] = _Running(process)
            late = await _outlasts(process, launch.timeout_s)
        del self._running[number]
        if running.cancelled:
            done("cancelled")
        elif late:
            done("timed_out")
        else:
            done("success" if process.returncode == 0 else "failure")


async def _outlasts(process: asyncio.subprocess.Process, patience_s: float) -> bool:
    """Wait for the end, or bring it about when patience is over."""
    try:
        await asyncio.wait_for(process.wait(), patience_s)
    except TimeoutError:
        await _end(process, [(signal.SIGTERM, TERMINATE_S)])
        return True
    return False


async def _end(process: asyncio.subprocess.Process, steps: Sequence[tuple[signal.Signals, float]]) -> None:
    """Signal the process's group step by step until its leader is gone; what is left of the group is killed."""
    for step, patience_s in steps:
        _signal(process, step)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), patience_s)
        if process.returncode is not None:
            break
    _signal(process, signal.SIGKILL)
    await process.wait()


def _signal(process: asyncio.subprocess.Process, which: signal.Signals) -> None:
    # The leader gave the group its number; whatever it left behind still answers to it.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, which)
