"""Children as they stand: found again by their ledgers, each judged like every ledger, whoever is alive.

What a child's ledger says counts while it is sound and not behind what this service saw of it (the ownership protocol,
R20). A look costs one request for the results, and one for every child's head that was not read before.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from app.controller.heartbeats import Heartbeats, Holder
from app.controller.witnessing import Witnessing
from app.domain.child_states import shown
from app.domain.children import Seen, Unseen, listed
from app.domain.lease import liveness
from app.domain.policy import Policy
from app.domain.record import Record
from app.domain.shown_child import ShownChild
from app.domain.ticket_id import Child
from app.github.repository import Repository
from app.ledger.api import ApiLedger
from app.ledger.reading import Absent, Damaged, Standing
from app.ledger.witness import Current, judge

BaseHolds = Callable[[str, str], Awaitable[bool]]
"""(commit, head) → whether the head contains the commit."""


@dataclass(frozen=True)
class Family:
    """The children of one ticket. `standings`: the ledgers of those in `seen` that may be used."""

    seen: Mapping[str, Seen | Unseen] = field(default_factory=dict)
    standings: Mapping[str, Standing] = field(default_factory=dict)
    base_holds: Mapping[str, bool] = field(default_factory=dict)

    def shown(self, parent: Record) -> tuple[ShownChild, ...]:
        """All children, in the order in which they are integrated, orphans last."""
        return shown(parent, self.seen, self.base_holds)


class Families:
    """Looks at children."""

    def __init__(self, heartbeats: Heartbeats, witnessing: Witnessing) -> None:
        self._heartbeats = heartbeats
        self._witnessing = witnessing

    async def of(
        self,
        repo: Repository,
        ledger: ApiLedger,
        standing: Standing | None,
        policy: Policy | None,
        base_holds: BaseHolds,
        now: datetime,
    ) -> Family:
        """The children of the ticket whose ledger is `standing`; one without children costs nothing."""
        if standing is None or standing.record.child is not None:
            return Family()
        entries = listed(standing.record)
        if not entries and not standing.children:
            return Family()
        number = standing.record.ticket
        found, results = await asyncio.gather(ledger.children(standing), self._results(repo, ledger, number))
        # A ref of a result that somebody deleted is no loss where the parent's record names its commit.
        sealed = {e.name: {e.result.generation: e.result.commit} for e in entries if e.result is not None}
        seen: dict[str, Seen | Unseen] = {}
        standings: dict[str, Standing] = {}
        for name, judged in found.items():
            child = Child(number, name)
            usable = await self._usable(repo, ledger, child, judged)
            if isinstance(usable, Standing):
                standings[name] = usable
                result = await self._result(ledger, usable, {**sealed.get(name, {}), **results.get(name, {})})
                seen[name] = await self._seen(repo, usable, result, policy or Policy(), now)
            else:
                seen[name] = usable
        return Family(seen, standings, await self._bases(standing.record, base_holds))

    async def _results(self, repo: Repository, ledger: ApiLedger, number: int) -> dict[str, dict[int, str]]:
        found: dict[str, dict[int, str]] = {}
        for value in await repo.matching_refs(f"{ledger.refs.namespace}/results/{number}."):
            named = ledger.refs.result_of(value.name)
            if named is not None:
                found.setdefault(named[0].name, {})[named[1]] = value.sha
        return found

    async def _usable(
        self, repo: Repository, ledger: ApiLedger, child: Child, judged: Standing | Absent | Damaged
    ) -> Standing | Unseen:
        if isinstance(judged, Absent):
            return Unseen("its ledger is gone")
        if isinstance(judged, Damaged):
            return Unseen(f"its ledger cannot be trusted: {judged.reason}")
        verdict = judge(judged.entries, await self._witnessing.told_by_table(repo, ledger, child), judged.earlier)
        if not isinstance(verdict, Current):
            return Unseen(f"its ledger is not where it was: {verdict.reason}")
        return judged

    async def _result(self, ledger: ApiLedger, standing: Standing, results: Mapping[int, str]) -> str | Unseen | None:
        """The commit in which an ended child gave its result: what the result's ref points to, where that is a sound
        commit of this very ledger with this very result. Others may have written above it since.
        """
        record = standing.record
        sha = results.get(record.generation)
        if record.result is None or sha is None:
            return None
        chain = {*(entry.sha for entry in standing.entries), *standing.earlier}
        there = await ledger.at(record.ticket_id, sha) if sha in chain else None
        if isinstance(there, Standing) and there.record.result == record.result:
            return sha
        return Unseen(f"the ref of its result was moved to {sha}")

    async def _seen(
        self, repo: Repository, standing: Standing, result: str | Unseen | None, policy: Policy, now: datetime
    ) -> Seen:
        record, lease = standing.record, standing.record.lease
        beat = None
        if lease is not None:
            holder = Holder(repo.id, str(record.ticket_id), lease.generation, lease.nonce)
            beat = await self._heartbeats.last_seen(holder)
        return Seen(record, liveness(record, policy, now=now, heartbeat_at=beat), result)

    async def _bases(self, parent: Record, base_holds: BaseHolds) -> dict[str, bool]:
        """Whether the parent's published head contains the commits its children started from."""
        head = parent.published.sha if parent.published else parent.base_sha
        open_ones = (e for e in listed(parent) if not e.cancelled and (e.result is None or e.result.merged is None))
        wanted = dict.fromkeys(entry.base_sha for entry in open_ones)
        return {sha: sha == head or (head is not None and await base_holds(sha, head)) for sha in wanted}
