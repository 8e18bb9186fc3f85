"""What a person decides about an effect: that it may be done although it cannot be undone, or how an unknown one ended.

The word of a person alone does this; a token proves an account. Pure.
"""

from datetime import datetime
from typing import Any

from app.domain.attendance import of_holder
from app.domain.effect import Effect, EffectResult, State, is_approved, needs_approval
from app.domain.effect_journal import Noted, find, put
from app.domain.model import instant_text
from app.domain.outcome import Blocked, Code
from app.domain.record import TERMINAL, Record

_DENIED = "does not want it done"


def approved(record: Record, key: str, *, by: str, now: datetime) -> Noted | Blocked:
    """The person `by` approves this very effect in the present generation. It must be intended already, so that the
    person knows what it is; approvals of earlier generations are void and go.
    """
    effect = find(record, key)
    if record.status in TERMINAL:
        return Blocked(
            Code.NOT_FOUND,
            f"the ticket is {record.status}: nobody is left who could do the effect {key}",
            "recover the ticket first, where it is to go on",
        )
    if effect is not None and is_approved(record.approvals, key, record.generation):
        return Noted(record, effect)
    if effect is None or effect.state != "intended":
        known = f"it is {effect.state}" if effect is not None else "no holder intends it"
        return Blocked(
            Code.NOT_FOUND,
            f"there is nothing to approve about the effect {key}: {known}",
            "its holder says first what it means to do: `agent-recovery effect run`",
        )
    if not needs_approval(effect.kind, of_holder(None)):
        return Blocked(
            Code.USAGE, f"effects of the kind {effect.kind} need no approval", "nothing has to be done: it may be run"
        )
    present = tuple(a for a in record.approvals if a.get("generation") == record.generation and a.get("effect") != key)
    approval = {"effect": key, "generation": record.generation, "by": by, "at": instant_text(now)}
    return Noted(record.model_copy(update={"approvals": (*present, approval)}), effect)


def only_begun(record: Record) -> tuple[dict[str, Any], ...]:
    """The approvals that stay when a person has the ticket go on anew: those of effects that were let through. What was
    not begun until then needs another word.
    """
    waiting = {e.key for e in record.effects if e.state in ("intended", "abandoned")}
    return tuple(a for a in record.approvals if a.get("effect") not in waiting)


def denied(record: Record, key: str, *, by: str, now: datetime) -> Noted | Blocked:
    """The person `by` does not want this effect: it will not be done in any generation, and an approval of it is void.
    What was let through already cannot be taken back by a word.
    """
    effect = find(record, key)
    if effect is not None and effect.state == "failed_no_effect" and _denied_before(effect):
        return Noted(record, effect)
    if effect is None or effect.state not in ("intended", "abandoned"):
        known = f"it is {effect.state}" if effect is not None else "no holder intends it"
        return Blocked(
            Code.NOT_FOUND,
            f"there is nothing to deny about the effect {key}: {known}",
            "`/recovery status` shows the effects that are not settled",
        )
    result = EffectResult(by="person", note=f"{by} {_DENIED}")
    settled = effect.model_copy(update={"state": "failed_no_effect", "result": result, "settled_at": now})
    approvals = tuple(a for a in record.approvals if a.get("effect") != key)
    return Noted(put(record.model_copy(update={"approvals": approvals}), settled), settled)


def resolved(record: Record, key: str, *, done: bool, by: str, now: datetime) -> Noted | Blocked:
    """The person `by` found out how an unknown effect ended: it happened, or it did not and never will. That is said of
    an ended ticket's effect, too: its key is never forgotten.
    """
    effect = find(record, key)
    if effect is None:
        return Blocked(
            Code.NOT_FOUND, f"the effect {key} was never intended", "the ticket's handoff comment names its effects"
        )
    state: State = "confirmed" if done else "failed_no_effect"
    if effect.state == state and effect.result is not None and effect.result.by == "person":
        return Noted(record, effect)
    if effect.state != "unknown":
        return Blocked(
            Code.USAGE,
            f"the effect {key} is {effect.state}: there is nothing to resolve",
            "only an unknown effect waits for a person",
        )
    before = effect.result or EffectResult(by="person")
    result = before.model_copy(update={"by": "person", "note": f"{by} found out and said so"})
    settled = effect.model_copy(update={"state": state, "result": result, "settled_at": now})
    return Noted(put(record, settled), settled)


def _denied_before(effect: Effect) -> bool:
    return effect.result is not None and effect.result.by == "person" and effect.result.note.endswith(_DENIED)
