"""What else remembers a ledger: its head is compared with every witness before anything is done on its word.

Witnesses are the service's own table, the handoff comment and the check-run's `external_id` (the ownership protocol,
R20). A ledger below one of them was rolled back; at an equal sequence another commit means it was forked; gone with a
witness left means it was deleted. Where no witness is left, a rollback cannot be seen.
"""

from collections.abc import Sequence
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
class Contradiction:
    """The ledger and a witness do not agree; `reason` is for people, `evidence` the witness."""

    reason: str
    evidence: Witness

    @property
    def expected(self) -> str:
        """What the witness shows, for a report."""
        w = self.evidence
        commit = f", commit {w.commit_prefix}" if w.commit_prefix else ""
        return f"sequence {w.sequence} of generation {w.generation}{commit}, or a commit on top of it"


@dataclass(frozen=True)
class Backwards(Contradiction):
    """The head is older than what was seen before."""


@dataclass(frozen=True)
class Forked(Contradiction):
    """Another history than the one that was seen before."""


@dataclass(frozen=True)
class Missing(Contradiction):
    """There is no ledger any more, though one was seen."""


@dataclass(frozen=True)
class Head:
    """The verified head of a ledger. `begun_at`: the sequence from which on its history counts, because a person had
    it begin anew there; 0 where nobody did. `chain`: its SHA and those below it, newest first, as far as they are
    known.
    """

    sequence: int
    generation: int
    begun_at: int
    chain: tuple[str, ...]


def judge(
    entries: Sequence[Entry], witnesses: Sequence[Witness], earlier: Sequence[str] = ()
) -> Current | Backwards | Forked | Missing:
    """Whether a verified ledger agrees with all witnesses.

    `entries`: its commits as far as they were verified, newest first; empty where no ledger stands. `earlier`: the
    commits below those, newest first, as far as they are known, so that a fork below shows too.
    """
    if not entries or not witnesses:
        return judge_head(None, witnesses)
    record = entries[0].record
    if not isinstance(record, Record):
        highest = max(witnesses, key=lambda w: (w.sequence, w.generation))
        return Backwards("the head's record cannot be read", highest)
    begun_at = record.rebuilt.sequence if record.rebuilt is not None else 0
    chain = (*(entry.sha for entry in entries), *earlier)
    return judge_head(Head(record.sequence, record.generation, begun_at, chain), witnesses)


def judge_head(head: Head | None, witnesses: Sequence[Witness]) -> Current | Backwards | Forked | Missing:
    """Whether a ledger's head agrees with all witnesses; None where no ledger stands."""
    if not witnesses:
        return Current()
    falling = sorted(witnesses, key=lambda w: (w.sequence, w.generation), reverse=True)
    if head is None:
        highest = falling[0]
        return Missing(f"{highest.source} shows sequence {highest.sequence}, but no ledger stands", highest)
    for witness in falling:
        if witness.sequence > head.sequence or witness.generation > head.generation:
            reason = (
                f"{witness.source} shows sequence {witness.sequence} of generation {witness.generation}, the ledger "
                f"stands at sequence {head.sequence} of generation {head.generation}"
            )
            return Backwards(reason, witness)
    for witness in falling:
        if witness.sequence < head.begun_at:
            break  # of the history that a person had replaced
        depth = head.sequence - witness.sequence
        if depth < len(head.chain) and not head.chain[depth].startswith(witness.commit_prefix):
            return Forked(f"{witness.source} shows another commit at sequence {witness.sequence}", witness)
    return Current()
