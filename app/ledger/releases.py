"""The ledgers of a repository's releases, through GitHub's API: what stands, and what is put on top of it.

What must hold: nothing is believed that the service did not seal for this very release (the ownership protocol, R21);
every write is a compare-and-set against the commit a decision was made from and ends as won, lost or undecided (R8). A
record is a sealed receipt and never the proof: its source comments are read again at every use. That no ledger stands
is believed only when it shows twice, because a ref can show late.
"""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime

from app.domain.model import ZERO_SHA
from app.domain.refs import LedgerRefs
from app.domain.release_record import ReleaseRecord
from app.github.errors import NotFound, ServerError
from app.github.refs import Occupied, RefUpdate
from app.github.repository import Repository
from app.ledger.api import Undecided
from app.ledger.chain import read_chain
from app.ledger.codec import Draft, Entry, NewerSchema, Unreadable
from app.ledger.making import Maker
from app.ledger.moving import Move, Moved, Mover, Overtaken, RefusedUpdates
from app.ledger.reading import EARLIER, LOOKS, Absent, Damaged
from app.ledger.release_codec import release_draft, verify_release
from app.ledger.seals import PublicKeys, ServiceSealer
from app.ledger.verify import Tampered
from app.ledger.witness import Head

KEPT = 256
"""Judged heads in the cache: more than one for each release of a large repository."""


@dataclass(frozen=True)
class ReleaseLedgerStanding:
    """A sound ledger of a release. `earlier`: the SHAs below its head, newest first, as far as they were read."""

    entry: Entry
    record: ReleaseRecord
    earlier: tuple[str, ...] = ()

    @property
    def head(self) -> Head:
        """What is compared with the witnesses. A release has no generations."""
        rebuilt = self.record.rebuilt
        return Head(self.record.sequence, 0, rebuilt.sequence if rebuilt else 0, (self.entry.sha, *self.earlier))


ReleaseReading = ReleaseLedgerStanding | Absent | Damaged


@dataclass(frozen=True)
class ReleaseWon:
    """Our commit is in the ledger. Another may stand on it already: look again before anything is done about it."""

    standing: ReleaseLedgerStanding


@dataclass(frozen=True)
class ReleaseLost:
    """Our commit is not in the ledger and never will be. `now`: what stands instead."""

    now: ReleaseReading


@dataclass
class ReleaseCache:
    """How heads were judged, for good: a commit never changes. One deployment's, as another has other keys."""

    judged: "OrderedDict[tuple[int, str, str, str], ReleaseLedgerStanding | Damaged]" = field(
        default_factory=OrderedDict
    )
    refused: RefusedUpdates = field(default_factory=RefusedUpdates)


class ReleaseLedger:
    """The ledgers of all releases of one repository under one namespace."""

    def __init__(
        self,
        repo: Repository,
        refs: LedgerRefs,
        public_keys: PublicKeys,
        sealer: ServiceSealer,
        cache: ReleaseCache | None = None,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.refs = refs
        self._repo = repo
        self._public_keys = public_keys
        self._sealer = sealer
        self._cache = cache or ReleaseCache()
        self._maker = Maker(repo, sleep)
        self._mover = Mover(repo, self._cache.refused, sleep)

    async def branches(self) -> list[tuple[str, str]]:
        """(trunk, ledger head) of every release that has a ledger, save those whose names had to be cut."""
        values = await self._repo.matching_refs(self.refs.releases_prefix)
        found = ((self.refs.branch_of(value.name), value.sha) for value in values)
        return sorted((branch, sha) for branch, sha in found if branch is not None)

    async def head(self, branch: str) -> str | None:
        """What the release's ref points to, unjudged."""
        return await self._repo.exact_ref(self.refs.release(branch))

    async def read(self, branch: str) -> ReleaseReading:
        """The release's ledger as it stands now: one request where its head is known already, one more where not, one
        more where there is none. Raises GitHubError where GitHub does not answer.
        """
        before: Absent | Damaged | None = None
        for _ in range(LOOKS):
            found, certain = await self._look(branch)
            if certain or found == before:
                return found
            before = found if isinstance(found, Absent | Damaged) else None
        raise ServerError("the ledger's place showed something else at every look", route="git/matching-refs")

    async def write(
        self,
        branch: str,
        *,
        base: ReleaseLedgerStanding | None,
        record: ReleaseRecord,
        event: str,
        request: str | None = None,
        when: datetime,
    ) -> ReleaseWon | ReleaseLost | Undecided:
        """Put `record` on top of `base` (None: the ledger is born), or nothing. `sequence` is set here. `request`: the
        command it answers.

        A write that was carried out unheard is found in the refs; of two writers on one base one wins. Raises
        ValueError on a record of another release or one that was begun anew, NotStorable where it is too large, and
        GitHubError where nothing was moved.
        """
        sequence = base.record.sequence + 1 if base else 1
        if record.branch != branch:
            raise ValueError("the record is another release's")
        if record.rebuilt != (base.record.rebuilt if base else None):
            raise ValueError("a ledger is begun anew by `begin_anew` alone")
        record = record.model_copy(update={"sequence": sequence})
        made = self._draft(base.entry.sha if base else None, record, event, request, when)
        sha = await self._maker.create(made)
        older = frozenset((base.entry.sha, *base.earlier)) if base else frozenset()
        update = RefUpdate(self.refs.release(branch), base.entry.sha if base else ZERO_SHA, sha)
        earlier = (base.entry.sha, *base.earlier)[:EARLIER] if base else ()
        return await self._carry_out(Move((update,), sha, (update.name,), older), made, record, earlier)

    async def begin_anew(
        self, branch: str, record: ReleaseRecord, *, found: str | None, event: str, when: datetime
    ) -> ReleaseWon | ReleaseLost | Undecided:
        """Put a rebuilt record in the place of the head `found`, which was read before it was judged (None: no ledger
        stood); that is kept under `recovered/`. What `write` promises of lost answers and of two writers holds. Raises
        ValueError on a record that no person had rebuilt, and as `write` does.
        """
        if record.branch != branch or record.rebuilt is None or record.rebuilt.sequence != record.sequence:
            raise ValueError("a ledger is begun anew only by a person's word, which the record carries")
        made = self._draft(None, record, event, None, when)
        sha = await self._maker.create(made)
        here = RefUpdate(self.refs.release(branch), found or ZERO_SHA, sha, force=True)
        updates = [here]
        if found is not None:
            kept = self.refs.recovered_release(branch, found)
            if await self._repo.exact_ref(kept) is None:
                updates.append(RefUpdate(kept, ZERO_SHA, found))
        return await self._carry_out(Move(tuple(updates), sha, (here.name,), frozenset()), made, record, ())

    async def _carry_out(
        self, move: Move, made: Draft, record: ReleaseRecord, earlier: tuple[str, ...]
    ) -> ReleaseWon | ReleaseLost | Undecided:
        outcome = await self._mover.carry_out(move)
        if isinstance(outcome, Moved):
            standing = ReleaseLedgerStanding(made.entry(move.commit), record, earlier)
            self._keep(record.branch, standing.entry.sha, standing)
            return ReleaseWon(standing)
        if isinstance(outcome, Overtaken):
            return ReleaseLost(await self.read(record.branch))
        return Undecided(outcome.reason, move.commit, outcome.refused)

    def _draft(
        self, parent: str | None, record: ReleaseRecord, event: str, request: str | None, when: datetime
    ) -> Draft:
        return release_draft(
            refs=self.refs,
            parent=parent,
            record=record,
            event=event,
            repository_id=self._repo.id,
            sealer=self._sealer,
            request=request,
            when=when,
            # Makes the commit this attempt's own, so that two writers of the same words are told apart.
            nonce=secrets.token_hex(8),
        )

    async def _look(self, branch: str) -> tuple[ReleaseReading, bool]:
        """What one look shows, and whether the next cannot show something else."""
        place = await self._repo.place_of_ref(self.refs.release(branch))
        if isinstance(place, Occupied):
            reason = f"the ref {place.by} stands where the ledger belongs and has to be deleted"
            return Damaged("tampered", reason, place.by), True
        if place is None:
            return Absent(), False
        key = (self._repo.id, self.refs.namespace, branch, place.sha)
        known = self._cache.judged.get(key)
        if known is None:
            try:
                known = await self._judged(branch, place.sha)
            except NotFound:
                return Damaged("unreadable", "the ledger's ref points to no commit", place.sha), False
        self._keep(branch, place.sha, known)
        return known, True

    async def _judged(self, branch: str, sha: str) -> ReleaseLedgerStanding | Damaged:
        chain = await read_chain(self._repo, sha, lambda entry: True)
        entry = chain.entries[0]
        found = verify_release(
            entry, branch=branch, refs=self.refs, repository_id=self._repo.id, public_keys=self._public_keys
        )
        match found:
            case Tampered(reason, at_sha):
                return Damaged("tampered", reason, at_sha)
            case Unreadable(reason, where):
                return Damaged("unreadable", reason, where or sha)
            case NewerSchema(version, where):
                return Damaged("newer", f"a newer version of the App wrote it (schema {version})", where or sha)
        return ReleaseLedgerStanding(entry, found, chain.earlier[:EARLIER])

    def _keep(self, branch: str, sha: str, judged: ReleaseLedgerStanding | Damaged) -> None:
        key = (self._repo.id, self.refs.namespace, branch, sha)
        self._cache.judged[key] = judged
        self._cache.judged.move_to_end(key)
        while len(self._cache.judged) > KEPT:
            self._cache.judged.popitem(last=False)
