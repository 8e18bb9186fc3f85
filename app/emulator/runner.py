"""A runner: the steps of one job, carried out one after another on this machine.

Sources: docs.github.com, "Workflow syntax for GitHub Actions", "Contexts reference", "Workflow commands" and "Workflow
cancellation reference"; actions/runner, StepsRunner and ProcessInvoker. A cancellation signals the first process of the
step alone (SIGINT, after 7.5 s SIGTERM, after 2.5 s the whole tree is killed), steps whose condition still holds run
after it, and after five minutes everything is ended. What steps left running is ended with the job.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.emulator.expression_values import Values, WrongValue, is_true, number_of
from app.emulator.file_commands import Masks, WrongFile, pairs
from app.emulator.job_plan import Plan, Step
from app.emulator.processes import INTERRUPT_S, TERMINATE_S, Ending, signal_group

CANCEL_WITHIN_S = 300.0
_DRAIN_S = 1.0
_SHELLS = {
    None: "bash -e {0}",
    "bash": "bash --noprofile --norc -eo pipefail {0}",
    "sh": "sh -e {0}",
    "python": "python {0}",
}
_FILES = ("OUTPUT", "ENV", "PATH", "STATE", "STEP_SUMMARY")
_RESERVED = ("GITHUB_", "RUNNER_")
_Report = Callable[[int, str, str, str | None], None]


@dataclass(frozen=True)
class Surroundings:
    """What a job runs in. ``base``: the machine's own variables; ``facts``: what GitHub sets and nobody overrides;
    ``contexts``: github, inputs, vars, secrets; ``actions``: what stands in for a step's ``uses``; ``pace``: how long
    GitHub's seconds last here."""

    folder: Path
    base: Mapping[str, str]
    facts: Mapping[str, str]
    contexts: Mapping[str, Any]
    actions: Mapping[str, tuple[str, ...]]
    pace: float
    masks: Masks


@dataclass
class _State:
    """Where the job stands: its status, what steps gave to later ones."""

    status: str = "success"
    cancelled: bool = False
    killed: bool = False
    over: bool = False
    env: dict[str, str] = field(default_factory=dict)
    paths: list[str] = field(default_factory=list)
    steps: dict[str, dict[str, Any]] = field(default_factory=dict)


class JobWork:
    """One job. ``report`` is told of each step: its number, its name, its status and its conclusion."""

    def __init__(self, plan: Plan, around: Surroundings, report: _Report) -> None:
        self._plan, self._around, self._report = plan, around, report
        self._state = _State()
        self._present: tuple[Step, asyncio.subprocess.Process] | None = None
        self._started: list[asyncio.subprocess.Process] = []
        self._interrupted: set[int] = set()
        self._ending: asyncio.Task[None] | None = None
        self._timers: list[asyncio.TimerHandle] = []

    async def carry_out(self) -> Ending:
        """Run the steps whose conditions hold, and end what they left."""
        with (self._around.folder / "log.txt").open("ab", buffering=0) as self._log:
            if self._state.over:
                return "cancelled"
            try:
                return await self._job()
            except WrongValue as error:
                self._say(f"##[error]{error}")
                return "failure"
            finally:
                for timer in self._timers:
                    timer.cancel()
                self._sweep()
                if self._ending is not None:
                    await asyncio.gather(self._ending, return_exceptions=True)

    async def _job(self) -> Ending:
        values = self._values({})
        if not is_true(self._plan.condition.evaluate(values.contexts, values.status)):
            return "skipped"
        self._state.env = {name: t.text(values) for name, t in self._plan.all_env.items()}
        self._state.env |= {name: t.text(values) for name, t in self._plan.env.items()}
        minutes = number_of(self._plan.minutes.value(values))
        self._after(minutes * 60, self._cancel_late, f"The job has exceeded the maximum execution time of {minutes:g}m")
        self._report(1, "Set up job", "completed", "success")
        for number, step in enumerate(self._plan.steps, 2):
            if self._state.over:
                break
            await self._step(number, step)
        self._report(len(self._plan.steps) + 2, "Complete job", "completed", "success")
        if self._state.killed:
            return "failure"
        if self._state.cancelled:
            return "cancelled"
        failed = self._state.status == "failure"
        if failed and is_true(self._plan.continue_on_error.value(self._values({}))):
            return "success"
        return "failure" if failed else "success"

    async def _step(self, number: int, step: Step) -> None:
        name, conclusion = step.id or "", "failure"
        outcome = "failure"
        outputs: dict[str, str] = {}
        try:
            outer = self._values(self._state.env)
            env = {key: t.text(outer) for key, t in step.env.items()}
            values = self._values(self._state.env | env)
            name = step.name.text(values)
            if not is_true(step.condition.evaluate(values.contexts, values.status)):
                outcome = conclusion = "skipped"
            else:
                self._report(number, name, "in_progress", None)
                self._say(f"== {name}")
                outcome = await self._run(number, step, env, values, outputs)
                goes_on = outcome == "failure" and is_true(step.continue_on_error.value(values))
                conclusion = "success" if goes_on else outcome
        except (WrongValue, WrongFile, OSError) as error:
            self._say(f"##[error]{error}")
        if step.id is not None:
            self._state.steps[step.id] = {"outputs": outputs, "outcome": outcome, "conclusion": conclusion}
        if conclusion == "failure" and not self._state.cancelled:
            self._state.status = "failure"
        self._report(number, name, "completed", conclusion)

    async def _run(
        self, number: int, step: Step, env: Mapping[str, str], values: Values, outputs: dict[str, str]
    ) -> str:
        files = self._files(number)
        argv = self._argv(number, step, values)
        if argv is None:
            return "failure"
        given = {f"INPUT_{key.upper().replace(' ', '_')}": t.text(values) for key, t in step.inputs.items()}
        whole = dict(self._around.base) | self._state.env | dict(env) | given | dict(self._around.facts)
        whole |= {f"GITHUB_{key}": str(file) for key, file in files.items()}
        whole["PATH"] = os.pathsep.join([*reversed(self._state.paths), whole.get("PATH", os.defpath)])
        workspace = whole["GITHUB_WORKSPACE"]
        folder = step.folder or (self._plan.folder if step.uses is None else None)
        cwd = str(Path(workspace) / (folder.text(values) if folder is not None else ""))
        was_cancelled = self._state.cancelled
        process = await asyncio.create_subprocess_exec(
            *argv,
            cwd=cwd,
            env=whole,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        self._started.append(process)
        self._present = (step, process)
        # Its end may have been asked for while it was being started.
        if self._state.over:
            self._sweep()
        elif self._state.cancelled and not was_cancelled:
            self._ending = asyncio.ensure_future(self._interrupt_present())
        outcome = await self._watch(step, process, values)
        self._present = None
        if outcome != "cancelled" and not self._state.over:
            self._take(files, outputs)
        return outcome

    def _argv(self, number: int, step: Step, values: Values) -> list[str] | None:
        if step.run is None:
            stand_in = self._around.actions.get(step.uses or "")
            if stand_in is None:
                self._say(f"##[error]Unable to resolve action {step.uses}: no command stands in for it")
                return None
            return list(stand_in)
        shell = step.shell or self._plan.shell
        named = shell.text(values) if shell is not None else None
        pattern = _SHELLS.get(named, named or "")
        if "{0}" not in pattern:
            self._say(
                f"##[error]Invalid shell option. Shell must be a valid built-in or a format with '{{0}}': {named}"
            )
            return None
        script = self._around.folder / "temp" / f"step-{number}.sh"
        script.write_text(step.run.text(values) + "\n", encoding="utf-8")
        return [word.replace("{0}", str(script)) for word in pattern.split()]

    async def _watch(self, step: Step, process: asyncio.subprocess.Process, values: Values) -> str:
        reading = asyncio.ensure_future(self._read(process))
        try:
            minutes = number_of(step.minutes.value(values)) if step.minutes is not None else None
            late = False
            try:
                await asyncio.wait_for(
                    process.wait(), minutes * 60 * self._around.pace if minutes is not None else None
                )
            except TimeoutError:
                late = True
                self._say(f"##[error]The action has timed out after {minutes:g} minutes.")
                await self._interrupt(process)
            # A step's children may hold its output open; they are ended with the job.
            await asyncio.wait({reading}, timeout=_DRAIN_S)
        finally:
            reading.cancel()
        if self._state.over:
            return "cancelled"
        if self._state.cancelled and not late and process.pid in self._interrupted:
            return "cancelled"
        if process.returncode != 0 and not late:
            self._say(f"##[error]Process completed with exit code {process.returncode}.")
        return "failure" if late or process.returncode != 0 else "success"

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        rest = b""
        while chunk := await process.stdout.read(65_536):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._say(line.decode(errors="replace"))
        if rest:
            self._say(rest.decode(errors="replace"))

    def _say(self, line: str) -> None:
        self._log.write(f"{self._around.masks.line(line)}\n".encode())

    def _files(self, number: int) -> dict[str, Path]:
        files = {key: self._around.folder / "temp" / f"{key.lower()}-{number}" for key in _FILES}
        for file in files.values():
            file.touch()
        return files

    def _take(self, files: Mapping[str, Path], outputs: dict[str, str]) -> None:
        outputs |= pairs(files["OUTPUT"].read_text(errors="replace"))
        given = pairs(files["ENV"].read_text(errors="replace"))
        if "NODE_OPTIONS" in given:
            raise WrongFile("Can't store NODE_OPTIONS output parameter using '$GITHUB_ENV' command.")
        self._state.env |= {k: v for k, v in given.items() if not k.upper().startswith(_RESERVED)}
        self._state.paths += [line for line in files["PATH"].read_text(errors="replace").splitlines() if line]

    def _values(self, env: Mapping[str, str]) -> Values:
        state = self._state
        runner = {
            "os": "Linux",
            "arch": "X64",
            "name": self._around.facts.get("RUNNER_NAME", ""),
            "temp": self._around.facts["RUNNER_TEMP"],
            "environment": "github-hosted",
        }
        contexts = dict(self._around.contexts) | {
            "env": env,
            "steps": state.steps,
            "job": {"status": "cancelled" if state.cancelled else state.status},
            "runner": runner,
            "needs": {},
            "strategy": {"fail-fast": True, "job-index": 0, "job-total": 1, "max-parallel": 1},
            "matrix": None,
        }
        status: dict[str, Callable[[], bool]] = {
            "success": lambda: not state.cancelled and state.status == "success",
            "failure": lambda: not state.cancelled and state.status == "failure",
            "cancelled": lambda: state.cancelled,
            "always": lambda: True,
        }
        return Values(contexts, status)

    async def cancel(self, *, force: bool) -> None:
        """The reference's steps; forced: all at once, and no step runs after it."""
        if force:
            self._state.cancelled = self._state.over = True
            self._sweep()
        elif not self._state.cancelled:
            self._state.cancelled = True
            self._say("##[error]The operation was canceled.")
            self._after(CANCEL_WITHIN_S, self._give_up, "The cancellation took longer than five minutes")
            await self._interrupt_present()

    async def kill(self) -> None:
        """The machine is gone: all that runs is killed, no step runs after it."""
        self._state.killed = self._state.over = True
        self._sweep()

    def _after(self, seconds: float, act: Callable[[str], None], why: str) -> None:
        self._timers.append(asyncio.get_running_loop().call_later(seconds * self._around.pace, act, why))

    def _cancel_late(self, why: str) -> None:
        self._say(f"##[error]{why}")
        self._ending = asyncio.ensure_future(self.cancel(force=False))

    def _give_up(self, why: str) -> None:
        self._say(f"##[error]{why}")
        self._state.over = True
        self._sweep()

    async def _interrupt_present(self) -> None:
        if self._present is None:
            return
        step, process = self._present
        values = self._values(self._state.env)
        with contextlib.suppress(WrongValue):
            if is_true(step.condition.evaluate(values.contexts, values.status)):
                return  # `always()` and `cancelled()` hold still: this step goes on
        await self._interrupt(process)

    async def _interrupt(self, process: asyncio.subprocess.Process) -> None:
        self._interrupted.add(process.pid)
        for which, patience_s in ((signal.SIGINT, INTERRUPT_S), (signal.SIGTERM, TERMINATE_S)):
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(which)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), patience_s * self._around.pace)
            if process.returncode is not None:
                return
        signal_group(process, signal.SIGKILL)
        await process.wait()

    def _sweep(self) -> None:
        for process in self._started:
            signal_group(process, signal.SIGKILL)
