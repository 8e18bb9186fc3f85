"""Ref transactions by ``git update-ref --stdin``, whose process stays for the next one.

git takes the locks and compares the old values, so these writes and pushes exclude each other. Starting git costs
twenty times what a transaction costs; a few repositories keep theirs running.
"""

from __future__ import annotations

import contextlib
import subprocess
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

_AT_ONCE = 4


class Refused(Exception):
    """git refused the transaction as a whole; the message is git's own."""


class RefTransactions:
    """The git process of one repository, started when it is needed and again after a refusal, which ends it."""

    def __init__(self, path: Path, env: Mapping[str, str]) -> None:
        self._path = path
        self._env = env
        self._process: subprocess.Popen[bytes] | None = None
        self._finish: Callable[[], object] = lambda: None

    def commit(self, commands: Sequence[str]) -> None:
        """Carry out ``update …`` and ``delete …`` lines, all or none. Raises :class:`Refused`."""
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        text = "".join(f"{line}\n" for line in ("start", *commands, "prepare", "commit"))
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(text.encode())
            process.stdin.flush()
        for step in ("start", "prepare", "commit"):
            if process.stdout.readline() != f"{step}: ok\n".encode():
                raise Refused(self._failure())

    def close(self) -> None:
        """End the process."""
        _WARM.pop(self, None)
        self._process = None
        self._finish()

    def _failure(self) -> str:
        assert self._process is not None
        assert self._process.stderr is not None
        message = self._process.stderr.read().decode(errors="replace").strip()
        self.close()
        return message

    def _running(self) -> subprocess.Popen[bytes]:
        _WARM[self] = None
        _WARM.move_to_end(self)
        while len(_WARM) > _AT_ONCE:
            next(iter(_WARM)).close()
        if self._process is None:
            self._process = subprocess.Popen(
                ["git", "update-ref", "--no-deref", "--stdin"],
                cwd=self._path,
                env=self._env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            self._finish = weakref.finalize(self, _end, self._process)
        return self._process


# Those that may have a process running, the one used last at the end; and processes that are on their way out.
_WARM: OrderedDict[RefTransactions, None] = OrderedDict()
_ENDING: list[subprocess.Popen[bytes]] = []


def _end(process: subprocess.Popen[bytes]) -> None:
    """Let it end by itself, which it does when nobody writes any more; the next one that ends collects it."""
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
    _ENDING.append(process)
    _ENDING[:] = [ending for ending in _ENDING if ending.poll() is None]


def end_all() -> None:
    """End all processes and collect them, so that none is left behind when this process is told to stop."""
    while _WARM:
        next(iter(_WARM)).close()
    for process in _ENDING:
        process.wait()
    _ENDING.clear()
