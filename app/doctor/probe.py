"""A probe: one assumption about GitHub, tried for real."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from app.doctor.finding import Finding, State
from app.doctor.sandbox import Sandbox
from app.github.errors import GitHubError, RateLimited, Unanswered


@dataclass(frozen=True)
class Seen:
    """What a probe saw."""

    state: State
    words: str


def as_relied_on(fine: bool, words: str) -> Seen:
    """What was seen, and whether it is what we rely on."""
    return Seen(State.AS_RELIED_ON if fine else State.OTHERWISE, words)


@dataclass(frozen=True)
class Probe:
    """`name` is what `docs/unverified.md` calls it."""

    name: str
    relied_on: str
    look: Callable[[Sandbox], Awaitable[Seen]]

    async def run(self, box: Sandbox) -> Finding:
        """The finding. GitHub's refusal is one, its silence is none."""
        try:
            seen = await self.look(box)
        except (RateLimited, Unanswered) as silent:
            seen = Seen(State.NOT_TRIED, f"GitHub gave no usable answer: {silent.message}")
        except GitHubError as refusal:
            seen = Seen(State.OTHERWISE, f"refused ({type(refusal).__name__}): {refusal.message}")
        return Finding(self.name, self.relied_on, seen.state, seen.words)


def probe(name: str, relied_on: str) -> Callable[[Callable[[Sandbox], Awaitable[Seen]]], Probe]:
    """Make a function that looks at a sandbox a probe."""
    return lambda look: Probe(name, relied_on, look)
