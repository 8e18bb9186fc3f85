"""The journal of effects: what each word about an effect makes of the record. Pure.

Wanted properties: the record says "dispatching" before anything outside is touched, and lets exactly one execution
(`attempt`) through for each key, ever; what is settled stays settled; an execution whose end nobody wrote down is
unknown, and only a probe that finds the effect, its own command's word, or a person settles it. A key is never
forgotten: settled effects shrink to their key's digest and outcome, which stay as long as the record does.

Accepted loss: an effect that was let through and then never begun, because its agent died in between, is unknown too.
"""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from app.domain.attendance import Attendance, of_holder
from app.domain.effect import (
    MAX_NOTE,
    MAX_REMOTE_ID,
    SETTLED,
    Effect,
    EffectResult,
    is_approved,
    needs_approval,
    rule_of,
)
from app.domain.effect_api import EffectIntent, EffectOutcome
from app.domain.effect_probe import CannotTell, NothingThere, Present, Sighting, next_probe_at, read_probe
from app.domain.outcome import Blocked, Code
from app.domain.plain_text import cut, one_line
from app.domain.record import Lease, Record
from app.domain.secret_shapes import redact
from app.domain.ticket_id import TicketId
from app.domain.told_commands import of

KEPT_SETTLED = 6
"""Settled effects that stay in full; older ones shrink to key and outcome."""
MAX_UNSETTLED = 6
MAX_KEYS = 200
"""Effects of one ticket whose keys are remembered: about 7 KiB of the record."""
NEVER_BEGUN = "never begun: its holder was not let through, and the fence refuses it now"
_OF_A_FORM = frozenset({"key", "kind", "state", "nonce", "login", "attempt", "probe"})
_EVER = datetime(1970, 1, 1, tzinfo=UTC)
INTERRUPTED = "its holder is gone; nobody knows whether it happened"


@dataclass(frozen=True)
class Noted:
    """The record after a word about an effect, the effect as it is now, and whether the caller may carry it out.
    `denied`: it is refused, and the record says so.
    """

    record: Record
    effect: Effect
    go: bool = False
    denied: Blocked | None = None


def find(record: Record, key: str) -> Effect | None:
    """The effect of this key, also one that shrank to its key and outcome."""
    standing = next((e for e in record.effects if e.key == key), None)
    return standing if standing is not None else _remembered(record, key)


def intended(record: Record, lease: Lease, request: EffectIntent, *, now: datetime) -> Noted | Blocked:
    """The holder means to do it. A known key is answered with what is known; one that was given up before it was let
    through is taken up again, because the fence proves that nothing was done under it.
    """
    known = find(record, request.effect)
    if known is not None and known.kind and known.kind != request.kind:
        return Blocked(
            Code.USAGE,
            f"the effect key {request.effect} was used for {known.kind}",
            "use a key of its own for every effect",
        )
    begun_anew = known is None or known.state == "abandoned" or (known.state == "intended" and not _own(known, lease))
    if known is not None and not begun_anew:
        return Noted(record, known)
    if known is None and (full := _full(record)) is not None:
        return full
    effect = Effect(
        key=request.effect,
        kind=request.kind,
        state="intended",
        generation=lease.generation,
        nonce=lease.nonce,
        login=lease.login,
        probe=request.probe.model_dump(mode="json", exclude_none=True) if request.probe is not None else None,
        intended_at=now,
    )
    return Noted(_shrunk(put(record, effect)), effect)


def dispatched(
    record: Record, lease: Lease, key: str, attempt: str, *, now: datetime, at: Attendance | None = None
) -> Noted | Blocked:
    """The holder is about to do it: the one moment in which an execution is let through. The same attempt asked again
    is let through again, because it was not begun before its answer came. What it is called is kept as a digest: the
    ledger is read by many, and whoever knows the name may say how the execution ended.

    `at`: whether a person acts at this moment, by default as it is for a holder. Refused for want of an approval, the
    record says so, once for each effect and generation however often it is asked.
    """
    effect, mark = find(record, key), _mark(attempt)
    if effect is None or effect.state == "abandoned" or (effect.state == "intended" and not _own(effect, lease)):
        return Blocked(
            Code.NOT_FOUND,
            f"the effect {key} is not intended under this lease",
            "say first what is intended: `agent-recovery effect run` does both",
        )
    again = effect.state == "dispatching" and effect.attempt == mark and _own(effect, lease)
    if effect.state != "intended" and not again:
        return Noted(record, effect)
    # Asked again too: a holder's own commit may have called it dispatching, which is nobody's approval.
    acts = at if at is not None else of_holder(lease.run)
    if needs_approval(effect.kind, acts) and not is_approved(record.approvals, key, record.generation):
        return _denied(record, effect, acts, now)
    if again:
        return Noted(record, effect, go=True)
    effect = effect.model_copy(update={"state": "dispatching", "attempt": mark, "dispatched_at": now})
    return Noted(put(record, effect), effect, go=True)


def reported(record: Record, outcome: EffectOutcome, key: str, *, now: datetime) -> Noted | Blocked:
    """The command's own word about its end. Only who knows the attempt that was let through can give it; a holder that
    took over in the same folder does.
    """
    effect = find(record, key)
    if effect is None:
        return Blocked(Code.NOT_FOUND, f"the effect {key} was never intended", "look at `agent-recovery effect list`")
    if effect.state in SETTLED:
        return Noted(record, effect)
    if effect.attempt is None or effect.attempt != _mark(outcome.attempt):
        return Blocked(
            Code.STALE_REQUEST,
            f"another execution of {key} was let through, not this one",
            "leave it: what is known of the effect stands in `agent-recovery effect list`",
        )
    result = EffectResult(
        by="command",
        exit_code=outcome.exit_code,
        remote_id=_told(outcome.remote_id or "", MAX_REMOTE_ID) or None,
        note=_told(outcome.note, MAX_NOTE),
    )
    effect = _settled(effect, outcome.outcome, result, now)
    return Noted(_shrunk(put(record, effect)), effect)


def seen(record: Record, key: str, sighting: Sighting, *, now: datetime) -> Noted | Blocked:
    """What a probe showed. An effect that is still on its way counts as unknown from now on: whoever asks for its
    probe does not know its end.
    """
    effect = find(record, key)
    if effect is None:
        return Blocked(Code.NOT_FOUND, f"the effect {key} was never intended", "look at `agent-recovery effect list`")
    if effect.state not in ("dispatching", "unknown"):
        return Noted(record, effect)
    match sighting:
        case Present(note, remote_id):
            result = EffectResult(
                by="probe", remote_id=_told(remote_id or "", MAX_REMOTE_ID) or None, note=_told(note, MAX_NOTE)
            )
            effect = _settled(effect, "confirmed", result, now)
        case NothingThere(note) | CannotTell(note):
            before = effect.result or EffectResult(by="probe")
            result = before.model_copy(update={"by": "probe", "note": _told(note, MAX_NOTE)})
            counted = {"probes": effect.probes + 1, "probed_at": now}
            effect = _settled(effect, "unknown", result, now).model_copy(update=counted)
    return Noted(_shrunk(put(record, effect)), effect)


def interrupted(record: Record, *, now: datetime) -> Record:
    """The record when a lease ends: what was on its way is unknown, what was never let through is given up."""
    effects = tuple(_interrupted(e, now) for e in record.effects)
    return record if effects == record.effects else record.model_copy(update={"effects": effects})


def unknown(record: Record) -> tuple[Effect, ...]:
    """The effects that nobody knows the end of, those that shrank included."""
    shrunk = (e for d in record.effect_keys if (e := _outcome(d, record.effect_keys[d])).state == "unknown")
    return (*(e for e in record.effects if e.state == "unknown"), *shrunk)


def due(record: Record, *, now: datetime) -> tuple[Effect, ...]:
    """The unknown effects whose probe is to be run now."""
    return tuple(e for e in record.effects if (at := probe_at(e)) is not None and at <= now)


def probe_at(effect: Effect) -> datetime | None:
    """When an unknown effect's probe is to be run; None where it is not unknown or has no probe."""
    if effect.state != "unknown" or read_probe(effect.probe) is None:
        return None
    return next_probe_at(effect.probes, effect.probed_at) or effect.settled_at or _EVER


def needs_person(effect: Effect) -> bool:
    """Whether an unknown effect is a blocker: it has no probe, or its probe was run and did not find it."""
    return effect.state == "unknown" and (effect.probes > 0 or read_probe(effect.probe) is None)


def blocker(effect: Effect, ticket: TicketId) -> str:
    """An unknown effect in words: what is not known, why, and who settles it."""
    why = effect.result.note if effect.result is not None and effect.result.note else INTERRUPTED
    looked = f"its probe was run {effect.probes} times; " if effect.probes else ""
    if read_probe(effect.probe) is None:
        looked = "it has no probe; "
    name = f"{effect.key} ({effect.kind})" if effect.kind else effect.key
    return (
        f"effect {name} is unknown: {looked}{why}. Do not run it again; a person finds out how it ended and says so "
        f"in a comment (`/recovery resolve{of(ticket)} {effect.key} done`, or `not-done` instead of `done`)"
    )


def admitted(record: Record) -> Record:
    """The record with what a holder may have pushed past our admission looked through again: no text of an effect holds
    a secret, no probe is kept that no call could have sent. Idempotent.
    """
    effects = tuple(_admitted(effect) for effect in record.effects)
    return record if effects == record.effects else record.model_copy(update={"effects": effects})


def lost_room(record: Record) -> Record | None:
    """The record with one effect less in full, where it must become smaller: a settled one first, then the oldest. Its
    key and state stay. None where nothing is left to shrink.
    """
    if not record.effects:
        return None
    ended = [e for e in record.effects if e.state in SETTLED or e.state == "abandoned"]
    return _remember(record, (ended or list(record.effects))[0])


def digest(key: str) -> str:
    """What stands for a key where the key itself takes too much room."""
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def put(record: Record, effect: Effect) -> Record:
    """The record with this effect as it is now, whatever was known of its key."""
    others = tuple(e for e in record.effects if e.key != effect.key)
    shrunk = digest(effect.key)
    keys = {d: outcome for d, outcome in record.effect_keys.items() if d != shrunk}
    return record.model_copy(update={"effects": (*others, effect), "effect_keys": keys})


# --- parts ---------------------------------------------------------------------------------------------------------


def _admitted(effect: Effect) -> Effect:
    texts = {name: value for name, value in effect.model_dump(mode="json").items() if name not in _OF_A_FORM}
    changes = {name: value for name, value in _without_secrets(texts).items() if value != texts[name]}
    if effect.probe is not None and read_probe(effect.probe) is None:
        changes["probe"] = None
    return Effect.model_validate(effect.model_dump(mode="json") | changes) if changes else effect


def _without_secrets(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value).text
    if isinstance(value, dict):
        return {name: _without_secrets(part) for name, part in value.items()}
    return [_without_secrets(part) for part in value] if isinstance(value, list) else value


def _mark(attempt: str) -> str:
    return hashlib.sha256(attempt.encode()).hexdigest()[:32]


def _own(effect: Effect, lease: Lease) -> bool:
    return effect.identity == (lease.generation, lease.nonce)


def _settled(effect: Effect, state: str, result: EffectResult, now: datetime) -> Effect:
    settled = {"state": state, "result": result, "settled_at": now}
    # Nobody looks for it any more, and the record is small.
    return effect.model_copy(update=settled | ({"probe": None} if state in SETTLED else {}))


def _interrupted(effect: Effect, now: datetime) -> Effect:
    if effect.state == "dispatching":
        return _settled(effect, "unknown", EffectResult(by="service", note=INTERRUPTED), now)
    if effect.state == "intended":
        return _settled(effect, "abandoned", EffectResult(by="service", note=NEVER_BEGUN), now)
    return effect


def _full(record: Record) -> Blocked | None:
    unsettled = sum(e.state not in SETTLED and e.state != "abandoned" for e in record.effects)
    if unsettled >= MAX_UNSETTLED:
        return Blocked(
            Code.RECORD_FULL,
            f"{unsettled} effects of the ticket are not settled",
            "settle some of them first: `agent-recovery effect list` shows what each one waits for",
        )
    if len(record.effect_keys) + len(record.effects) >= MAX_KEYS:
        return Blocked(
            Code.RECORD_FULL,
            f"the ticket had {MAX_KEYS} effects, and no key may be forgotten",
            "do what remains under a ticket of its own",
        )
    return None


def _shrunk(record: Record) -> Record:
    ended = [e for e in record.effects if e.state in SETTLED or e.state == "abandoned"]
    for effect in ended[: max(0, len(ended) - KEPT_SETTLED)]:
        record = _remember(record, effect)
    return record


def _remember(record: Record, effect: Effect) -> Record:
    rest = tuple(e for e in record.effects if e.key != effect.key)
    if effect.state == "abandoned":
        # Nothing was done under it, so there is nothing to remember.
        return record.model_copy(update={"effects": rest})
    state = effect.state if effect.state in SETTLED else "unknown"
    code = effect.result.exit_code if effect.result is not None else None
    outcome = f"{state}:{code}" if code is not None else state
    keys = {**record.effect_keys, digest(effect.key): outcome}
    return record.model_copy(update={"effects": rest, "effect_keys": keys})


def _remembered(record: Record, key: str) -> Effect | None:
    outcome = record.effect_keys.get(digest(key))
    return _outcome(key, outcome) if outcome is not None else None


def _outcome(key: str, outcome: str) -> Effect:
    state, _, code = outcome.partition(":")
    number = int(code) if code.removeprefix("-").isascii() and code.removeprefix("-").isdigit() else None
    result = EffectResult(by="command", exit_code=number, note="kept as key and outcome only")
    known = state if state in SETTLED else "unknown"
    return Effect.model_validate(
        {"key": key, "kind": "", "state": known, "generation": 0, "nonce": "", "result": result}
    )


def _denied(record: Record, effect: Effect, at: Attendance, now: datetime) -> Noted:
    kind, key = effect.kind, effect.key
    why = (
        f"effects of the kind {kind} cannot be undone"
        if rule_of(kind).denies_all
        else f"effects of the kind {kind} need a person, and nobody is there ({at.why})"
    )
    refusal = Blocked(
        Code.EFFECT_NOT_APPROVED,
        f"{why}, and nobody approved {key} in generation {record.generation}",
        f"a person approves it in a comment on #{record.ticket}: `/recovery approve{of(record.ticket_id)} {key}`; "
        "then run the same command again",
        generation=record.generation,
    )
    if effect.denied_in == record.generation:
        return Noted(record, effect, denied=refusal)
    effect = effect.model_copy(update={"denied_in": record.generation, "denied_at": now})
    return Noted(put(record, effect), effect, denied=refusal)


def _told(text: str, max_bytes: int) -> str:
    return cut(redact(one_line(text)).text, max_bytes)
