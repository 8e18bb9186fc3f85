"""An audit: every ticket of a repository, read as an outsider and judged by the pure rules."""

from dataclasses import dataclass
from pathlib import Path

from app.domain.brief import Criterion
from app.domain.criteria import criteria
from app.domain.decide import decide
from app.domain.fencing import Head, Relation, head_of, needs_relation
from app.domain.lease import liveness
from app.domain.plan import Wait
from app.domain.record import TERMINAL, Record
from app.domain.recovery_view import RecoveryView
from app.domain.refs import LedgerRefs
from app.domain.situation import Situation
from app.domain.ticket_id import TicketId
from app.drill.audit import of_the_children, of_the_ledger, of_the_work
from app.drill.audit.facts import Facts
from app.drill.audit.lie import Lie, Note
from app.drill.audit.mirror import Mirror
from app.drill.audit.reading import Reader
from app.ledger.seals import PublicKeys


@dataclass(frozen=True)
class Audited:
    """One ticket. `fenced`: the branch's head is what its present holder published. `drift`: what the App has still to
    bring right, by the same rule that the App decides by, from other eyes. `criteria`: the 13 completion criteria as
    far as an outsider can judge them.
    """

    ticket: str
    status: str | None
    generation: int | None
    head: str
    fenced: bool
    drift: tuple[str, ...]
    criteria: tuple[Criterion, ...]
    lies: tuple[Lie, ...]
    notes: tuple[Note, ...]


def audit(reader: Reader, folder: Path, *, token: str, keys: PublicKeys | None) -> list[Audited]:
    """Every ticket of the repository. Raises GithubException and NotMirrored where GitHub or git does not answer."""
    mirror = Mirror(folder, reader.repository.clone_url, token)
    refs = LedgerRefs(mirror.namespace)
    return [audited(reader.facts(ticket, mirror), refs, keys) for ticket in reader.tickets(mirror)]


def audited(facts: Facts, refs: LedgerRefs, keys: PublicKeys | None) -> Audited:
    """The judgement on one ticket. Pure."""
    record = facts.entries[0].record if facts.entries else None
    found: list[Lie | Note] = list(of_the_ledger.lies(facts, refs, keys))
    if not isinstance(record, Record):
        return _told(facts.ticket, None, None, found, drift=(), judged=())
    head = _head(facts, record)
    found += of_the_work.lies(facts, record, head, keys)
    found += of_the_children.lies(facts, record, refs)
    view = RecoveryView(
        record=record,
        observation=facts.observation,
        policy=facts.policy,
        holder=liveness(record, facts.policy, now=facts.observation.now),
        head=head,
    )
    return _told(facts.ticket, record, head, found, drift=_drift(facts, record, head), judged=criteria(view))


def _head(facts: Facts, record: Record) -> Head:
    pair = needs_relation(record, facts.observation)
    relation = None
    if pair is not None:
        relation = Relation.ON_TOP if facts.contains(pair[1], pair[0]) else Relation.ELSEWHERE
    return head_of(record, facts.observation, relation)


def _drift(facts: Facts, record: Record, head: Head) -> tuple[str, ...]:
    if record.status in TERMINAL:
        return ()
    situation = Situation(
        observation=facts.observation,
        record=record,
        policy=facts.policy,
        head=head,
        tail=0,
        author_is_dead=lambda author: False,
    )
    plan = decide(situation)
    return tuple(f"{type(action).__name__}: {action.reason}" for action in plan if not isinstance(action, Wait))


def _told(
    ticket: TicketId,
    record: Record | None,
    head: Head | None,
    found: list[Lie | Note],
    *,
    drift: tuple[str, ...],
    judged: tuple[Criterion, ...],
) -> Audited:
    return Audited(
        ticket=str(ticket),
        status=record.status if record else None,
        generation=record.generation if record else None,
        head=type(head).__name__ if head is not None else "unknown",
        fenced=bool(getattr(head, "fenced", False)),
        drift=drift,
        criteria=judged,
        lies=tuple(f for f in found if isinstance(f, Lie)),
        notes=tuple(f for f in found if isinstance(f, Note)),
    )
