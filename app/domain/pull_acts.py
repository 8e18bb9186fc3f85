"""What was done to a PR by a click, as its timeline tells it: so that a person's own act is told from the App's."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

ActKind = Literal["ready", "draft", "base", "unassigned", "unlabeled", "review_requested", "review_removed"]


@dataclass(frozen=True)
class Act:
    """One entry of a PR's timeline. `by` is None where the account is gone. `ours`: the App did it. `what`: the base
    that it leads to, the account, team or label that it is about; empty for clicks on ready and draft.
    """

    id: str
    kind: ActKind
    by: str | None
    ours: bool
    at: datetime
    what: str = ""

    @property
    def who(self) -> str:
        """Whom to name for it."""
        return self.by or "somebody whose account is gone"


def latest(acts: Iterable[Act], *kinds: ActKind) -> Act | None:
    """The newest act of these kinds; `acts` are in the order in which they were done."""
    return next((act for act in reversed(tuple(acts)) if act.kind in kinds), None)


def undone_by_others(acts: Iterable[Act], kind: ActKind) -> frozenset[str]:
    """What somebody else than the App took away, in lower case."""
    return frozenset(act.what.lower() for act in acts if act.kind == kind and not act.ours)
