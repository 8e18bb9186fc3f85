"""Whether a ledger may be believed: every commit since the last service seal is checked before a record is used.

Refs can be moved by anybody with write access; what stands in a ledger counts only through its seals (the ownership
protocol, R21, R20). A ledger that fails here is reported and frozen, never resumed and never repaired by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.pruning import PRUNED
from app.domain.record import TERMINAL, Record
from app.domain.refs import LedgerRefs, Place
from app.domain.ticket_id import TicketId
from app.ledger.agent_commits import breach
from app.ledger.codec import Entry, NewerSchema, Unreadable, tree_sha
from app.ledger.seals import (
    LeaseSeal,
    LeaseSecrets,
    PublicKeys,
    ServiceSeal,
    lease_seal_matches,
    seal_preimage,
    split_message,
)


@dataclass(frozen=True)
class Sound:
    """The head may be used. `tail`: holder's commits above the last service seal; `unchecked`: those among them whose
    seal could not be checked here (only the service can check another's lease seal, and only while it has the key).
    """

    head: Entry
    record: Record
    tail: int
    unchecked: int


@dataclass(frozen=True)
class Tampered:
    """Somebody without the right to wrote this; `at_sha` is the first commit that cannot be."""

    reason: str
    at_sha: str


@dataclass(frozen=True)
class Placed:
    """Where a ticket's ledger lies. `unborn`: the same first commit stands in both places; anyone may finish that."""

    place: Place | None
    unborn: bool = False


@dataclass(frozen=True)
class Misplaced:
    """The two places contradict each other or the record."""

    reason: str
    at_sha: str


def verify_tail(
    entries: Sequence[Entry],
    *,
    ticket: TicketId,
    refs: LedgerRefs,
    repository_id: int,
    public_keys: PublicKeys,
    lease_secrets: LeaseSecrets | None,
) -> Sound | Tampered | Unreadable | NewerSchema:
    """Judges a ledger by its commits, newest first, down to and including the last one with a service seal.

    A commit is sealed for the ref it was written to, so the service's may carry the active or the done ref of the
    ticket; a holder writes under the active one only. `lease_secrets` None: holders' seals cannot be checked here;
    everything else about their commits still is. Never raises on hostile input.
    """
    if not entries:
        return Unreadable("the ledger has no commit")
    tail: list[tuple[Entry, Record]] = []
    unchecked = 0
    for entry in entries:
        record = _coherent(entry, ticket)
        if not isinstance(record, Record):
            return record
        if tail and (broken := _link(tail[-1], entry, record)):
            return broken
        seal = entry.seal
        if isinstance(seal, ServiceSeal):
            if alone := _root(entry, record):
                return alone
            if bad := service_seal_breach(
                entry, seal, (refs.active(ticket), refs.done(ticket)), repository_id, public_keys
            ):
                return bad
            return Sound(entries[0], tail[0][1] if tail else record, len(tail), unchecked)
        if not isinstance(seal, LeaseSeal):
            return Tampered("the commit carries no seal", entry.sha)
        if record.identity != seal.identity:
            return Tampered("the commit is sealed by another lease than its record's", entry.sha)
        secret = lease_secrets(seal) if lease_secrets else None
        if secret is None:
            unchecked += 1
        elif not lease_seal_matches(seal, _preimage(entry, repository_id, refs.active(ticket)), secret):
            return Tampered("the holder's seal does not fit the commit", entry.sha)
        tail.append((entry, record))
    return Tampered("the chain ends without a commit sealed by the service", entries[-1].sha)


def place_is_sound(active: Entry | None, done: Entry | None) -> Placed | Misplaced:
    """Whether a ticket's two refs and their records agree: under `done/` stand ended tickets only, under `active/`
    none, and both at once during a birth and only then. Both entries are verified ones.

    A first commit that shows under `active/` alone was seen before its birth in one place and after it in the other: a
    claim built on that would leave `done/` behind, and the ledger in two places for good (the ownership protocol, R10).
    """
    newborn = active is not None and is_newborn(active)
    if active is not None and done is not None:
        if active.sha == done.sha and newborn:
            return Placed("active", unborn=True)
        return Misplaced("the ticket's ledger stands under active and under done at once", active.sha)
    entry = active or done
    if entry is None:
        return Placed(None)
    if newborn:
        return Misplaced("the ticket's first commit stands under active but not under done", entry.sha)
    record = entry.record
    ended = isinstance(record, Record) and record.status in TERMINAL
    if active is not None:
        return Misplaced("an ended ticket stands under active", entry.sha) if ended else Placed("active")
    return Placed("done") if ended else Misplaced("a ticket that has not ended stands under done", entry.sha)


def is_newborn(entry: Entry) -> bool:
    """Whether a ledger begins with this commit in both places, and no write above it has taken one away yet."""
    record = entry.record
    # A rebuilt ledger begins anew too, but in one place: another stood there before.
    return entry.parent is None and isinstance(record, Record) and record.status == "unclaimed" and not record.rebuilt


def _coherent(entry: Entry, ticket: TicketId) -> Record | Tampered | Unreadable | NewerSchema:
    """The entry's record, if commit, tree, trailers and record speak of the same thing."""
    record = entry.record
    if not isinstance(record, Record):
        return record
    if entry.surplus_parents:
        return Tampered("the commit has more than two parents", entry.sha)
    if entry.record_text is None or tree_sha(entry.record_text) != entry.tree:
        return Tampered("the commit's tree holds something beside its record", entry.sha)
    if record.ticket_id != ticket:
        return Tampered("the record is another ticket's", entry.sha)
    if record.lease is not None and record.lease.generation != record.generation:
        return Tampered("the record names two generations", entry.sha)
    said = {name: entry.trailers.get(f"Recovery-{name}") for name in ("Ticket", "Generation", "Sequence")}
    if said != {"Ticket": str(ticket), "Generation": str(record.generation), "Sequence": str(record.sequence)}:
        return Tampered("the message says something else than the record", entry.sha)
    return record


def _root(entry: Entry, record: Record) -> Tampered | None:
    """Whether the service's commit has a parent exactly where it should: a ledger begins with its birth, or where its
    history was given up, rebuilt by a person's word or pruned to a tombstone. Nothing else stands alone, and a
    tombstone, known by its event, always does (the ownership protocol, R10).
    """
    pruned = record.pruned is not None and record.pruned.sequence == record.sequence
    if pruned != (entry.event == PRUNED) or (pruned and (entry.parent is not None or record.status not in TERMINAL)):
        return Tampered("the commit is a tombstone only in part", entry.sha)
    rebuilt = record.rebuilt is not None and record.rebuilt.sequence == record.sequence
    if entry.parent is not None or pruned or rebuilt or record.sequence == 1:
        return None
    return Tampered("the ledger begins in the middle", entry.sha)


def _link(above: tuple[Entry, Record], entry: Entry, record: Record) -> Tampered | None:
    """Whether the holder's commit `above` may stand on this one."""
    child, written = above
    if child.parent != entry.sha:
        return Tampered("the chain is broken: the parent is another commit", child.sha)
    wrong = breach(record, entry.raw_fields(), written, child.raw_fields())
    if wrong:
        return Tampered(wrong, child.sha)
    published = written.published
    if published is not None and published != record.published and child.code_parent != published.sha:
        # Git takes no commit whose parents do not exist: so what is published is a commit that is really there.
        return Tampered("what it says is published is not its second parent", child.sha)
    return None


def service_seal_breach(
    entry: Entry, seal: ServiceSeal, accepted: Sequence[str], repository_id: int, public_keys: PublicKeys
) -> Tampered | Unreadable | None:
    """Why a commit that names the service's seal was not sealed by it for any of the accepted refs, or None."""
    if seal.kid not in public_keys:
        return Unreadable(f"the commit names the seal key {seal.kid!r}, which is not known here", entry.sha)
    if any(public_keys.verify(seal, _preimage(entry, repository_id, ref)) for ref in accepted):
        return None
    return Tampered("the service's seal does not fit the commit", entry.sha)


def _preimage(entry: Entry, repository_id: int, ref: str) -> bytes:
    body, _ = split_message(entry.message)
    return seal_preimage(repository_id, ref, entry.parent, entry.tree, entry.code_parent, body)
