"""The ledgers of one repository, written through GitHub's API: the service's side; `reading` says what stands.

What must hold: every write is a compare-and-set against the commit a decision was made from, and ends as Won, Lost or
Undecided (the ownership protocol, R8); where a ledger lies says whether its ticket is in progress, and moving it is one
atomic update (R10).
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from app.domain.model import ZERO_SHA
from app.domain.pruning import PRUNED
from app.domain.record import TERMINAL, Record
from app.domain.refs import LedgerRefs, Place
from app.domain.ticket_id import TicketId
from app.github.refs import RefUpdate, RefValue
from app.github.repository import Repository
from app.ledger.codec import Draft, Entry, commit_sha, draft
from app.ledger.fitting import fitted
from app.ledger.making import Maker
from app.ledger.moving import Move, Moved, Mover, Overtaken
from app.ledger.reading import Absent, Damaged, LedgerCache, LedgerReader, Standing
from app.ledger.seals import PublicKeys, SecretsOfTicket, ServiceSealer


@dataclass(frozen=True)
class Won:
    """Our commit is in the ledger. That is not being current: somebody may have built on it already."""

    standing: Standing

    @property
    def entry(self) -> Entry:
        return self.standing.entry


@dataclass(frozen=True)
class Lost:
    """Our commit is not in the ledger and never will be. `now`: what stands instead; `elsewhere`: the refs of the
    update that were not where we had seen them.
    """

    now: Standing | Absent | Damaged
    elsewhere: tuple[str, ...]


@dataclass(frozen=True)
class Undecided:
    """Nobody can say yet whether the commit `sha` will be in the ledger: shown, and never followed by another try to
    write the same thing before it is decided. `refused`: it is decided; GitHub refuses the update as a whole, in the
    words of `reason`, and nothing of it is under way.
    """

    reason: str
    sha: str
    refused: bool = False


class ApiLedger(LedgerReader):
    """All ledgers of one repository under one namespace, to be read and written."""

    def __init__(
        self,
        repo: Repository,
        refs: LedgerRefs,
        public_keys: PublicKeys,
        sealer: ServiceSealer,
        lease_secrets: SecretsOfTicket,
        cache: LedgerCache | None = None,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__(repo, refs, public_keys, lease_secrets, cache)
        self._sealer = sealer
        self._maker = Maker(repo, sleep)
        self._mover = Mover(repo, self._cache.refused, sleep)

    async def write(
        self,
        ticket: TicketId,
        *,
        base: Standing | None,
        record: Record,
        event: str,
        to: Place = "active",
        code_parent: str | None = None,
        also: Sequence[RefUpdate] = (),
        kept_at: RefValue | None = None,
        request: str | None = None,
        when: datetime,
    ) -> Won | Lost | Undecided:
        """Put `record` on top of `base`, under the place `to`, together with the refs in `also`, or nothing of it.
        `kept_at`: a ref, and what it points to now, that comes to point to the new commit as well.

        `base` None is a birth: the first commit, without a holder, stands under both places until the next write on it
        takes the second away. Another place than the base's is a move. A write that was carried out unheard is found
        in the refs; of two writers on one base one wins; where a lease is gone the head has moved, and so this is Lost.

        What a holder filled the record with is shortened until it can be stored (`fitted`). Raises ValueError where
        record, base and place do not fit, NotStorable where even what the service keeps is too large, and GitHubError
        where nothing was moved.
        """
        self._must_fit(ticket, base, record, to)
        record = fitted(record, request)
        made = self._draft(base, record, event, to=to, code_parent=code_parent, request=request, when=when)
        sha = await self._maker.create(made)
        move = Move(
            updates=(*self._updates(ticket, base, to, sha), *also, *_kept(kept_at, sha)),
            commit=sha,
            ledgers=(self.refs.active(ticket), self.refs.done(ticket)),
            older=frozenset((base.entry.sha, *(e.sha for e in base.entries), *base.earlier)) if base else frozenset(),
        )
        return await self._carry_out(move, made, record, base, to)

    async def begin_anew(
        self, ticket: TicketId, record: Record, *, heads: Mapping[str, str], event: str, when: datetime
    ) -> Won | Lost | Undecided:
        """Put a rebuilt record in the place of `heads`, which were read before they were judged, in one update from
        exactly these; they are kept under `recovered/`. What `write` promises of lost answers and of two writers holds.
        Raises ValueError on a record that nobody rebuilt, and as `write` does.
        """
        if record.rebuilt is None:
            raise ValueError("a ledger is begun anew only by a person's word, which the record carries")
        record = fitted(record)
        to: Place = "done" if record.status in TERMINAL else "active"
        made = self._draft(None, record, event, to=to, code_parent=None, request=None, when=when)
        sha = await self._maker.create(made)
        here = self.refs.at(to, ticket)
        updates = [RefUpdate(here, heads.get(here, ZERO_SHA), sha, force=True)]
        updates += [RefUpdate(name, found, ZERO_SHA) for name, found in heads.items() if name != here]
        for found in sorted(set(heads.values())):
            kept = self.refs.recovered(ticket, found)
            if await self._repo.exact_ref(kept) is None:
                updates.append(RefUpdate(kept, ZERO_SHA, found))
        move = Move(tuple(updates), sha, (self.refs.active(ticket), self.refs.done(ticket)), frozenset())
        return await self._carry_out(move, made, record, None, to)

    async def prune(self, base: Standing, record: Record, *, when: datetime) -> Won | Lost | Undecided:
        """Put a tombstone in the place of an ended ticket's ledger, from exactly its head. What `write` promises of
        lost answers and of two writers holds. Raises ValueError on a record that is no tombstone of `base`, and as
        `write` does.
        """
        ticket, done = record.ticket_id, self.refs.done(record.ticket_id)
        if base.place != "done" or record.pruned is None or record.sequence != base.record.sequence + 1:
            raise ValueError("a tombstone follows the ledger of an ended ticket")
        made = self._draft(None, record, PRUNED, to="done", code_parent=None, request=None, when=when)
        sha = await self._maker.create(made)
        older = frozenset((*(e.sha for e in base.entries), *base.earlier))
        update = RefUpdate(done, base.entry.sha, sha, force=True)
        move = Move((update,), sha, (self.refs.active(ticket), done), older)
        return await self._carry_out(move, made, record, None, "done")

    async def _carry_out(
        self, move: Move, made: Draft, record: Record, base: Standing | None, to: Place
    ) -> Won | Lost | Undecided:
        outcome = await self._mover.carry_out(move)
        if isinstance(outcome, Moved):
            return Won(self._standing_of(record.ticket_id, made.entry(move.commit), record, base, to))
        if isinstance(outcome, Overtaken):
            return Lost(await self.read(record.ticket_id), outcome.elsewhere)
        return Undecided(outcome.reason, move.commit, outcome.refused)

    def drafted(
        self, base: Standing, record: Record, event: str, *, code_parent: str | None, when: datetime
    ) -> tuple[Draft, str]:
        """The sealed commit that puts `record` on top of an active ledger, and its id, for a push that carries it: its
        objects and its command. `sequence` is set here. Nothing is sent. Raises as `write` does.
        """
        record = fitted(record.model_copy(update={"sequence": base.record.sequence + 1}))
        self._must_fit(record.ticket_id, base, record, "active")
        made = self._draft(base, record, event, to="active", code_parent=code_parent, request=None, when=when)
        return made, commit_sha(made)

    def accepted(self, base: Standing, entry: Entry) -> Standing:
        """How the ledger stands once a push carried a drafted commit. Raises ValueError on a commit that is none."""
        record = entry.record
        if not isinstance(record, Record):
            raise ValueError("only what was drafted here is believed without being read")
        return self._standing_of(record.ticket_id, entry, record, base, "active")

    def _draft(
        self,
        base: Standing | None,
        record: Record,
        event: str,
        *,
        to: Place,
        code_parent: str | None,
        request: str | None,
        when: datetime,
    ) -> Draft:
        return draft(
            ref=self.refs.at(to, record.ticket_id),
            parent=base.entry.sha if base else None,
            code_parent=code_parent,
            record=record,
            event=event,
            repository_id=self._repo.id,
            sealer=self._sealer,
            request=request,
            when=when,
            nonce=secrets.token_hex(8),
        )

    async def beside(
        self, base: Standing | None, record: Record, event: str, *, to: Place = "active", when: datetime
    ) -> tuple[RefUpdate, ...]:
        """The commands of a write on another ledger, to be sent in one update with this write: a child's with its
        parent's (the ownership protocol, R19). `sequence` is set here. Its commit is made; nothing is moved. Raises as
        `write` does.
        """
        record = fitted(record.model_copy(update={"sequence": base.record.sequence + 1 if base else 1}))
        ticket = record.ticket_id
        self._must_fit(ticket, base, record, to)
        published = record.published.sha if record.published and base else None
        made = self._draft(base, record, event, to=to, code_parent=published, request=None, when=when)
        return self._updates(ticket, base, to, await self._maker.create(made))

    def _must_fit(self, ticket: TicketId, base: Standing | None, record: Record, to: Place) -> None:
        if record.ticket_id != ticket:
            raise ValueError("the record is another ticket's")
        if (record.status in TERMINAL) != (to == "done"):
            raise ValueError(f"a record that is {record.status} does not belong under {to}")
        if base is None:
            if record.status != "unclaimed" or record.generation or record.lease:
                raise ValueError("a ledger is born without a holder, in generation 0")
        elif record.sequence != base.record.sequence + 1 or record.generation < base.record.generation:
            raise ValueError("a record follows its base: sequence + 1, generation never less")

    def _updates(self, ticket: TicketId, base: Standing | None, to: Place, sha: str) -> tuple[RefUpdate, ...]:
        """The commands of a write; none of them changes nothing (the ownership protocol, R10)."""
        active, done = self.refs.active(ticket), self.refs.done(ticket)
        here, there = (active, done) if to == "active" else (done, active)
        if base is None:
            return RefUpdate(active, ZERO_SHA, sha), RefUpdate(done, ZERO_SHA, sha)
        head = base.entry.sha
        if base.unborn:
            return RefUpdate(here, head, sha), RefUpdate(there, head, ZERO_SHA)
        if base.place == to:
            return (RefUpdate(here, head, sha),)
        return RefUpdate(there, head, ZERO_SHA), RefUpdate(here, ZERO_SHA, sha)


def _kept(at: RefValue | None, commit: str) -> tuple[RefUpdate, ...]:
    return () if at is None else (RefUpdate(at.name, at.sha, commit, force=True),)
