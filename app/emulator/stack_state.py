"""Native stacks: pull requests in a row that GitHub itself knows to belong together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from app.emulator.ids import node_id

if TYPE_CHECKING:
    from app.emulator.state import PullRequest, Repository


@dataclass(eq=False)
class Stack:
    """Pull requests from bottom to top; what was merged stays in it."""

    id: int
    repo: Repository
    number: int
    base_ref: str
    created_at: str
    pulls: list[PullRequest] = field(default_factory=list)

    @property
    def node_id(self) -> str:
        return node_id("S", self.repo.id, self.number)

    @property
    def unmerged(self) -> list[PullRequest]:
        """Those that are still to land, from bottom to top."""
        return [pull for pull in self.pulls if not pull.merged]
