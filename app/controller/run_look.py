"""The workflow run that holds a ticket or was started for it, as it is now.

A run that ended stays ended, so it is read once. What GitHub refuses to show is not known, and stops no look: without
the permission a holder is dead when its lease has run out, as everybody else's.
"""

from collections import OrderedDict
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import structlog

from app.domain.dispatched import Dispatched, Run
from app.domain.policy import Policy
from app.domain.record import TERMINAL, Record
from app.domain.run_seen import RunSeen
from app.github.errors import Forbidden, Validation
from app.github.repository import Repository

APPEARS_WITHIN = timedelta(minutes=2)
"""How long a run that was just started may be unknown to a look at it."""
_KEPT = 2048

log = structlog.get_logger()


@dataclass(frozen=True)
class RunLook:
    """`run`: the run of the open dispatch, where there is one, else the holder's; None where there is none, or it is
    not known. `holder_ended`: exactly the run and attempt of the lease are over.
    """

    run: RunSeen | None = None
    holder_ended: bool = False


class RunLooks:
    """Looks at runs. Keeps those that ended, no state."""

    def __init__(self) -> None:
        self._ended: OrderedDict[tuple[int, int, int], RunSeen] = OrderedDict()

    async def look(self, repo: Repository, record: Record, policy: Policy | None, now: datetime) -> RunLook:
        """What is to be known of the record's runs: no request where it names none. Raises GitHubError."""
        if record.status in TERMINAL:
            return RunLook()
        holders = await self._of_lease(repo, record)
        started = record.dispatched
        run = holders
        if started is not None and started.state == "open" and started.start != "command":
            run = await self._of_dispatch(repo, started, policy, now)
        return RunLook(run, holders is not None and holders.has_ended)

    async def _of_lease(self, repo: Repository, record: Record) -> RunSeen | None:
        if record.lease is None or record.lease.run is None:
            return None
        return await self._one(repo, record.lease.run)

    async def _of_dispatch(
        self, repo: Repository, started: Dispatched, policy: Policy | None, now: datetime
    ) -> RunSeen | None:
        if started.run is not None:
            seen = await self._one(repo, started.run)
            if seen is not None and seen.status == "gone" and now <= started.at + APPEARS_WITHIN:
                return replace(seen, status="waiting")
            return seen
        if policy is None:
            return None
        try:
            found = await repo.runs_named(
                started.attempt, workflow=policy.resume.workflow, event=started.start, since=started.at
            )
        except (Forbidden, Validation) as refusal:
            _unknown(repo, refusal)
            return None
        return found[0] if found else None

    async def _one(self, repo: Repository, run: Run) -> RunSeen | None:
        key = (repo.id, run.id, run.attempt)
        known = self._ended.get(key)
        if known is not None:
            return known
        try:
            seen = await repo.workflow_run(run.id, run.attempt)
        except (Forbidden, Validation) as refusal:
            _unknown(repo, refusal)
            return None
        if seen.status == "completed":
            self._ended[key] = seen
            while len(self._ended) > _KEPT:
                self._ended.popitem(last=False)
        return seen


def _unknown(repo: Repository, refusal: Forbidden | Validation) -> None:
    log.warning("run not seen", repository=repo.full_name, because=refusal.message)
