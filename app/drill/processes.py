"""The processes of a story: each in a group of its own, so that a death takes its children along."""

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import app

SOURCE = Path(app.__file__).resolve().parent.parent


class StoryProcess:
    """A running process whose output goes to a log, and whose JSON lines on standard output can be waited for."""

    def __init__(self, name: str, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path) -> None:
        self.name = name
        self.log = log
        self.events: list[dict[str, Any]] = []
        self._news = threading.Condition()
        self._log_file = log.open("ab")
        self._process = subprocess.Popen(
            command,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._log_file,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, name=f"{name} output", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs; the negative signal number where a signal ended it."""
        return self._process.poll()

    def wait_for(self, wanted: Callable[[dict[str, Any]], bool], timeout: float) -> dict[str, Any]:
        """The first event, past or coming, that is wanted. Raises StoryStopped when the process ends or time is up."""
        deadline = time.monotonic() + timeout
        seen = 0
        with self._news:
            while True:
                for event in self.events[seen:]:
                    if wanted(event):
                        return event
                seen = len(self.events)
                if not self._reader.is_alive() and self._process.poll() is not None:
                    raise StoryStopped(f"{self.name} ended with exit code {self.exit_code}: {self.last_words()}")
                left = deadline - time.monotonic()
                if left <= 0:
                    raise StoryStopped(f"{self.name} did not get there within {timeout:.0f} s: {self.last_words()}")
                self._news.wait(min(left, 0.25))

    def wait(self, timeout: float) -> int:
        """The exit code. Raises StoryStopped when time is up."""
        try:
            code = self._process.wait(timeout)
        except subprocess.TimeoutExpired as late:
            raise StoryStopped(f"{self.name} did not end within {timeout:.0f} s") from late
        self._reader.join(timeout=5)
        return code

    def kill(self) -> int:
        """SIGKILL to the whole group: no handler runs, nothing is saved. The exit code, once it is gone."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        return self.wait(10)

    def stop(self, grace: float = 20) -> int:
        """SIGTERM, and SIGKILL when it does not end in time."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGTERM)
            try:
                self._process.wait(grace)
            except subprocess.TimeoutExpired:
                return self.kill()
        return self.wait(10)

    def last_words(self) -> str:
        """What it said last: its last event, or the end of its log."""
        if self.events and self.events[-1].get("event") == "failed":
            failed = self.events[-1]
            return f"{failed['command']}: exit {failed['exit']}: {failed['out']} {failed['err']}".strip()[-1500:]
        return self.log.read_text("utf-8", "replace")[-1500:].strip()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                event = json.loads(line)
            except ValueError:
                event = None
            with self._news:
                if isinstance(event, dict):
                    self.events.append(event)
                else:
                    self._log_file.write(line)
                    self._log_file.flush()
                self._news.notify_all()
        with self._news:
            self._news.notify_all()


class StoryStopped(Exception):
    """The story cannot go on; the text says what is missing."""


def clean_environment(**extra: str) -> dict[str, str]:
    """An environment that holds nothing of the caller's but where programs are, and what is named here."""
    path = os.environ.get("PATH", os.defpath)
    kept = {k: os.environ[k] for k in ("LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV") if k in os.environ}
    return kept | {
        "PATH": path,
        "PYTHONPATH": str(SOURCE),
        "PYTHONDONTWRITEBYTECODE": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        **extra,
    }
