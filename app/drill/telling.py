"""How a story is told: one line for every step that was proved or not, and a summary. Data for programs."""

import time
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.status import Status

from app.drill.proof import Proof, Proved

NOT_REACHED = "not reached"


@dataclass
class Result:
    """What a story came to. `failed` holds every step that could not be proved, with the reason. `measures`: the story
    counts what one recovery asks of GitHub.
    """

    seed: int
    story: str = "delivery"
    measures: bool = True
    proved: dict[str, dict[str, Any]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    not_reached: dict[str, str] = field(default_factory=dict)
    """What the story did not come to, because it had stopped, and why it had."""
    generation: int | None = None
    recovery_requests: int | None = None
    recovery_requests_by_step: dict[str, int] = field(default_factory=dict)
    apart: dict[str, int] = field(default_factory=dict)
    duplicates: int | None = None
    duplicates_found: list[str] = field(default_factory=list)
    seconds: float = 0.0
    urls: dict[str, str] = field(default_factory=dict)

    @property
    def steps(self) -> int:
        """How many steps the story has to prove."""
        return len(self.proved) + len(self.failed) + len(self.not_reached)

    @property
    def all_proved(self) -> bool:
        return not self.failed and not self.not_reached and self.duplicates == 0

    def data(self) -> dict[str, Any]:
        return {
            "story": self.story,
            "proved": self.proved,
            "failed": self.failed | {name: f"{NOT_REACHED}: {why}" for name, why in self.not_reached.items()},
            **(self._measured() if self.measures else {}),
            "duplicates": self.duplicates,
            "duplicates_found": self.duplicates_found,
            "seconds": round(self.seconds, 1),
            "seed": self.seed,
            "urls": self.urls,
        }

    def _measured(self) -> dict[str, Any]:
        return {
            "generation": self.generation,
            "recovery_requests": self.recovery_requests,
            "recovery_requests_by_step": self.recovery_requests_by_step,
            "requests_apart": self.apart,
        }


class Telling:
    """Tells a story while it happens: a spinner and colours on a terminal, plain lines elsewhere, or nothing."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._console = Console(quiet=quiet, highlight=False, soft_wrap=True)
        self._began = time.monotonic()
        self._status: Status | None = None

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def chapter(self, title: str) -> None:
        self.settle()
        self._console.print(f"\n[bold]{title}[/bold]")

    def doing(self, what: str) -> None:
        """What is under way: seen on a terminal only, because a plain log wants results."""
        if not self._console.is_terminal:
            return
        if self._status is None:
            self._status = self._console.status(what)
            self._status.start()
        else:
            self._status.update(what)

    def proof(self, name: str, proof: Proof) -> None:
        """One line for one step."""
        at = f"{self.seconds:5.1f} s"
        if isinstance(proof, Proved):
            self._console.print(f"  [green]proved[/green]     {at}  {name:<18} ", end="")
            self._console.print(proof.line, markup=False)
        else:
            self._console.print(f"  [red]NOT PROVED[/red] {at}  {name:<18} ", end="")
            self._console.print(proof.why, markup=False)

    def outcome(self, command: str, answered: str, shown: str) -> None:
        """What was tried, what was answered, and what GitHub shows five seconds later."""
        indent = " " * 15
        self._console.print(f"{indent}{command} → {answered}", markup=False, style="dim")
        self._console.print(f"{indent}GitHub shows 5 s later: {shown}", markup=False, style="dim")

    def remark(self, text: str) -> None:
        self._console.print(f"  {text}", markup=False, style="dim")

    def settle(self) -> None:
        """Ends the spinner, so that what follows stands on lines of its own."""
        if self._status is not None:
            self._status.stop()
            self._status = None

    def summary(self, result: Result) -> None:
        self.settle()
        self._console.print("\n[bold]Summary[/bold]")
        for label, value in _summed_up(result):
            self._console.print(f"  {label:<37} {value}", markup=False)
        for name, why in result.failed.items():
            self._console.print(f"  not proved: {name}: {why}", markup=False, style="red")
        if result.not_reached:
            self._console.print(f"  not reached: {', '.join(result.not_reached)}", markup=False, style="red")
        self._console.print(f"\n{len(result.proved)} of {result.steps} proved", markup=False)

    def still_running(self, result: Result) -> None:
        """Where everything can be looked at, as long as it runs."""
        for name, url in result.urls.items():
            self._console.print(f"{name}: {url}", markup=False)


def _summed_up(result: Result) -> list[tuple[str, str]]:
    return [
        *(_measured(result) if result.measures else ()),
        ("duplicates", "; ".join(result.duplicates_found) or _or_not_reached(result.duplicates)),
        ("time", f"{result.seconds:.1f} s (seed {result.seed})"),
    ]


def _measured(result: Result) -> list[tuple[str, str]]:
    steps = ", ".join(f"{name} {n}" for name, n in result.recovery_requests_by_step.items())
    apart = ", ".join(f"{name} {n}" for name, n in result.apart.items())
    reached = result.recovery_requests is not None
    return [
        ("generations", _or_not_reached(result.generation)),
        ("requests to GitHub the recovery took", f"{result.recovery_requests} ({steps})" if reached else NOT_REACHED),
        ("  counted apart from them", apart if reached else NOT_REACHED),
    ]


def _or_not_reached(number: int | None) -> str:
    return NOT_REACHED if number is None else str(number)
