"""Reading the ledgers of one repository through GitHub's API: what stands, and whether it may be believed.

Nothing is believed that `verify` does not believe (the ownership protocol, R21). A ledger commit is immutable, so what
was judged once, sound or damaged, is kept by its SHA and is not read again.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from app.domain.children import listed
from app.domain.record import Record
from app.domain.refs import LedgerRefs, Place
from app.domain.ticket_id import Child, TicketId, by_number
from app.github.errors import NotFound, ServerError
from app.github.refs import Occupied, RefValue, placed
from app.github.repository import Repository
from app.ledger.chain import read_chain
from app.ledger.codec import Entry, NewerSchema, Unreadable
from app.ledger.moving import RefusedUpdates
from app.ledger.seals import LeaseSeal, PublicKeys, SecretsOfTicket
from app.ledger.verify import Misplaced, Sound, Tampered, is_newborn, place_is_sound, verify_tail

KEPT = 2048
"""Judged heads in the cache: more than one for each ticket in progress of a large repository."""
EARLIER = 128
"""SHAs kept of what lies below a verified tail."""
MOST_UNLISTED = 24
"""Ledgers of children that their ticket's record does not list, in one look: anybody with write access can make them,
and each costs a request.
"""
LOOKS = 5
"""At a ledger that shows in no place, or where it cannot be, until enough of them in a row agree."""


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

    @property
    def enough(self) -> int:
        """How many looks in a row have to show it. A first commit shows under `active/` alone in a look that its birth
        falls into, and in one that the first claim falls into: two such looks agree, and both are wrong.
        """
        return 2 if isinstance(self.shown, Absent) else 3


class LedgerReader:
    """All ledgers of one repository under one namespace, as they stand."""

    def __init__(
        self,
        repo: Repository,
        refs: LedgerRefs,
        public_keys: PublicKeys,
        lease_secrets: SecretsOfTicket,
        cache: LedgerCache | None = None,
    ) -> None:
        self.refs = refs
        self._repo = repo
        self._public_keys = public_keys
        self._lease_secrets = lease_secrets
        self._cache = cache or LedgerCache()

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

    async def read(self, ticket: TicketId, seen: Sequence[RefValue] | None = None) -> Standing | Absent | Damaged:
        """The ticket's ledger as it stands now: two requests where its head is known already, one more where not.
        `seen`: all refs that begin with the ticket's names, where they were read a moment ago; then two less.

        A ledger can be moved between the two looks at its places, so that it shows in both or in none, and a new commit
        can show later than its ref; only what shows again in the same way is believed of those, because each look may
        show something else that never was. Raises GitHubError where GitHub does not answer, and where not enough looks
        agree.
        """
        found, alike = await (self._look(ticket) if seen is None else self._seen(ticket, seen)), 1
        for _ in range(LOOKS - 1):
            if not isinstance(found, _Doubtful):
                return found
            before, found = found, await self._look(ticket)
            alike = alike + 1 if found == before else 1
            if isinstance(found, _Doubtful) and alike >= found.enough:
                return found.shown
        if isinstance(found, _Doubtful):
            raise ServerError("the ledger's places showed something else at every look", route="git/matching-refs")
        return found

    async def heads(self, ticket: TicketId) -> dict[str, str]:
        """What the ticket's refs point to, unjudged: full name → SHA of those that stand."""
        names = (self.refs.active(ticket), self.refs.done(ticket))
        return {name: found for name in names if (found := await self._repo.exact_ref(name)) is not None}

    def _standing_of(
        self, ticket: TicketId, entry: Entry, record: Record, base: Standing | None, to: Place
    ) -> Standing:
        below = (*(e.sha for e in base.entries), *base.earlier)[:EARLIER] if base else ()
        known = _Verified(Sound(entry, record, 0, 0), (entry,), below)
        self._keep(ticket, entry.sha, known)
        children = base.children if base else ()
        return replace(_standing(known, to, unborn=is_newborn(entry)), children=children)

    async def _look(self, ticket: TicketId) -> Standing | Damaged | _Doubtful:
        seen = await asyncio.gather(*(self._repo.place_and_branches_of_ref(name) for name in self._names(ticket)))
        return await self._at_places(ticket, seen)

    async def _seen(self, ticket: TicketId, values: Sequence[RefValue]) -> Standing | Damaged | _Doubtful:
        return await self._at_places(ticket, [placed(name, values) for name in self._names(ticket)])

    def _names(self, ticket: TicketId) -> tuple[str, str]:
        return self.refs.active(ticket), self.refs.done(ticket)

    async def _at_places(
        self, ticket: TicketId, seen: Sequence[tuple[RefValue | Occupied | None, tuple[RefValue, ...]]]
    ) -> Standing | Damaged | _Doubtful:
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


def _standing(verified: _Verified, place: Place, unborn: bool) -> Standing:
    sound = verified.sound
    return Standing(place, sound.head, sound.record, sound.tail, unborn, verified.entries, verified.earlier)
