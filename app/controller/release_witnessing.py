"""Whether a release's ledger may be acted on: it must not lie behind its own table or what a guard run shows.

The ownership protocol, R20: damaged, backwards, forked, or absent with a witness: nothing is granted or merged, the
guard stays red, one visible report; a person has it begun anew (`release_rebuilding.py`). With no table and no guard
run left a rollback cannot be seen; an old authorization is then still judged by its comment, its head, its base and its
time.
"""

from collections.abc import Iterable, Iterator

from app.controller.witnesses import LedgerPoint, Witnesses
from app.domain.refs import LedgerRefs
from app.domain.release_external_id import of_branch
from app.domain.release_frozen import edge_damaged, edge_moved
from app.domain.release_observation import GuardRun
from app.domain.report import Frozen
from app.domain.ticket_id import TicketId
from app.github.repository import Repository
from app.ledger.reading import Damaged
from app.ledger.releases import ReleaseLedger, ReleaseLedgerStanding, ReleaseReading
from app.ledger.witness import Current, Witness, judge_head


class ReleaseWitnessing:
    """Judges releases' ledgers, and raises the table's witness where they are sound."""

    def __init__(self, witnesses: Witnesses) -> None:
        self._witnesses = witnesses

    async def judge(
        self,
        repo: Repository,
        ledger: ReleaseLedger,
        branch: str,
        reading: ReleaseReading,
        runs: Iterable[GuardRun],
    ) -> Frozen | None:
        """Why the ledger must not be acted on, or None where it may be. `runs`: the guard's, of our App only, on every
        head that may bear one.
        """
        known = await self.witnesses(repo, ledger, branch, runs)
        if isinstance(reading, Damaged):
            last_good = max((w.sequence for w in known), default=0)
            return Frozen(
                edge=edge_damaged(last_good),
                reason=f"The release's ledger is not what it should be: {reading.reason}.",
                found=reading.sha,
                expected="a chain of commits, each sealed by the service",
                is_ours=bool(known),
            )
        standing = reading if isinstance(reading, ReleaseLedgerStanding) else None
        verdict = judge_head(standing.head if standing else None, known)
        if not isinstance(verdict, Current):
            return Frozen(
                edge=edge_moved(verdict.evidence.sequence),
                reason=f"The release's ledger is not where it was: {verdict.reason}.",
                found=standing.entry.sha if standing else "no ledger",
                expected=verdict.expected,
            )
        if standing is not None:
            await self.saw(repo, ledger, standing)
        return None

    async def witnesses(
        self, repo: Repository, ledger: ReleaseLedger, branch: str, runs: Iterable[GuardRun]
    ) -> list[Witness]:
        """Everything that remembers the ledger, also what a rebuilt one has to begin above."""
        highest = await self._witnesses.highest(repo.id, ledger.refs.release(branch))
        table = [Witness("the service's own table", highest.sequence, 0, highest.commit)] if highest else []
        return [*table, *_told_by_runs(branch, runs)]

    async def of_ticket(self, repo: Repository, refs: LedgerRefs, ticket: TicketId) -> list[Witness]:
        """What the service's own table remembers of the ledger of a ticket in a release."""
        highest = await self._witnesses.highest(repo.id, refs.active(ticket))
        if highest is None:
            return []
        return [Witness("the service's own table", highest.sequence, highest.generation, highest.commit)]

    async def saw(self, repo: Repository, ledger: ReleaseLedger, standing: ReleaseLedgerStanding) -> None:
        """Raise the table's witness to what was seen, or written."""
        point = LedgerPoint(standing.record.sequence, 0, standing.entry.sha)
        await self._witnesses.see(repo.id, ledger.refs.release(standing.record.branch), point)


def _told_by_runs(branch: str, runs: Iterable[GuardRun]) -> Iterator[Witness]:
    for run in runs:
        for shown in of_branch(run.external_id, branch):
            yield Witness(f"check-run {run.id}", shown.sequence, 0, shown.commit_prefix)
