"""What was done to a PR by a click, as its timeline tells it: so that a person's own act is told from the App's."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

ActKind = Literal[
    "ready",
    "draft",
    "base",
    "unassigned",
    "unlabeled",
    "review_requested",
    "review_removed",
    "closed",
    "head_gone",
    "head_rewritten",
    "base_gone",
]


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
    by_person: bool = False
    """An account of a person did it, which no bot and no App is."""

    @property
    def who(self) -> str:
        """Whom to name for it."""
        return self.by or "somebody whose account is gone"


def latest(acts: Iterable[Act], *kinds: ActKind) -> Act | None:
    """The newest act of these kinds; `acts` are in the order in which they were done."""
    return next((act for act in reversed(tuple(acts)) if act.kind in kinds), None)


SAME_MOMENT = timedelta(seconds=2)
"""GitHub closes a PR in the moment in which its branch or its base goes, in the name of whoever took that away."""


def closed_by_person(acts: Iterable[Act]) -> Act | None:
    """The act by which a person closed the PR for its own sake; `acts` are of a PR that is closed. None where a bot or
    the App did it, where GitHub closed it because its branch or its base went, and where nobody can tell.
    """
    known = tuple(acts)
    closing = latest(known, "closed")
    if closing is None or closing.ours or not closing.by_person or closing.by is None:
        return None
    went = (act for act in known if act.kind in ("head_gone", "head_rewritten", "base_gone"))
    return None if any(abs(act.at - closing.at) <= SAME_MOMENT for act in went) else closing


def undone_by_others(acts: Iterable[Act], kind: ActKind) -> frozenset[str]:
    """What somebody else than the App took away, in lower case."""
    return frozenset(act.what.lower() for act in acts if act.kind == kind and not act.ours)
