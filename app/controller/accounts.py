"""Whether the account behind a lease may still do by itself what its holder does through the App."""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

from app.domain.outcome import Blocked, Code
from app.domain.record import Lease
from app.github.client import Permission
from app.github.repository import Repository

KEPT_S = 60.0
KEPT_ENTRIES = 1024
MAY_WRITE = frozenset({"write", "maintain", "admin"})


class Asked(Protocol):
    """GitHub, as far as it tells what accounts may do."""

    async def permission(self, repository: Repository, login: str) -> Permission: ...


class Accounts:
    """Asks GitHub, and keeps each answer for a minute. `now`: seconds of a clock that never goes back."""

    def __init__(self, github: Asked, now: Callable[[], float] = time.monotonic) -> None:
        self._github = github
        self._now = now
        self._kept: OrderedDict[tuple[int, str], tuple[float, Permission]] = OrderedDict()

    async def may_no_more(self, repo: Repository, lease: Lease) -> Blocked | None:
        """Why the claimer's account does not cover the lease any more, or None. Raises GitHubError."""
        level = await self._level(repo, lease.login)
        if level in MAY_WRITE:
            return None
        return Blocked(
            Code.FORBIDDEN,
            f"{lease.login}, who claimed the ticket, has {level} permission in {repo.full_name} now; git needs write",
            "let an account with write access claim the ticket, or give this one its access back",
        )

    async def _level(self, repo: Repository, login: str) -> Permission:
        key = (repo.id, login.lower())
        until, level = self._kept.get(key, (float("-inf"), "none"))
        if self._now() >= until:
            level = await self._github.permission(repo, login)
            self._kept[key] = self._now() + KEPT_S, level
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT_ENTRIES:
                self._kept.popitem(last=False)
        return level
