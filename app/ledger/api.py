"""The ledgers of one repository, read and written through GitHub's API: the service's side.

What must hold: nothing is believed that `verify` does not believe (the ownership protocol, R21); every write is a
compare-and-set against the commit a decision was made from, and ends as Won, Lost or Undecided (R8); where a ledger
lies says whether its ticket is in progress, and moving it is one atomic update (R10). A ledger commit is immutable, so
what was judged once, sound or damaged, is kept by its SHA and is not read again.
"""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from app.domain.children import listed
from app.domain.model import ZERO_SHA
from app.domain.pruning import PRUNED
from app.domain.record import TERMINAL, Record
from app.domain.refs import LedgerRefs, Place
from app.domain.ticket_id import Child, TicketId, by_number
from app.github.errors import NotFound, ServerError, Unanswered
from app.github.refs import Occupied, RefUpdate, RefValue
from app.github.repository import Repository
from app.ledger.chain import read_chain
from app.ledger.codec import RECORD_FILE, Draft, Entry, NewerSchema, Unreadable, commit_sha, draft
from app.ledger.fitting import fitted
from app.ledger.moving import Move, Moved, Mover, Overtaken, RefusedUpdates
from app.ledger.seals import LeaseSeal, PublicKeys, SecretsOfTicket, ServiceSealer
from app.ledger.verify import Misplaced, Sound, Tampered, is_newborn, place_is_sound, verify_tail

KEPT = 512
"""Judged heads in the cache."""
EARLIER = 128
"""SHAs kept of what lies below a verified tail."""
OBJECT_TRIES = 3
MOST_UNLISTED = 24
"""Ledgers of children that their ticket's record does not list, in one look: anybody with write access can make them,
and each costs a request.
"""
LOOKS = 4
"""At a ledger that shows in no place, or where it cannot be, until two of them agree."""


@dataclass(frozen=True)
class Standing:
    """A sound ledger. `entry` is its head, `tail` the holder's commits above the last service seal, `unborn` an
    unfinished birth. `entries`: the verified commits, newest first; `earlier`: the SHAs below them, as far as read.
    `children`: where the ledgers of the ticket's children were seen to stand, unjudged.
    """

    place: Place
    entry: Entry
    record: Record
    tail: int
    unborn: bool
    entries: tuple[Entry, ...]
    earlier: tuple[str, ...] = ()
    children: tuple[tuple[Child, Place, str], ...] = ()


@dataclass(frozen=True)
class Absent:
    """The ticket has no ledger in either place."""


@dataclass(frozen=True)
class Damaged:
    """There is a ledger that must not be used: somebody without the right wrote it, or this version cannot read it."""

    kind: Literal["tampered", "unreadable", "newer"]
    reason: str
    sha: str
    """The commit, or the name of a ref that stands in the ledger's place."""


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
    write the same thing before it is decided.
    """

    reason: str
    sha: str


@dataclass
class LedgerCache:
    """How commits were judged, and what was learned about places that refuse `updateRefs`. Holds no state of a ticket:
    losing it costs requests. One deployment's: another set of keys would judge differently.
    """

    judged: "OrderedDict[tuple[int, str, TicketId, str], _Verified | Damaged]" = field(default_factory=OrderedDict)
    refused: RefusedUpdates = field(default_factory=RefusedUpdates)


@dataclass(frozen=True)
class _Verified:
    sound: Sound
    entries: tuple[Entry, ...]
    earlier: tuple[str, ...]


@dataclass(frozen=True)
class _Doubtful:
    """What one look showed and the next may not show."""

    shown: Absent | Damaged


class ApiLedger:
    """All ledgers of one repository under one namespace."""

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
        self.refs = refs
        self._repo = repo
        self._public_keys = public_keys
        self._sealer = sealer
        self._lease_secrets = lease_secrets
        self._cache = cache or LedgerCache()
        self._sleep = sleep
        self._mover = Mover(repo, self._cache.refused, sleep)

    async def active_tickets(self) -> list[tuple[TicketId, str]]:
        """(ticket or child, ledger head) of everything under `active/`, by number: what start-up reads."""
        return await self._tickets("active")

    async def ended_tickets(self) -> list[tuple[TicketId, str]]:
        """The same of everything under `done/`, tombstones too: it only ever grows, so it is read rarely."""
        return await self._tickets("done")

    async def _tickets(self, place: Place) -> list[tuple[TicketId, str]]:
        values = await self._repo.matching_refs(f"{self.refs.namespace}/{place}/")
        found = [(self.refs.ticket_of(value.name), value) for value in values]
        listed = [(t, v.sha) for t, v in found if t is not None and v.name == self.refs.at(place, t)]
        return sorted(listed, key=lambda pair: by_number(pair[0]))

    async def read(self, ticket: TicketId) -> Standing | Absent | Damaged:
        """The ticket's ledger as it stands now: two requests where its head is known already, one more where not.

        A ledger can be moved between the two looks at its places, so that it shows in both or in none, and a new commit
        can show later than its ref; only what shows twice in the same way is believed of those: between two looks a
        ticket may have been born, and then each of them shows something else that never was. Raises GitHubError where
        GitHub does not answer, and where no two looks agree.
        """
        found = await self._look(ticket)
        for _ in range(LOOKS - 1):
            if not isinstance(found, _Doubtful):
                return found
            before, found = found, await self._look(ticket)
            if found == before:
                return before.shown
        if isinstance(found, _Doubtful):
            raise ServerError("the ledger's places showed something else at every look", route="git/matching-refs")
        return found

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
        sha = await self._create(made)
        move = Move(
            updates=(*self._updates(ticket, base, to, sha), *also, *_kept(kept_at, sha)),
            commit=sha,
            ledgers=(self.refs.active(ticket), self.refs.done(ticket)),
            older=frozenset((base.entry.sha, *(e.sha for e in base.entries), *base.earlier)) if base else frozenset(),
        )
        return await self._carry_out(move, made, record, base, to)

    async def heads(self, ticket: TicketId) -> dict[str, str]:
        """What the ticket's refs point to, unjudged: full name → SHA of those that stand."""
        names = (self.refs.active(ticket), self.refs.done(ticket))
        return {name: found for name in names if (found := await self._repo.exact_ref(name)) is not None}

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
        sha = await self._create(made)
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
        sha = await self._create(made)
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
        return Undecided(outcome.reason, move.commit)

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
        return self._updates(ticket, base, to, await self._create(made))

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

    async def _create(self, made: Draft) -> str:
        """Make the objects. They entitle nobody to anything, so an unheard answer is simply asked for again."""
        for number in range(OBJECT_TRIES):
            try:
                tree = await self._repo.create_tree({RECORD_FILE: made.record_text})
                if tree != made.tree:
                    raise ServerError("GitHub stored another tree than was sent", route="git/trees")
                return await self._repo.create_commit(tree, made.parents, made.message, made.when)
            except Unanswered:
                if number == OBJECT_TRIES - 1:
                    raise
                await self._sleep(0.5 * 2.0**number)
        raise AssertionError("the loop above returns or raises")

    def _standing_of(
        self, ticket: TicketId, entry: Entry, record: Record, base: Standing | None, to: Place
    ) -> Standing:
        below = (*(e.sha for e in base.entries), *base.earlier)[:EARLIER] if base else ()
        known = _Verified(Sound(entry, record, 0, 0), (entry,), below)
        self._keep(ticket, entry.sha, known)
        children = base.children if base else ()
        return replace(_standing(known, to, unborn=is_newborn(entry)), children=children)

    async def _look(self, ticket: TicketId) -> Standing | Damaged | _Doubtful:
        names = (self.refs.active(ticket), self.refs.done(ticket))
        seen = await asyncio.gather(*(self._repo.place_and_branches_of_ref(name) for name in names))
        occupied = next((place for place, _ in seen if isinstance(place, Occupied)), None)
        if occupied is not None:
            reason = f"the ref {occupied.by} stands where the ledger belongs and has to be deleted"
            return Damaged("tampered", reason, occupied.by)
        active, done = (place.sha if isinstance(place, RefValue) else None for place, _ in seen)
        found = await self._judged_places(ticket, active, done)
        if not isinstance(found, Standing):
            return found
        places: tuple[Place, Place] = ("active", "done")
        below = [
            (self.refs.ticket_of(v.name), place, v.sha) for place, (_, vs) in zip(places, seen, strict=True) for v in vs
        ]
        return replace(found, children=tuple((c, place, sha) for c, place, sha in below if isinstance(c, Child)))

    async def children(self, standing: Standing) -> dict[str, Standing | Absent | Damaged]:
        """The ledgers of a ticket's children by name, as they stood when the ticket's was read: of all that its record
        lists, and of the first few others.
        """
        heads: dict[Child, dict[Place, str]] = {}
        for child, place, sha in standing.children:
            heads.setdefault(child, {})[place] = sha
        names = {entry.name for entry in listed(standing.record)}
        for stranger in sorted(child for child in heads if child.name not in names)[MOST_UNLISTED:]:
            del heads[stranger]
        judged = await asyncio.gather(*(self._child(child, at) for child, at in heads.items()))
        return {child.name: found for child, found in zip(heads, judged, strict=True)}

    async def at(self, ticket: TicketId, sha: str) -> Standing | Damaged:
        """A ledger as it would stand with this commit as its head. Raises NotFound where that is no commit."""
        verified = await self._verified(ticket, sha)
        return verified if isinstance(verified, Damaged) else _standing(verified, "active", False)

    async def _child(self, child: Child, at: Mapping[Place, str]) -> Standing | Absent | Damaged:
        found = await self._judged_places(child, at.get("active"), at.get("done"))
        # The two places were not read at one moment: a look of its own tells what that was.
        return await self.read(child) if isinstance(found, _Doubtful) else found

    async def _judged_places(
        self, ticket: TicketId, active: str | None, done: str | None
    ) -> Standing | Damaged | _Doubtful:
        found: dict[str, _Verified] = {}
        for sha in dict.fromkeys(sha for sha in (active, done) if sha is not None):
            try:
                verified = await self._verified(ticket, sha)
            except NotFound:
                return _Doubtful(Damaged("unreadable", "the ledger's ref points to no commit", sha))
            if isinstance(verified, Damaged):
                return verified
            found[sha] = verified
        placed = place_is_sound(
            found[active].sound.head if active else None,
            found[done].sound.head if done else None,
        )
        if isinstance(placed, Misplaced):
            return _Doubtful(Damaged("tampered", placed.reason, placed.at_sha))
        head = active or done
        if placed.place is None or head is None:
            return _Doubtful(Absent())
        return _standing(found[head], placed.place, placed.unborn)

    async def _verified(self, ticket: TicketId, sha: str) -> _Verified | Damaged:
        """How the chain from this head is judged. Raises NotFound where it is no commit."""
        known = self._cache.judged.get(self._key(ticket, sha))
        if known is None:
            known = await self._judged(ticket, sha)
        self._keep(ticket, sha, known)
        return known

    async def _judged(self, ticket: TicketId, sha: str) -> _Verified | Damaged:
        chain = await read_chain(self._repo, sha, _decides)
        if chain.is_cut:
            return Damaged("unreadable", "the chain is too long without a service seal", sha)
        judged = verify_tail(
            chain.entries,
            ticket=ticket,
            refs=self.refs,
            repository_id=self._repo.id,
            public_keys=self._public_keys,
            lease_secrets=self._lease_secrets(ticket),
        )
        match judged:
            case Tampered(reason, at_sha):
                return Damaged("tampered", reason, at_sha)
            case Unreadable(reason, where):
                return Damaged("unreadable", reason, where or sha)
            case NewerSchema(version, where):
                reason = f"a newer version of the App wrote it (schema {version})"
                return Damaged("newer", reason, where or sha)
        if judged.unchecked:
            return Damaged("unreadable", "its holder sealed under a lease key this service does not have any more", sha)
        return _Verified(judged, chain.entries, chain.earlier[:EARLIER])

    def _keep(self, ticket: TicketId, sha: str, judged: _Verified | Damaged) -> None:
        key = self._key(ticket, sha)
        self._cache.judged[key] = judged
        self._cache.judged.move_to_end(key)
        while len(self._cache.judged) > KEPT:
            self._cache.judged.popitem(last=False)

    def _key(self, ticket: TicketId, sha: str) -> tuple[int, str, TicketId, str]:
        return self._repo.id, self.refs.namespace, ticket, sha


def _decides(entry: Entry) -> bool:
    """Whether nothing below this commit matters: the service sealed it, or no holder's honest commit is like that."""
    return not isinstance(entry.seal, LeaseSeal) or not isinstance(entry.record, Record)


def _kept(at: RefValue | None, commit: str) -> tuple[RefUpdate, ...]:
    return () if at is None else (RefUpdate(at.name, at.sha, commit, force=True),)


def _standing(verified: _Verified, place: Place, unborn: bool) -> Standing:
    sound = verified.sound
    return Standing(place, sound.head, sound.record, sound.tail, unborn, verified.entries, verified.earlier)
