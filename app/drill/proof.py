"""What a proof says: proved with its evidence, or not proved and why. Nothing in a drill counts without one."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Proved:
    """Seen on GitHub. `evidence` holds the SHAs, ids and URLs it was seen by; `line` says it in a few words."""

    line: str
    evidence: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class NotProved:
    """Not seen on GitHub, and what was seen instead."""

    why: str


Proof = Proved | NotProved
Prover = Callable[[], Proof]


class Unproved(Exception):
    """Carries a `NotProved` out of the look-ups of a proof."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True)
class Attempt:
    """Something somebody tried in a story, and how the answer looked from outside: its exit code and its text."""

    command: str
    exit_code: int
    said: str

    @property
    def answer(self) -> str:
        """The answer in one line, for the evidence."""
        return " ".join(self.said.split())[:400]
