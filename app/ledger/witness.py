"""What else remembers a ledger: its head is compared with every witness before anything is done on its word.

Witnesses are the service's own table, the handoff comment and the check-run's `external_id` (the ownership protocol,
R20). A ledger below one of them was rolled back; at an equal sequence another commit means it was forked; gone with a
witness left means it was deleted. Where no witness is left, a rollback cannot be seen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.domain.record import Record
from app.ledger.codec import Entry


@dataclass(frozen=True)
class Witness:
    """One memory of a ledger's head. `source` is a phrase for people ("the handoff comment"); `commit_prefix` the
    first characters of the commit, or all of it; empty where the witness does not say.
    """

    source: str
    sequence: int
    generation: int
    commit_prefix: str


@dataclass(frozen=True)
class Current:
    """No witness contradicts the head."""


@dataclass(frozen=True)
class Backwards:
    """The head is older than what was seen before."""

    reason: str
    evidence: Witness


@dataclass(frozen=True)
class Forked:
    """Another history than the one that was seen before."""

    reason: str
    evidence: Witness


@dataclass(frozen=True)
class Missing:
    """There is no ledger any more, though one was seen."""

    reason: str
    evidence: Witness


def judge(
    head: Entry | None, witnesses: Sequence[Witness], chain: Mapping[int, str] | None = None
) -> Current | Backwards | Forked | Missing:
    """Whether a verified head (None: no ledger stands) agrees with all witnesses; the worst finding is returned.

    `chain`: sequence → commit for as much of the head's own history as was read, so that a fork below the head shows
    too.
    """
    if not witnesses:
        return Current()
    highest = max(witnesses, key=lambda w: (w.sequence, w.generation))
    if head is None:
        return Missing(f"{highest.source} shows sequence {highest.sequence}, but no ledger stands", highest)
    record = head.record
    if not isinstance(record, Record):
        return Backwards("the head's record cannot be read", highest)
    for witness in sorted(witnesses, key=lambda w: (w.sequence, w.generation), reverse=True):
        if witness.sequence > record.sequence or witness.generation > record.generation:
            reason = (
                f"{witness.source} shows sequence {witness.sequence} of generation {witness.generation}, the ledger "
                f"stands at sequence {record.sequence} of generation {record.generation}"
            )
            return Backwards(reason, witness)
    known = {**(chain or {}), record.sequence: head.sha}
    for witness in witnesses:
        commit = known.get(witness.sequence)
        if commit is not None and not commit.startswith(witness.commit_prefix):
            reason = f"{witness.source} shows another commit at sequence {witness.sequence}"
            return Forked(reason, witness)
    return Current()
