"""One execution of an effect's command on this machine, with what must stand on disk before and after it.

Wanted properties: the attempt's name is on disk before leave to begin is asked, "begun" before the command starts, its
end before it is reported; so a call that was cut off anywhere goes on where it was, and never runs a command twice. A
command that was begun and whose end is not on disk is unknown.

Accepted loss: the command of a killed program may live on, and its end is then nobody's word.
"""

import os
import signal
import subprocess
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Literal

from pydantic import Field

from app.agent.home import Home
from app.domain.effect_journal import digest
from app.domain.model import Message
from app.domain.outcome import Blocked, Code, Refused

KEY_VARIABLE = "AGENT_RECOVERY_EFFECT_KEY"
"""In the command's environment: the idempotency key to give to the other side, the same for every run of the effect."""
RESULT_VARIABLE = "AGENT_RECOVERY_EFFECT_RESULT"
"""In the command's environment: a file into which it may write what the other side calls the effect."""
MAX_REMOTE_ID = 2000

Outcome = Literal["confirmed", "failed_no_effect", "unknown"]


class LocalRun(Message):
    """What this folder knows of its own execution of an effect."""

    attempt: str = Field(default_factory=lambda: uuid.uuid4().hex)
    stage: Literal["asked", "begun", "ended"] = "asked"
    outcome: Outcome = "unknown"
    exit_code: int | None = None
    remote_id: str | None = None
    note: str = "the program that ran it was interrupted"


class Execution:
    """The execution of one effect in one folder. `name`: the effect's, such that no other ticket's is called the same,
    because a folder may serve one ticket after another. Use inside `alone`.
    """

    def __init__(self, home: Home, name: str) -> None:
        self._home = home
        self._file = f"effect-{digest(name)}.json"
        self._result = f"effect-{digest(name)}.result"
        self._lock = f"effect-{digest(name)}.lock"
        self._name = name

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Only one process of this folder runs an effect. Raises Refused where another one does."""
        try:
            import fcntl
        except ImportError:  # no such lock on this platform; commands there must not run side by side
            yield
            return
        with self._home.locked():  # makes the folder where there is none
            file = self._home.path(self._lock).open("w")
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Refused(
                    Blocked(
                        Code.EFFECT_RUNNING,
                        f"another command of this folder is running the effect {self._name}",
                        "wait until it has ended; then the same command tells its result",
                        retryable=True,
                    )
                ) from None
            yield

    def known(self) -> LocalRun | None:
        """The execution that was asked for, begun or ended here, and not settled yet."""
        return self._home.load(self._file, LocalRun)

    def ask(self) -> LocalRun:
        """The attempt to ask leave for: the one asked for already, else a new one, on disk before this ends."""
        run = self.known() or LocalRun()
        self._home.save(self._file, run)
        return run

    def settle(self) -> None:
        """What became of the effect is in the ledger now."""
        self._home.remove(self._file)
        self._home.remove(self._result)

    def carry_out(
        self,
        run: LocalRun,
        command: tuple[str, ...],
        environment: dict[str, str],
        no_effect: frozenset[int],
        waiting: Callable[[], float],
        *,
        quiet: bool,
    ) -> LocalRun:
        """Run the command, once. `waiting` is called while it runs and says in how many seconds again; `no_effect`
        are exit codes by which the command promises that nothing was done. `quiet`: its output goes to stderr.
        """
        self._home.remove(self._result)
        self._home.save(self._file, run.model_copy(update={"stage": "begun"}))
        told = environment | {RESULT_VARIABLE: str(self._home.path(self._result))}
        ended = run.model_copy(update={"stage": "ended", **_ended(command, told, no_effect, waiting, quiet)})
        ended = ended.model_copy(update={"remote_id": self._told_id()})
        self._home.save(self._file, ended)
        return ended

    def _told_id(self) -> str | None:
        try:
            text = self._home.path(self._result).read_bytes()[: 4 * MAX_REMOTE_ID].decode("utf-8", "replace")
        except OSError:
            return None
        return " ".join(text.split())[:MAX_REMOTE_ID] or None


def _ended(
    command: tuple[str, ...],
    environment: dict[str, str],
    no_effect: frozenset[int],
    waiting: Callable[[], float],
    quiet: bool,
) -> dict[str, object]:
    try:
        process = subprocess.Popen(list(command), env=environment, stdout=2 if quiet else None)
    except OSError as error:
        return {"outcome": "failed_no_effect", "note": f"the command could not be started ({error.strerror})"}
    with _passing_on(process):
        while True:
            try:
                code = process.wait(timeout=waiting())
                break
            except subprocess.TimeoutExpired:
                continue
    outcome: Outcome = "confirmed" if code == 0 else "failed_no_effect" if code in no_effect else "unknown"
    return {"outcome": outcome, "exit_code": code, "note": f"its command ended with {code}"}


@contextmanager
def _passing_on(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Signals to this program end the command, not the waiting for it: its end must be written down."""

    def pass_on(number: int, frame: FrameType | None) -> None:
        # At a terminal the whole group has got it already.
        if not (number == signal.SIGINT and os.isatty(0)) and process.poll() is None:
            process.send_signal(number)

    # Not every platform has all of them.
    numbers = [n for name in ("SIGINT", "SIGTERM", "SIGHUP") if (n := getattr(signal, name, None)) is not None]
    before = {number: signal.signal(number, pass_on) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
