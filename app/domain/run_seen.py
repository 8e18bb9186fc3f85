"""A workflow run as GitHub shows it now."""

from dataclasses import dataclass
from typing import Literal

from app.domain.dispatched import Run


@dataclass(frozen=True)
class RunSeen:
    """`title` is the run's name as it was computed at its start: text of the repository, and where the attempt of a
    dispatch is looked for. `conclusion` is GitHub's word for how it ended, None before. `gone`: GitHub knows no such
    run any more.
    """

    run: Run
    status: Literal["waiting", "running", "completed", "gone"]
    title: str = ""
    conclusion: str | None = None

    @property
    def has_ended(self) -> bool:
        return self.status in ("completed", "gone")
