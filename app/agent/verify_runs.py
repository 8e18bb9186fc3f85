"""Running the policy's verify commands in the workspace: argument arrays, no shell, no secrets in the environment."""

import os
import signal
import subprocess
import tempfile
from pathlib import Path

from app.agent.environment import without_secrets
from app.agent.show import scrub
from app.domain.agent_api import VerifyRun
from app.domain.brief import Brief
from app.domain.validation import VERIFY, stands_for, version_of

TIMEOUT_S = 300.0
_TAIL = 4000
_TIMED_OUT, _NOT_FOUND, _NOT_EXECUTABLE = 124, 127, 126  # as shells and `timeout` report them


def run_all(commands: tuple[tuple[str, ...], ...], root: Path, timeout_s: float = TIMEOUT_S) -> tuple[VerifyRun, ...]:
    """Runs each command in turn; a failing one does not stop the others. `timeout_s` bounds each of them."""
    return tuple(_run(command, root, timeout_s) for command in commands)


def reused(
    commands: tuple[tuple[str, ...], ...], brief: Brief, head: str | None, dependencies: str | None
) -> tuple[VerifyRun, ...]:
    """What stands for running the commands again: a recorded pass on exactly this commit, declared deterministic, with
    the same dependencies. Empty where they must be run. The service judges the same once more.
    """
    shown = next((v for v in brief.validations if v.profile == VERIFY), None)
    if shown is None or not stands_for(shown, head, version=version_of(commands), dependencies=dependencies):
        return ()
    return tuple(
        VerifyRun(command=command, exit_code=0, output=f"not run again: it passed on {head}", reused=True)
        for command in commands
    )


def _run(command: tuple[str, ...], root: Path, timeout_s: float) -> VerifyRun:
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                command,
                cwd=root,
                env=without_secrets(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except FileNotFoundError:
            return VerifyRun(command=command, exit_code=_NOT_FOUND, output="command not found")
        except OSError as error:
            return VerifyRun(command=command, exit_code=_NOT_EXECUTABLE, output=error.strerror or "cannot be run")
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            _end(process)
            return VerifyRun(
                command=command,
                exit_code=_TIMED_OUT,
                output=f"{_tail(output.fileno(), _TAIL - 60)}\n[stopped after {timeout_s:g} seconds]",
            )
        return VerifyRun(command=command, exit_code=code, output=_tail(output.fileno(), _TAIL))


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the command with all it started: it has a process group of its own."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def _tail(handle: int, characters: int) -> str:
    size = os.fstat(handle).st_size
    # Four bytes a character at most; a token cut in two by the window would not be recognised, so read more first.
    data = os.pread(handle, 8 * _TAIL, max(0, size - 8 * _TAIL))
    return scrub(data.decode("utf-8", errors="replace").replace("\0", ""))[-characters:]
