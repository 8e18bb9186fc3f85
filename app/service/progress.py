"""How far a long command is, on stderr: at most once a second, and not before the second one."""

import sys
import time


class Progress:
    """Told how many of how many were looked at, and what comes next."""

    def __init__(self) -> None:
        self._next = time.monotonic() + 1.0
        self._shown = False

    def __call__(self, done: int, total: int, what: str) -> None:
        if time.monotonic() < self._next:
            return
        self._next, self._shown = time.monotonic() + 1.0, True
        words = f"{what} ({done} of {total})" if total else what
        end = "\r" if sys.stderr.isatty() else "\n"
        print(f"{words:<70}"[:78], end=end, file=sys.stderr, flush=True)

    def end(self) -> None:
        """Clear the line, so that the outcome stands alone."""
        if self._shown and sys.stderr.isatty():
            print(" " * 78, end="\r", file=sys.stderr, flush=True)
