"""Journaling of releases: the one place where the controller writes release ledgers.

Every write is a compare-and-set against the ledger commit that the decision was made from. What if it happened and we
did not hear: the ledger's `write` reads the ref and says won, lost or undecided (the ownership protocol, R8). What if
two of us do it: one wins, the other decides afresh.
"""

import time
from dataclasses import dataclass, replace

from app.controller.journal import FRESH_S, record_full
from app.controller.release_looks import ReleaseView
from app.controller.release_witnessing import ReleaseWitnessing
from app.domain.outcome import Refused
from app.domain.release_record import ReleaseRecord
from app.ledger.api import Undecided
from app.ledger.codec import NotStorable
from app.ledger.releases import ReleaseLedgerStanding, ReleaseLost, ReleaseWon


@dataclass(frozen=True)
class Noted:
    """Our commit is in the ledger; `view` is the same look upon it. `since`: the local monotonic moment at which it was
    sent.
    """

    view: ReleaseView
    since: float

    @property
    def is_fresh(self) -> bool:
        return time.monotonic() - self.since < FRESH_S


class ReleaseJournal:
    """Writes release records, and lets the witness table see each one."""

    def __init__(self, witnessing: ReleaseWitnessing) -> None:
        self._witnessing = witnessing

    async def write(
        self, view: ReleaseView, record: ReleaseRecord, event: str, *, request: str | None = None
    ) -> Noted | ReleaseLost | Undecided:
        """Put `record` on top of what the view shows; the ledger is born where it shows none. Raises Refused where the
        record is too large, GitHubError where nothing was written.
        """
        if view.standing is None and record.begun_at is None:
            record = record.model_copy(update={"begun_at": view.now})
        began = time.monotonic()
        try:
            outcome = await view.ledger.write(
                view.branch, base=view.standing, record=record, event=event, request=request, when=view.now
            )
        except NotStorable as full:
            raise Refused(record_full(full)) from full
        if not isinstance(outcome, ReleaseWon):
            return outcome
        await self._witnessing.saw(view.repo, view.ledger, outcome.standing)
        return Noted(replace(view, standing=outcome.standing), began)


def is_ours_below(mine: ReleaseLedgerStanding, now: ReleaseLedgerStanding) -> bool:
    """Whether what stands now was built on our commit."""
    return mine.entry.sha in (now.entry.sha, *now.earlier)
