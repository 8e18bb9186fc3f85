"""Making a record fit: a holder pushes what it likes into its own fields, up to the last byte a record may have.

The service's next write adds to that, a successor's claim above all. Such a write must not fail because of what
somebody else filled in, so what the holder may write is shortened first: least needed first, the steps of the
checkpoint late, and what was left out is said where the next agent reads it. Pure.
"""

from typing import TypeVar

from app.domain.checkpoint import Checkpoint
from app.domain.effect_journal import lost_room
from app.domain.record import AGENT_MAX_BYTES, MAX_BYTES, Published, Record
from app.ledger.codec import encoded

NOTICE = "The record was too large to be kept whole; left out: "
ROOMY = AGENT_MAX_BYTES - 2 * 1024
"""Old answers go as soon as the record is larger, so that the holder's next push has room too."""

_T = TypeVar("_T")
_STEPS = ("completed_steps", "next_steps")


def fitted(record: Record, request: str | None = None) -> Record:
    """The record as it can be stored; the same one where it fits already.

    `request`: the key whose answer this write brings; it and the newest answer stay, while older ones are dropped first
    and silently, as they are when there are too many. What only the service writes is never touched, so a record can
    still be too large (`dump` refuses it then). Raises NotStorable on what is no JSON text.
    """
    while _size(record) > ROOMY and (rest := _without_oldest_answer(record, request)) is not None:
        record = rest
    left_out: dict[str, None] = {}
    told = record
    while _size(told) > MAX_BYTES and (shed := _shed(record)) is not None:
        name, record = shed
        left_out[name] = None
        told = _told(record, NOTICE + ", ".join(left_out))
    return told


def _size(record: Record) -> int:
    return len(encoded(record.model_dump(mode="json", by_alias=True)))


def _without_oldest_answer(record: Record, request: str | None) -> Record | None:
    # The newest answer stays: by its number an older request is still known to come too late (R16).
    newest = max(record.requests, key=lambda entry: (entry.generation, entry.seq), default=None)
    kept = {request, newest.key if newest else None}
    old = next((number for number, entry in enumerate(record.requests) if entry.key not in kept), None)
    if old is None:
        return None
    return record.model_copy(update={"requests": (*record.requests[:old], *record.requests[old + 1 :])})


def _shed(record: Record) -> tuple[str, Record] | None:
    """The next thing to leave out, by name, and the record without it; None where only the service's own is left."""
    published = record.published
    if published is not None and published.model_extra:
        bare = Published(sha=published.sha, generation=published.generation, nonce=published.nonce)
        return "additions to published", record.model_copy(update={"published": bare})
    if record.validations:
        return "validations", record.model_copy(update={"validations": _newer_half(record.validations)})
    if shorter := _shorter(record.checkpoint):
        name, checkpoint = shorter
        return name, record.model_copy(update={"checkpoint": checkpoint})
    if (shrunk := lost_room(record)) is not None:
        return "details of effects", shrunk
    if any("result" in child for child in record.children):
        bare_children = tuple({k: v for k, v in child.items() if k != "result"} for child in record.children)
        return "children's results", record.model_copy(update={"children": bare_children})
    return None


def _shorter(checkpoint: Checkpoint) -> tuple[str, Checkpoint] | None:
    fields = checkpoint.model_dump(exclude_unset=True)
    others = [name for name, value in fields.items() if name not in _STEPS and value]
    if others:
        largest = max(others, key=lambda name: len(str(fields[name])))
        del fields[largest]
        shown = largest if largest in Checkpoint.model_fields else "unknown fields"
        return shown, Checkpoint.model_validate(fields)
    if completed := checkpoint.completed_steps:
        return "completed_steps", checkpoint.model_copy(update={"completed_steps": _newer_half(completed)})
    if following := checkpoint.next_steps:
        return "next_steps", checkpoint.model_copy(update={"next_steps": following[: len(following) // 2]})
    return None


def _newer_half(entries: tuple[_T, ...]) -> tuple[_T, ...]:
    return entries[(len(entries) + 1) // 2 :]


def _told(record: Record, notice: str) -> Record:
    before = tuple(blocker for blocker in record.checkpoint.blockers if not blocker.startswith(NOTICE))
    return record.model_copy(
        update={"checkpoint": record.checkpoint.model_copy(update={"blockers": (*before, notice)})}
    )
