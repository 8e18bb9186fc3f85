"""The holder's writes through the API: evidence, checkpoint, handoff.

Wanted properties (the ownership protocol, R16): key and number are on disk before the call; a call whose answer was
lost is repeated with the same key and body; a number is never given out twice under one lease. The file may be lost,
damaged, or another folder may write under the same lease: the ledger knows the highest number, a refusal tells it, and
the call is made again above it.
"""

import uuid
from typing import Any

from pydantic import Field

from app.agent.api import Service, is_definite
from app.agent.held import Identity
from app.agent.home import Home
from app.domain.agent_api import (
    HIGHEST_SEQ,
    CheckpointRequest,
    EvidenceRequest,
    HandoffRequest,
    Key,
    WriteAnswer,
    WriteRequest,
)
from app.domain.child_api import NamedChildRequest, RespawnRequest, ResultRequest, SpawnRequest
from app.domain.effect_api import EffectDispatch, EffectIntent, EffectLook, EffectOutcome
from app.domain.model import Message
from app.domain.outcome import Code, Refused
from app.domain.validation_api import ValidationRequest

FILE = "writes.json"
TRIES = 5
"""Of a write whose number others of the same lease keep overtaking."""

_KINDS: dict[str, type[WriteRequest]] = {
    "evidence": EvidenceRequest,
    "checkpoint": CheckpointRequest,
    "handoff": HandoffRequest,
    "effects": EffectIntent,
    "dispatch": EffectDispatch,
    "result": EffectOutcome,
    "probe": EffectLook,
    "validation": ValidationRequest,
    "spawn": SpawnRequest,
    "respawn": RespawnRequest,
    "adopt": NamedChildRequest,
    "cancel": NamedChildRequest,
    "completion": ResultRequest,
}


class Pending(Message):
    """A write that was sent, or is about to be, and has no answer yet."""

    key: Key
    seq: int = Field(ge=1, le=HIGHEST_SEQ)
    body: dict[str, Any]


class Counters(Message):
    """What `.agent-recovery/writes.json` keeps of one lease: the last number given out, and writes without answer.

    A number that no write could have, or that leaves none above it, is damage: the file counts as lost.
    """

    generation: int
    nonce: str
    seq: int = Field(default=0, ge=0, le=HIGHEST_SEQ - 1)
    pending: dict[str, Pending] = Field(default_factory=dict)


def unanswered(home: Home, identity: Identity, operation: str) -> Pending | None:
    """The write of this kind whose answer is still missing under the present lease."""
    return _counters(home, identity).pending.get(operation)


def begin(home: Home, identity: Identity, operation: str, body: dict[str, Any]) -> Pending:
    """Key and number for a write, saved before this returns.

    The same body as that of the unanswered write of this kind gets the same key; another body gets a new key and
    a higher number, and the unanswered one counts as overtaken.
    """
    with home.locked():
        counters = _counters(home, identity)
        waiting = counters.pending.get(operation)
        if waiting is not None and waiting.body == body:
            return waiting
        begun = Pending(key=uuid.uuid4().hex, seq=counters.seq + 1, body=body)
        _save(home, counters, begun.seq, {**counters.pending, operation: begun})
        return begun


def settle(home: Home, identity: Identity, operation: str) -> None:
    """The write of this kind has its answer: its key is not needed any more."""
    with home.locked():
        counters = _counters(home, identity)
        rest = {name: value for name, value in counters.pending.items() if name != operation}
        _save(home, counters, counters.seq, rest)


def send(home: Home, service: Service, identity: Identity, operation: str, body: dict[str, Any]) -> WriteAnswer:
    """Carries out a write and returns its answer. Raises Refused; after an unclear outcome the key is kept."""
    for tried in range(1, TRIES + 1):
        waiting = unanswered(home, identity, operation)
        begun = begin(home, identity, operation, body)
        request = _kind(operation).model_validate({**begun.body, "key": begun.key, "seq": begun.seq})
        try:
            answer = service.write(identity.token, operation, request)
        except Refused as refused:
            if is_definite(refused):
                settle(home, identity, operation)
            blocked = refused.blocked
            if blocked.code is not Code.STALE_REQUEST or blocked.highest_seq is None or tried == TRIES:
                raise
            if not learn(home, identity, blocked.highest_seq) and begun != waiting:
                raise
            continue
        settle(home, identity, operation)
        return answer
    raise AssertionError("unreachable: the last try returns or raises")


def _kind(operation: str) -> type[WriteRequest]:
    """What is sent to a path: `checkpoint`, or `effects/KEY/dispatch`, by its last word."""
    return _KINDS[operation.rpartition("/")[2]]


def learn(home: Home, identity: Identity, highest: int) -> bool:
    """Counts on from `highest`, the ledger's highest number. False where this folder gave that number out itself: then
    a later write of its own overtook the refused one, and sending that again would put old over new.
    """
    with home.locked():
        counters = _counters(home, identity)
        if highest <= counters.seq:
            return False
        _save(home, counters, highest, counters.pending)
        return True


def _counters(home: Home, identity: Identity) -> Counters:
    mine = Counters(generation=identity.claims.generation, nonce=identity.claims.nonce)
    try:
        saved = home.load(FILE, Counters)
    except Refused:
        # Damaged: what it held is learnt again from the ledger, as when it is lost.
        saved = None
    same_lease = saved is not None and (saved.generation, saved.nonce) == identity.claims.identity
    return saved if saved is not None and same_lease else mine


def _save(home: Home, counters: Counters, seq: int, pending: dict[str, Pending]) -> None:
    home.save(FILE, counters.model_copy(update={"seq": seq, "pending": pending}))
