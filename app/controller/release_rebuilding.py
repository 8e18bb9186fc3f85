"""Beginning a release's ledger anew where what stands in its place is not trusted: only a person has that done.

Nothing of the old one is kept: every authorization is to be given anew, and what was merged before is told of no more.
What if it happened and we did not hear: the refs say so. What if two of us do it: one update is won.
"""

import structlog

from app.controller.release_looks import ReleaseLooks, ReleaseView
from app.controller.release_witnessing import ReleaseWitnessing
from app.domain.outcome import Blocked, Code, Refused
from app.domain.record import Rebuilt
from app.domain.release_record import ReleaseRecord, begun
from app.ledger.api import Undecided
from app.ledger.reading import Damaged
from app.ledger.releases import ReleaseWon

log = structlog.get_logger()


class ReleaseRebuilding:
    """Begins frozen ledgers of releases anew."""

    def __init__(self, looks: ReleaseLooks, witnessing: ReleaseWitnessing) -> None:
        self._looks = looks
        self._witnessing = witnessing

    async def rebuild(self, owner: str, name: str, branch: str, *, by: str, dry_run: bool = False) -> ReleaseRecord:
        """Replace a frozen ledger, in the name of the person `by`. With `dry_run` nothing is written. Raises Refused
        with what stands in the way, and GitHubError.
        """
        place = await self._looks.place(owner, name)
        if place.usable is None:
            reason = "the repository's policy allows no writes"
            raise Refused(Blocked(Code.MODE_OBSERVE, reason, "set mode: repair in .github/agent-recovery.yml"))
        # Before it is judged: what is replaced is exactly this, and nothing that came since.
        found = await self._looks.ledger(place.repo, place.usable).head(branch)
        view = await self._looks.look(place, branch)
        if isinstance(view, str):
            raise Refused(Blocked(Code.NOT_FOUND, view, "name a trunk of the policy"))
        if view.frozen is None:
            reason = "the release's ledger is sound: nothing has to be begun anew"
            raise Refused(Blocked(Code.USAGE, reason, "nothing is to be done"))
        reading = await view.ledger.read(branch)
        if isinstance(reading, Damaged) and reading.kind == "newer":
            raise Refused(Blocked(Code.FROZEN, reading.reason, "update the service: a newer one can read it"))
        record = await self._record(view, by)
        if not dry_run:
            await self._write(view, record, found)
        return record

    async def _record(self, view: ReleaseView, by: str) -> ReleaseRecord:
        known = await self._witnessing.witnesses(view.repo, view.ledger, view.branch, view.observation.guard_runs)
        sequence = max((one.sequence for one in known), default=0) + 1
        rebuilt = Rebuilt(by=by, at=view.now, sequence=sequence)
        fresh = begun(view.branch, view.observation.into_name)
        return fresh.model_copy(update={"sequence": sequence, "rebuilt": rebuilt, "begun_at": view.now})

    async def _write(self, view: ReleaseView, record: ReleaseRecord, found: str | None) -> None:
        outcome = await view.ledger.begin_anew(view.branch, record, found=found, event="rebuilt", when=view.now)
        if isinstance(outcome, ReleaseWon):
            log.info("release ledger begun anew", release=view.branch, by=record.rebuilt and record.rebuilt.by)
            await self._witnessing.saw(view.repo, view.ledger, outcome.standing)
            return
        if isinstance(outcome, Undecided):
            reason = f"GitHub does not say whether it was written: {outcome.reason}"
            raise Refused(Blocked(Code.UNKNOWN_OUTCOME, reason, "run the same command again", retryable=True))
        words = "the ref moved meanwhile"
        raise Refused(Blocked(Code.LOST_RACE, words, "look again, then run it again", retryable=True))
