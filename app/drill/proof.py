"""What a proof says: proved with its evidence, or not proved and why. Nothing in a drill counts without one."""

import json
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

    @property
    def gist(self) -> str:
        """The answer for a person to read: a refusal's code and reason, else what git said of the ref."""
        refusal = _refusal(self.said)
        if refusal is not None:
            return f"exit code {self.exit_code}, {refusal}"
        lines = [line.strip() for line in self.said.splitlines() if line.strip() and not line.startswith("To ")]
        return f"exit code {self.exit_code}, {' '.join(' '.join(lines).split())[:200] or 'without a word'}"


def _refusal(said: str) -> str | None:
    """Code and reason where `agent-recovery --json` refused: its answer begins with a JSON object."""
    try:
        told, _ = json.JSONDecoder().raw_decode(said)
        return f"{told['error']['code']}: {told['error']['message']}"
    except (ValueError, KeyError, TypeError):
        return None
