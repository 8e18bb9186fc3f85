"""What a recovery finds out about effects: criterion 11, step 13's part, the blockers, and what readers are shown."""

from typing import Any

from app.domain.brief import Command
from app.domain.effect import SETTLED, Effect
from app.domain.effect_journal import blocker, needs_person, unknown
from app.domain.record import Record
from app.domain.untrusted import inline

MAX_SHOWN = 10


def judged(record: Record | None, named: int) -> tuple[bool | None, str]:
    """Whether no effect is in an unknown state, or every such one is made a blocker (criterion 11). `named`: effects
    that the checkpoint speaks of, in the agent's own words, which nobody can check.
    """
    also = f"; the checkpoint names {named} more in words, look yourself" if named else ""
    if record is None:
        return (None, f"no effect is journaled yet{also}") if named else (True, "no effect is journaled yet")
    lost = unknown(record)
    waiting = [e for e in lost if e.kind and not needs_person(e)]
    if waiting:
        return False, f"{len(waiting)} effects are unknown and their probes are still to be run{also}"
    running = sum(e.state == "dispatching" for e in record.effects)
    if running:
        return None, f"{running} effects are on their way under the present lease{also}"
    if lost:
        return True, f"{len(lost)} effects are unknown, each of them a blocker that a person settles{also}"
    total = sum(e.state in SETTLED for e in record.effects) + len(record.effect_keys)
    told = f"all {total} journaled effects are settled" if total else "no effect was journaled"
    return (None if named else True), f"{told}{also}"


def rechecked(record: Record | None) -> tuple[str, dict[str, Any]]:
    """Step 13's part: the effects that are not settled, in a phrase, and as evidence."""
    open_ = [] if record is None else [e for e in record.effects if e.state not in SETTLED]
    evidence = {"effects": [{"key": e.key, "kind": e.kind, "state": e.state} for e in open_[:MAX_SHOWN]]}
    if not open_:
        return "", {}
    states = ", ".join(f"{e.key} is {e.state}" for e in open_[:MAX_SHOWN])
    return f"; effects that are not settled: {states}", evidence


def blockers(record: Record | None) -> tuple[str, ...]:
    """The unknown effects that a person must settle, in words."""
    if record is None:
        return ()
    told = [blocker(e, record.ticket_id) for e in unknown(record) if not e.kind or needs_person(e)]
    more = [f"and {len(told) - MAX_SHOWN} more effects are unknown"] if len(told) > MAX_SHOWN else []
    return (*told[:MAX_SHOWN], *more)


def commands(record: Record | None) -> tuple[Command, ...]:
    """What the holder runs where effects are not settled: to look, before it does anything outside Git."""
    unsettled = record is not None and any(e.state in ("intended", "dispatching", "unknown") for e in record.effects)
    why = "see which effects outside Git are not settled, before you do any"
    return (Command(why=why, argv=("agent-recovery", "effect", "list")),) if unsettled else ()


def shown(record: Record) -> list[str]:
    """The effects that are not settled, as the handoff comment lists them."""
    return [_line(e) for e in record.effects if e.state not in SETTLED and e.state != "abandoned"][:MAX_SHOWN]


def _line(effect: Effect) -> str:
    what = f"{effect.key} ({inline(effect.kind, 40)}): {effect.state}"
    note = effect.result.note if effect.result is not None else ""
    if effect.state == "intended" and effect.denied_in == effect.generation:
        note = "refused until a person approves it"
    return f"{what}, {note}" if note else what
