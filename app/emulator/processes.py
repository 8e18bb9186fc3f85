"""Work under a number, started and ended; who ordered it is told how it ended. A command on this machine is such work.

A command is started in a session of its own, so that signals reach all it started. Cancelling sends SIGINT, after
7.5 s SIGTERM, after 2.5 s more SIGKILL; a forced one SIGKILL at once (docs.github.com, "Workflow cancellation
reference"). Only process groups and sessions started here are ended, by their number.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

INTERRUPT_S = 7.5
TERMINATE_S = 2.5
Ending = Literal["success", "failure", "cancelled", "timed_out", "startup_failure", "skipped"]


class Work(Protocol):
    """What runs under a number."""

    async def carry_out(self) -> Ending:
        """Do it all; how it ended."""

    async def cancel(self, *, force: bool) -> None:
        """Bring about its end, as the reference says, or at once."""

    async def kill(self) -> None:
        """End whatever runs of it now; nothing of it begins any more."""


class Processes:
    """The work that is under way. It belongs to this process: a stored world is woken without it."""

    def __init__(self) -> None:
        self._running: dict[int, Work] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def __getstate__(self) -> dict[str, Any]:
        return {"_running": {}, "_tasks": set()}

    def start(self, number: int, work: Work, done: Callable[[Ending], None]) -> None:
        """Start it; ``done`` is called once with how it ended, unless :meth:`stop_all` came before."""
        self._running[number] = work
        self._keep(self._carry_out(number, work, done))

    def cancel(self, number: int, *, force: bool) -> bool:
        """End it; False where nothing runs under the number."""
        work = self._running.get(number)
        if work is None:
            return False
        self._keep(work.cancel(force=force))
        return True

    def kill(self, number: int) -> bool:
        """Take its machine away; False where nothing runs under the number."""
        work = self._running.get(number)
        if work is None:
            return False
        self._keep(work.kill())
        return True

    async def stop_all(self) -> None:
        """Kill what runs and forget it; nobody is told."""
        tasks, self._tasks = list(self._tasks), set()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for work in self._running.values():
            await work.kill()
        self._running = {}

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry_out(self, number: int, work: Work, done: Callable[[Ending], None]) -> None:
        ending = await work.carry_out()
        del self._running[number]
        done(ending)


@dataclass(frozen=True)
class Launch:
    """What to start, and the file that takes all it writes."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str
    log: Path
    timeout_s: float


class CommandWork:
    """One command that stands in for a whole runner."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._process: asyncio.subprocess.Process | None = None
        self._cancelled = False
        self._late = False

    async def carry_out(self) -> Ending:
        """Run it until its end or its time."""
        launch = self._launch
        if self._cancelled:
            return "cancelled"
        with launch.log.open("wb") as log:
            try:
                process = self._process = await asyncio.create_subprocess_exec(
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
                return "startup_failure"
            if self._cancelled:  # while it was being started
                signal_group(process, signal.SIGKILL)
            try:
                await asyncio.wait_for(process.wait(), launch.timeout_s)
            except TimeoutError:
                self._late = True
                await end_group(process, [(signal.SIGTERM, TERMINATE_S)])
        if self._cancelled:
            return "cancelled"
        if self._late:
            return "timed_out"
        return "success" if process.returncode == 0 else "failure"

    async def cancel(self, *, force: bool) -> None:
        """Signal the command and all it started."""
        self._cancelled = True
        if self._process is not None:
            steps = [] if force else [(signal.SIGINT, INTERRUPT_S), (signal.SIGTERM, TERMINATE_S)]
            await end_group(self._process, steps)

    async def kill(self) -> None:
        """SIGKILL to the command and all it started."""
        if self._process is not None:
            await end_group(self._process, [])


async def end_group(process: asyncio.subprocess.Process, steps: Sequence[tuple[signal.Signals, float]]) -> None:
    """Signal the process's group step by step until its leader is gone; what is left of the group is killed."""
    for step, patience_s in steps:
        signal_group(process, step)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), patience_s)
        if process.returncode is not None:
            break
    signal_group(process, signal.SIGKILL)
    await process.wait()


def signal_group(process: asyncio.subprocess.Process, which: signal.Signals) -> None:
    """Signal all that is left of the group that a process leads."""
    # The leader gave the group its number; whatever it left behind still answers to it.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, which)
    if which is signal.SIGKILL:
        # Some of what it started has a group of its own: of the session it still is.
        for pid in _of_session(process.pid):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, which)


def _of_session(leader: int) -> list[int]:
    """The processes of a session, where the system shows them as files (Linux)."""
    found = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            # Behind the name, which may hold anything: state, parent, group, session.
            if int(file.read_text().rpartition(")")[2].split()[3]) == leader:
                found.append(int(file.parent.name))
    return found
