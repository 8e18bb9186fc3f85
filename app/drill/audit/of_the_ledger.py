"""Lies in a ledger itself: its seals, its chain, where it lies, and what remembers it.

The ownership protocol, R20 and R21. The whole chain is judged, from the head to the birth: the service looks no deeper
than its own last seal.
"""

from collections.abc import Iterator

from app.domain.external_id import parse as parse_external_id
from app.domain.record import Record
from app.domain.refs import LedgerRefs
from app.domain.sealed_body import parse as parse_body
from app.drill.audit.facts import Facts
from app.drill.audit.lie import Kind, Lie, Note
from app.ledger.codec import Entry, NewerSchema, Unreadable
from app.ledger.seals import PublicKeys
from app.ledger.verify import Misplaced, Tampered, place_is_sound, verify_tail
from app.ledger.witness import Backwards, Current, Forked, Witness, judge


def lies(facts: Facts, refs: LedgerRefs, keys: PublicKeys | None) -> Iterator[Lie | Note]:
    """Everything about the ledger of one ticket that cannot be true. `keys` None: seals are not checked."""
    if facts.entries and keys is not None:
        yield from _seals(facts, refs, keys)
    yield from _chain(facts)
    yield from _place(facts)
    yield from _witnesses(facts)


def _seals(facts: Facts, refs: LedgerRefs, keys: PublicKeys) -> Iterator[Lie | Note]:
    left, unchecked = facts.entries, 0
    while left:
        judged = verify_tail(
            left,
            ticket=facts.ticket,
            refs=refs,
            repository_id=facts.repository_id,
            public_keys=keys,
            lease_secrets=None,
        )
        match judged:
            case Tampered(reason, at):
                yield Lie(Kind.LEDGER_DAMAGED, facts.name, reason, at)
                return
            case Unreadable(reason, at):
                yield Lie(Kind.LEDGER_DAMAGED, facts.name, reason, at or left[0].sha)
                return
            case NewerSchema(version, at):
                yield Note(facts.name, f"a newer version wrote {at or left[0].sha} (schema {version}): not judged")
                return
        unchecked += judged.unchecked
        left = left[judged.tail + 1 :]
    if unchecked:
        yield Note(facts.name, f"{unchecked} ledger commits are sealed by their holder, which is not checked here")


def _chain(facts: Facts) -> Iterator[Lie]:
    nonces: dict[int, str] = {}
    above: tuple[Entry, Record] | None = None
    for entry in facts.entries:
        record = entry.record
        if not isinstance(record, Record):
            return
        if record.lease is not None and nonces.setdefault(record.generation, record.lease.nonce) != record.lease.nonce:
            what = f"generation {record.generation} has more than one nonce, so two holders may count as the same"
            yield Lie(Kind.TWO_NONCES, facts.name, what, entry.sha)
        if above is not None and (wrong := _falls(above[1], record)):
            yield Lie(Kind.CHAIN_BROKEN, facts.name, wrong, above[0].sha)
        above = entry, record


def _falls(above: Record, below: Record) -> str | None:
    if above.sequence != below.sequence + 1:
        return f"sequence {above.sequence} stands on sequence {below.sequence}"
    if not below.generation <= above.generation <= below.generation + 1:
        return f"generation {above.generation} stands on generation {below.generation}"
    return None


def _place(facts: Facts) -> Iterator[Lie]:
    heads = [ledger[0] if ledger else None for ledger in (facts.active, facts.done)]
    if any(head is not None and not isinstance(head.record, Record) for head in heads):
        return
    placed = place_is_sound(*heads)
    if isinstance(placed, Misplaced):
        yield Lie(Kind.LEDGER_MISPLACED, facts.name, placed.reason, placed.at_sha)


def _witnesses(facts: Facts) -> Iterator[Lie]:
    verdict = judge(facts.entries, witnesses(facts), ())
    if isinstance(verdict, Current):
        return
    kind = Kind.LEDGER_MISSING
    if isinstance(verdict, Backwards):
        kind = Kind.LEDGER_BEHIND
    elif isinstance(verdict, Forked):
        kind = Kind.LEDGER_FORKED
    seen = facts.entries[0].sha if facts.entries else "no ledger"
    yield Lie(kind, facts.name, f"{verdict.reason}; expected {verdict.expected}", seen)


def witnesses(facts: Facts) -> list[Witness]:
    """What the App's own comments and check-runs remember of the ledger. Only our App writes either."""
    found = []
    for run in facts.observation.check_runs:
        found += [
            Witness(f"check-run {run.id}", p.sequence, p.generation, p.commit_prefix)
            for p in parse_external_id(run.external_id)
            if p.ticket == facts.ticket
        ]
    comments = [c for pull in facts.observation.pulls for c in pull.comments]
    for comment in (*comments, *facts.observation.issue_comments):
        body = parse_body(comment.body)
        fields = body.fields if body else {}
        numbers = fields.get("sequence"), fields.get("generation")
        commit = fields.get("ledger_commit")
        if str(fields.get("ticket")) == facts.name and isinstance(commit, str):
            sequence, generation = numbers
            if isinstance(sequence, int) and isinstance(generation, int):
                found.append(Witness(f"comment {comment.id}", sequence, generation, commit))
    return found
