"""Finding tickets whose ledgers have been retained long enough: once a day a repository, a bounded number each time.

The list of ended tickets only ever grows, so nothing else reads it: what the service costs follows the tickets in
progress. Only a poke comes of it; the ticket's own round decides by record and policy. What if it happened and we did
not hear, what if two of us do it: a poke too many costs one look.
"""

import random
from datetime import timedelta
from zlib import crc32

import structlog

from app.controller.pokes import PokeStore
from app.controller.view import Views
from app.domain.keys import TicketKey
from app.domain.policy import Policy
from app.domain.pruning import PRUNED
from app.domain.ticket_id import TicketId
from app.github.commit_dates import AT_ONCE
from app.github.repository import Repository

DAY_S = 86400
LOOKED_AT = 1000
"""Ended tickets looked at in one run, chosen anew each time where there are more."""
PRUNED_AT_ONCE = 50

log = structlog.get_logger()


class Pruner:
    """Pokes ended tickets whose time is up."""

    def __init__(self, views: Views, pokes: PokeStore) -> None:
        self._views = views
        self._pokes = pokes
        self._days: dict[str, int] = {}

    async def daily(self, owner: str, name: str) -> int:
        """Look once a day, at a time of the repository's own; returns how many tickets were poked. A start is no
        reason to look. Raises GitHubError.
        """
        full_name = f"{owner}/{name}"
        day = int((self._views.now().timestamp() + crc32(full_name.encode()) % DAY_S) // DAY_S)
        before = self._days.setdefault(full_name, day)
        if before == day:
            return 0
        self._days[full_name] = day
        return await self.poke_due(owner, name)

    async def poke_due(self, owner: str, name: str) -> int:
        """Poke the tickets that have been ended for longer than the policy retains them, the oldest first; returns how
        many. Raises GitHubError.
        """
        repo, ended = await self._views.ended_tickets(owner, name)
        looked_at = random.sample(ended, min(len(ended), LOOKED_AT))
        dates = await self._ages(repo, [sha for _, sha in looked_at])
        oldest = sorted((dates[sha], str(t), t) for t, sha in looked_at if sha in dates)
        if not oldest:
            return 0
        age = await self._retention(owner, name, oldest[0][2])
        due = [ticket for ended_for, _, ticket in oldest if -ended_for >= age.total_seconds()][:PRUNED_AT_ONCE]
        await self._pokes.poke(*(str(TicketKey(repo.full_name, ticket)) for ticket in due))
        log.info("ended tickets looked at", repository=repo.full_name, ended=len(ended), due=len(due))
        return len(due)

    async def _ages(self, repo: Repository, shas: list[str]) -> dict[str, float]:
        """SHA → the negative age in seconds, of what is no tombstone. A hint: the round looks at the record."""
        now = self._views.now()
        found: dict[str, float] = {}
        for start in range(0, len(shas), AT_ONCE):
            for sha, commit in (await repo.dated_commits(shas[start : start + AT_ONCE])).items():
                if f"\nRecovery-Event: {PRUNED}\n" not in commit.message:
                    found[sha] = -(now - commit.committed_at).total_seconds()
        return found

    async def _retention(self, owner: str, name: str, ticket: TicketId) -> timedelta:
        """What the repository's policy says now, learned by looking at one ticket."""
        view = await self._views.look(owner, name, ticket)
        return (view.usable_policy or Policy()).retention
