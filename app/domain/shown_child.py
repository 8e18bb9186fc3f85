"""Children as they are shown: in the brief, in the answer to `child list`, in the handoff comment."""

from typing import Literal

from app.domain.model import Message, Sha

ChildState = Literal[
    "waiting",
    "running",
    "interrupted",
    "completed",
    "failed",
    "stale",
    "integrated",
    "cancelled",
    "orphaned",
    "lost",
]


class ShownChild(Message):
    """A child as its parent sees it now. `integrable`: its holder may merge it next; `because` says why, or why not."""

    name: str
    state: ChildState
    because: str
    integrable: bool = False
    generation: int = 0
    holder: str | None = None
    role: str = ""
    objective: str = ""
    base_sha: Sha | None = None
    predecessor_sha: Sha | None = None
    head_sha: Sha | None = None
    result_commit: Sha | None = None
    merged: Sha | None = None
    pr_number: int | None = None


class Children(Message):
    """All children of a ticket, in the order in which they are integrated; orphans last."""

    ticket: int
    generation: int
    predecessor_sha: Sha | None
    published_sha: Sha | None
    children: tuple[ShownChild, ...]
