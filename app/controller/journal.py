"""Journaling: the one place where the controller writes ledgers.

Every write is a compare-and-set against the ledger commit that the decision was made from. What if it happened and we
did not hear: the ledger's `write` reads the refs and says Won, Lost or Undecided (the ownership protocol, R8). What if
two of us do it: one wins, the other is Lost and decides afresh. What if our lease is gone: then the head has moved.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from app.controller.view import View
from app.controller.witnessing import Witnessing
from app.domain.checkpoint_gap import saved, shows_a_push
from app.domain.model import Instant
from app.domain.outcome import Blocked, Code, Refused
from app.domain.policy import Policy
from app.domain.progress import alive
from app.domain.pruning import tombstone
from app.domain.record import Record
from app.domain.refs import Place
from app.github.refs import RefUpdate, RefValue
from app.ledger.api import Lost, Undecided, Won
from app.ledger.codec import NotStorable
from app.ledger.reading import Standing

FRESH_S = 5.0
"""How long a won compare-and-set is taken as the present head without reading it again (narrows R4's window)."""


@dataclass(frozen=True)
class Journaled:
    """Our commit is in the ledger; `since` is the local monotonic moment at which it was sent: it stood there
    no earlier, and a process that sleeps afterwards does not take it for fresh.
    """

    standing: Standing
    since: float

    @property
    def is_fresh(self) -> bool:
        return time.monotonic() - self.since < FRESH_S


class Journal:
    """Writes records, and lets the witness table see each one."""

    def __init__(self, witnessing: Witnessing) -> None:
        self._witnessing = witnessing

    async def write(
        self,
        view: View,
        base: Standing | None,
        record: Record,
        event: str,
        *,
        when: Instant,
        also: Sequence[RefUpdate] = (),
        kept_at: RefValue | None = None,
        request: str | None = None,
        to: Place = "active",
    ) -> Journaled | Lost | Undecided:
        """Put `record` on top of `base` under the place `to`. `record.sequence` is set here, and what the holder pushed
        since our last commit is noted as saved; `also` are other refs that move in the same update, `kept_at` one that
        comes to point to the new commit. The published commit becomes the second parent, so it stays reachable. Raises
        Refused where the record is too large even after everything that may be left out was left out.
        """
        sequence = base.record.sequence + 1 if base else 1
        if base is not None and shows_a_push(base.record, base.tail):
            record = saved(record, now=when)
            if record.identity == base.record.identity:
                # Seen now: noted along, so that no later look takes the same push for a new sign of life.
                record = alive(record, ttl=(view.usable_policy or Policy()).lease.ttl, now=when)
        published = record.published.sha if record.published else None
        began = time.monotonic()
        try:
            outcome = await view.ledger.write(
                view.ticket,
                base=base,
                record=record.model_copy(update={"sequence": sequence}),
                event=event,
                code_parent=published if base else None,
                also=also,
                kept_at=kept_at,
                request=request,
                to=to,
                when=when,
            )
        except NotStorable as full:
            raise Refused(record_full(full)) from full
        if not isinstance(outcome, Won):
            return outcome
        await self._witnessing.saw(view.repo, view.ledger, outcome.standing)
        return Journaled(outcome.standing, began)

    async def prune(self, view: View, base: Standing, *, when: Instant) -> Journaled | Lost | Undecided:
        """Put a tombstone in the place of an ended ticket's ledger. Raises ValueError where it has not ended."""
        began = time.monotonic()
        outcome = await view.ledger.prune(base, tombstone(base.record, now=when), when=when)
        if not isinstance(outcome, Won):
            return outcome
        await self._witnessing.saw(view.repo, view.ledger, outcome.standing)
        return Journaled(outcome.standing, began)


def record_full(problem: NotStorable) -> Blocked:
    """Why a record cannot be written even after everything that may be left out was left out."""
    reason, remedy = f"the ticket's record cannot be written: {problem}", "a person has to look at its ledger"
    return Blocked(Code.RECORD_FULL, reason, remedy)
