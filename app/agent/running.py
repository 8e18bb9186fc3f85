"""`run -- command…`: an agent with a keeper beside it.

| what happens | what `run` does |
|---|---|
| SIGTERM, SIGHUP | soft checkpoint, signal to the agent, hard checkpoint `shutdown`; after `--grace` seconds SIGKILL |
| SIGINT | the same with `cancel` |
| the agent ends | a hard checkpoint of what is not stored yet; its exit code is ours |
| the lease is somebody else's, or a hold | the agent is ended; exit code 3 or 4 |
| this program is killed | nothing more; what was saved until then stands, the lease ends by itself |

The agent keeps the terminal: it runs in the foreground with our streams. Messages go to standard error.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from app.agent import held, next_checkpoint, resuming, show
from app.agent.environment import usage
from app.agent.home import Home
from app.agent.keeping import Keeper, Times
from app.domain.outcome import Code, Refused
from app.domain.policy import duration_seconds
from app.domain.triggers import Trigger

_POLL_S = 0.1
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126  # as shells report them
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def run(command: tuple[str, ...], ends_in: str | None, grace_s: float, hints: tuple[str, ...]) -> int:
    """`agent-recovery run`: returns the exit code, the agent's own where it ended by itself. Raises Refused."""
    home = Home.find(Path.cwd())
    lease = held.held_lease(home)
    if hints:
        next_checkpoint.note_hints(home, next_checkpoint.hints_of(hints))
    keeper = Keeper(home, lease, Times(lease.ttl_s, lease.max_gap_s, _seconds(ends_in)))
    caught = _Caught()
    with caught:
        keeper.start()
        try:
            _compare(home)
            code = _watch(keeper, _Child(command), caught, grace_s)
        except _NoChild as none:
            show.warn(f"{command[0]}: {none}")
            return none.code
        finally:
            keeper.stop()
        trigger = _moment_of(caught.first)
        keeper.save_soft(trigger)
        keeper.save_hard(trigger)
    if keeper.stopped_by is not None:
        raise Refused(keeper.stopped_by)
    return code


class _Caught:
    """The signals that ask this program to end, in the order in which they came. A context manager."""

    def __init__(self) -> None:
        self.signals: list[int] = []
        self._before: dict[int, Callable[[int, FrameType | None], object] | int | None] = {}

    @property
    def first(self) -> int | None:
        return self.signals[0] if self.signals else None

    def __enter__(self) -> "_Caught":
        for number in _SIGNALS:
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.signals.append(number)


class _NoChild(Exception):
    """The command could not be started; `code` is what a shell would end with."""

    def __init__(self, error: OSError) -> None:
        super().__init__(error.strerror or type(error).__name__)
        self.code = _NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_EXECUTABLE


class _Child:
    """The agent's process. With a terminal it stays in our group, so that it may read from there; else it has a group
    of its own, and what it started is ended with it.
    """

    def __init__(self, command: tuple[str, ...]) -> None:
        self._shares_terminal = sys.stdin.isatty()
        try:
            self.process = subprocess.Popen(command, process_group=None if self._shares_terminal else 0)
        except OSError as error:
            raise _NoChild(error) from None

    def wait(self, seconds: float) -> int | None:
        """Its exit code as a shell reports it, None while it runs."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        return code if code >= 0 else 128 - code

    def signal(self, number: int) -> None:
        """Passes a signal on; a terminal has sent Ctrl-C to the agent itself."""
        if self._shares_terminal and number == signal.SIGINT:
            return
        self._send(number)

    def kill(self) -> None:
        self._send(signal.SIGKILL)

    def _send(self, number: int) -> None:
        try:
            if self._shares_terminal:
                self.process.send_signal(number)
            else:
                os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass


def _watch(keeper: Keeper, child: _Child, caught: _Caught, grace_s: float) -> int:
    passed_on = 0
    deadline: float | None = None
    while (code := child.wait(_POLL_S)) is None:
        if deadline is None and keeper.stopped_by is not None:
            show.warn(f"the agent is stopped: {keeper.stopped_by.reason}")
            child.signal(signal.SIGTERM)
            deadline = time.monotonic() + grace_s
        for number in caught.signals[passed_on:]:
            passed_on += 1
            if deadline is None:
                # The soft one first: it takes a moment and nothing can refuse it.
                keeper.save_soft(_moment_of(number))
                child.signal(number)
                deadline = time.monotonic() + grace_s
                keeper.save_hard(_moment_of(number))
            else:
                child.signal(number)
        if deadline is not None and time.monotonic() >= deadline:
            child.kill()
            deadline = float("inf")
    return code


def _compare(home: Home) -> None:
    """Before the agent begins: whether this workspace may go on. A remote that does not answer stops nobody."""
    try:
        resuming.warn_of_base(resuming.check(home))
    except Refused as refused:
        if refused.blocked.code is not Code.UNAVAILABLE:
            raise
        show.warn(f"the remote could not be compared: {refused.blocked.reason}")


def _moment_of(number: int | None) -> Trigger | None:
    if number is None:
        return None
    return Trigger.CANCEL if number == signal.SIGINT else Trigger.SHUTDOWN


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return float(duration_seconds(text))
    except ValueError:
        raise usage("--ends-in is a number with s, m or h", "for example --ends-in 55m") from None
