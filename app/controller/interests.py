"""What each repository's policy makes a look ask for, so that one request finds it; learnt from the look before.

Kept in memory only: a service that starts, and a policy that changes, cost one more request once.
"""

from collections import OrderedDict
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from app.domain.surroundings import NOTHING_MORE, Asked

NO_PROJECTS_FOR = timedelta(hours=1)
"""How long Projects are not asked for after GitHub would not show them to the App."""
_KEPT = 256


@dataclass(frozen=True)
class _Known:
    asked: Asked
    no_projects_until: datetime | None = None


class Interests:
    """Remembers, for a bounded number of repositories."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, _Known] = OrderedDict()

    def of(self, repository_id: int, now: datetime) -> Asked:
        """What to ask for now."""
        known = self._known.get(repository_id)
        if known is None:
            return NOTHING_MORE
        refused = known.no_projects_until is not None and now < known.no_projects_until
        return replace(known.asked, project=False) if refused else known.asked

    def learn(self, repository_id: int, asked: Asked) -> bool:
        """Take over what the policy says now. True where the look that read it asked for something else."""
        known = self._known.get(repository_id)
        if (known.asked if known else NOTHING_MORE) == asked:
            return False
        self._known[repository_id] = _Known(asked)
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return True

    def no_projects(self, repository_id: int, now: datetime) -> None:
        """GitHub would not show the App any Project."""
        known = self._known[repository_id]
        self._known[repository_id] = replace(known, no_projects_until=now + NO_PROJECTS_FOR)
