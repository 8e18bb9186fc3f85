"""Whether the account behind a lease may still do by itself what its holder does through the App.

Behind the lease of a workflow run stands no account: GitHub itself said that the run is the one that was started, of
the workflow that the default branch has. Once that run has ended its holder is dead.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from app.domain.outcome import Blocked, Code, Refused
from app.domain.record import Lease
from app.github.client import Permission
from app.github.repository import Repository

KEPT_S = 60.0
"""How long an answer stands where the App uses its own credential for what a holder does: a push."""
ASKED_EVERY_S = 600.0
"""How long it stands for what a holder does through the API. The claim itself asked."""
KEPT_ENTRIES = 1024
MAY_WRITE = frozenset({"write", "maintain", "admin"})


class Asked(Protocol):
    """GitHub, as far as it tells what accounts may do."""

    async def permission(self, repository: Repository, login: str) -> Permission: ...


class Accounts:
    """Asks GitHub, and keeps each answer for as long as its use allows. `now`: seconds of a clock that never goes
    back.
    """

    def __init__(self, github: Asked, now: Callable[[], float] = time.monotonic) -> None:
        self._github = github
        self._now = now
        self._kept: OrderedDict[tuple[int, str], tuple[float, Permission]] = OrderedDict()

    async def may_no_more(self, repo: Repository, lease: Lease, kept_s: float = KEPT_S) -> Blocked | None:
        """Why the claimer's account does not cover the lease any more, or None. Raises GitHubError."""
        if lease.run is not None:
            return None
        level = await self._level(repo, lease.login, kept_s)
        if level in MAY_WRITE:
            return None
        return Blocked(
            Code.FORBIDDEN,
            f"{lease.login}, who claimed the ticket, has {level} permission in {repo.full_name} now; a holder needs "
            "write",
            "let an account with write access claim the ticket, or give this one its access back",
        )

    async def require_covered(self, repo: Repository, lease: Lease, now: datetime) -> None:
        """Raises Refused where a holder's call comes so long after its claim that the account behind it is asked about
        again, and does not cover the lease any more. Raises GitHubError.
        """
        if (now - lease.granted_at).total_seconds() < ASKED_EVERY_S:
            return
        if (refusal := await self.may_no_more(repo, lease, ASKED_EVERY_S)) is not None:
            raise Refused(refusal)

    async def _level(self, repo: Repository, login: str, kept_s: float) -> Permission:
        key = (repo.id, login.lower())
        asked_at, level = self._kept.get(key, (float("-inf"), "none"))
        # Who was refused and got its access back is not kept waiting.
        if self._now() >= asked_at + (kept_s if level in MAY_WRITE else KEPT_S):
            level = await self._github.permission(repo, login)
            self._kept[key] = self._now(), level
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT_ENTRIES:
                self._kept.popitem(last=False)
        return level
