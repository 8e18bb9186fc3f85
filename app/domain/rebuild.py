"""Rebuilding a ledger that cannot be trusted any more, from what the App's own sealed comments and check-runs remember.

Only a person asks for it (the ownership protocol, R20). The new record begins above everything that was ever seen, in a
new generation and without a holder, so that no old lease counts in it; every effect that was not settled is unknown,
and no approval survives.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter, ValidationError

from app.domain.checkpoint import Checkpoint
from app.domain.effect import SETTLED, Effect, EffectResult
from app.domain.outcome import Blocked, Code
from app.domain.record import TERMINAL, Intent, Projections, Published, Rebuilt, Record, Status, Work
from app.domain.ticket_id import TicketId, child_name_of, number_of

_NO_NONCE = "rebuilt"
"""The identity of what was published before: no lease has it, so the head counts only once a new holder shows it."""

_STATUS: TypeAdapter[Status] = TypeAdapter(Status)
_EFFECTS: TypeAdapter[tuple[Effect, ...]] = TypeAdapter(tuple[Effect, ...])


@dataclass(frozen=True)
class Remembered:
    """A sealed body whose seal and place were checked: `source` is where it stands, in words."""

    source: str
    fields: Mapping[str, Any]

    @property
    def sequence(self) -> int:
        return _number(self.fields.get("sequence"))

    @property
    def generation(self) -> int:
        return _number(self.fields.get("generation"))


@dataclass(frozen=True)
class Rebuild:
    """The record to begin with. `lost` says in words what was seen and is in no sealed body; empty where nothing is."""

    record: Record
    source: str
    lost: str


def rebuilt(
    ticket: TicketId,
    bodies: Sequence[Remembered],
    *,
    highest_sequence: int,
    highest_generation: int,
    by: str,
    now: datetime,
    accept_loss: bool,
) -> Rebuild | Blocked:
    """The record that follows everything witnessed, or why there is none. `highest_…` are those of all witnesses."""
    if not bodies:
        return Blocked(
            Code.NOT_FOUND,
            "no sealed handoff comment or check-run of the App remembers this ticket",
            "push the ledger commit back to its ref, or let an owner delete the ref and claim the Issue anew",
        )
    newest = max(bodies, key=lambda body: (body.sequence, body.generation))
    sequence = max(highest_sequence, newest.sequence)
    generation = max(highest_generation, newest.generation)
    lost = ""
    if (newest.sequence, newest.generation) != (sequence, generation):
        lost = (
            f"{newest.source} remembers sequence {newest.sequence} of generation {newest.generation}; the ledger had "
            f"come to sequence {sequence} of generation {generation}, and what lay between is in no sealed text"
        )
        if not accept_loss:
            remedy = (
                "once a person has looked at the branch, the operator of the App runs "
                f"`agent-recovery rebuild OWNER/NAME --ticket {ticket} --by LOGIN --accept-loss`"
            )
            return Blocked(Code.FROZEN, lost, remedy)
    try:
        record = _record(ticket, newest.fields, sequence + 1, generation + 1, by=by, now=now)
    except ValidationError as error:
        reason = f"{newest.source} cannot be read by this version ({type(error).__name__})"
        return Blocked(Code.FROZEN, reason, "update the service, then try again")
    return Rebuild(record, newest.source, lost)


def _record(
    ticket: TicketId, fields: Mapping[str, Any], sequence: int, generation: int, *, by: str, now: datetime
) -> Record:
    said: Status = _STATUS.validate_python(fields.get("status"))
    checkpoint = Checkpoint.model_validate(fields.get("checkpoint"))
    effects = _EFFECTS.validate_python(fields.get("effects", ()))
    return Record.model_validate(
        {
            "ticket": number_of(ticket),
            "child": child_name_of(ticket),
            "sequence": sequence,
            "generation": generation,
            "status": said if said in TERMINAL else "unclaimed",
            "work": _work(checkpoint),
            "published": _published(fields.get("published")),
            "checkpoint": checkpoint,
            "children": fields.get("children", ()),
            "spawn": fields.get("spawn"),
            "effects": tuple(_doubted(effect, now) for effect in effects),
            "effect_keys": fields.get("effect_keys", {}),
            "burned_shas": fields.get("burned_shas", ()),
            "commands": fields.get("commands", ()),
            "projections": Projections(pr_number=checkpoint.pr_number),
            "intent": Intent(by=by, at=now),
            "rebuilt": Rebuilt(by=by, at=now, sequence=sequence),
            "ended": fields.get("ended"),
        }
    )


def _doubted(effect: Effect, now: datetime) -> Effect:
    """What was not settled may have gone on after it was last projected, one that was only intended too."""
    if effect.state in SETTLED:
        return effect
    result = EffectResult(by="service", note="the ledger was lost and rebuilt; nobody knows whether it happened")
    return effect.model_copy(update={"state": "unknown", "result": result, "settled_at": now})


def _work(checkpoint: Checkpoint) -> Work | None:
    branch, trunk, base = checkpoint.ticket_branch, checkpoint.immediate_pr_base, checkpoint.base_sha
    return Work(branch=branch, trunk=trunk, base_sha=base) if branch and trunk and base else None


def _published(said: Mapping[str, Any] | None) -> Published | None:
    return None if said is None else Published.model_validate(said).model_copy(update={"nonce": _NO_NONCE})


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
