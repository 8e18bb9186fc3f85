"""What a holder's own ledger commit may change, as a check and as a way to write one.

The ownership protocol, R21: `sequence` (+1), `requests`, `renewals`, `checkpoint`, `published`, `validations`, effects
of its own lease, its children's results, and `status` among working, waiting and ready. Every other field, unknown
ones too, stays as it was. Compared as plain JSON, so that a field of a newer version is guarded too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.domain.checkpoint import DERIVED_FIELDS, Checkpoint
from app.domain.child_contract import ListedChild, SealedResult
from app.domain.effect import SETTLED
from app.domain.effect_journal import find
from app.domain.record import AGENT_MAX_BYTES, AGENT_STATUSES, KEPT_REQUESTS, Answered, Published, Record
from app.ledger.codec import Entry, dump_fields, same_json


class Relisted(Exception):
    """What was about to be integrated is not what the ledger lists any more; nothing was written."""


@dataclass(frozen=True)
class Integrated:
    """A child's result as it was judged: `listed` is its place on the list that it was judged by."""

    listed: ListedChild
    result: SealedResult


_FREE = frozenset({"checkpoint", "validations"})
_ORDER = {"intended": 0, "abandoned": 1, "dispatching": 1, "unknown": 2, "confirmed": 3, "failed_no_effect": 3}
_STATUSES_BEFORE = AGENT_STATUSES | {"recovering", "exhausted"}
"""A hold, an end or a hand-off is not for the holder to undo. A lease that nobody took over is the current one, also
where the ticket's attempts are used up: a late holder's work is taken (the ownership protocol, R15).
"""


def breach(previous: Record, before: dict[str, Any], record: Record, after: dict[str, Any]) -> str | None:
    """What the holder of `previous`'s lease changed although it may not, or None.

    `before` and `after` are the raw fields of the two records.
    """
    identity = previous.identity
    if identity is None:
        return "the holder's commit stands on a record that nobody holds"
    if record.sequence != previous.sequence + 1:
        return "sequence does not go up by one"
    for name in sorted(before.keys() | after.keys()):
        if name == "sequence" or name in _FREE or _unchanged(name, before, after):
            continue
        if not _may_change(name, previous, before, record, after):
            return f"{_quoted(name)} is not the holder's to change like that"
    if previous.status not in _STATUSES_BEFORE:
        return f"a ticket that is {previous.status} takes no commits of a holder"
    return None


def amend_as_agent(
    previous: Entry,
    *,
    checkpoint: Checkpoint | None = None,
    published: Published | None = None,
    status: str | None = None,
    request: Answered | None = None,
    integrated: Sequence[Integrated] = (),
) -> str:
    """The text of the record that follows `previous`, changed only where its holder may change it.

    Works on the raw JSON, so that fields this version does not know stay as they are. `renewals` goes up by one: that
    is how a holder's push renews its lease without trusting its clock. In the checkpoint, what the service derives
    stays as the service wrote it. `integrated`: results of children that this push merges. Raises NotStorable where
    the result would leave the service no room (44 KiB), Relisted where a child's place on the list is another one
    meanwhile, ValueError where `previous` cannot be read or is nobody's.
    """
    record = previous.record
    if not isinstance(record, Record) or record.lease is None:
        raise ValueError("only the holder's own readable record can be amended")
    fields = previous.raw_fields()
    fields["sequence"] = record.sequence + 1
    fields["renewals"] = record.renewals + 1
    if published is not None:
        fields["published"] = published.model_dump(mode="json")
    if status is not None:
        fields["status"] = status
    if request is not None:
        fields["requests"] = [*fields.get("requests", []), request.model_dump(mode="json")][-KEPT_REQUESTS:]
    for merged in integrated:
        fields["children"] = _with_result(fields.get("children", []), merged)
    if checkpoint is not None:
        fields["checkpoint"] = _merged(fields.get("checkpoint", {}), checkpoint, published)
        fields["checkpoint"] |= {"execution_generation": record.lease.generation, "status": fields["status"]}
    return dump_fields(fields, AGENT_MAX_BYTES)


def _with_result(children: list[dict[str, Any]], merged: Integrated) -> list[dict[str, Any]]:
    wanted = _without_result(merged.listed.model_dump(mode="json"))
    if not any(same_json(_without_result(child), wanted) for child in children):
        raise Relisted(f"the child {merged.listed.name} was asked for anew, cancelled or taken off the list meanwhile")
    result = merged.result.model_dump(mode="json")
    return [{**child, "result": result} if child.get("name") == merged.listed.name else child for child in children]


def _merged(before: dict[str, Any], checkpoint: Checkpoint, published: Published | None) -> dict[str, Any]:
    """What is new replaces what was; of what the service derives, and of what this version does not know, what stands
    stays.
    """
    kept = {name: value for name, value in before.items() if value is not None and _is_kept(name)}
    sent = checkpoint.model_dump(mode="json")
    if published is not None and sent.get("checkpoint_sha_or_snapshot") is None:
        sent["checkpoint_sha_or_snapshot"] = published.sha
    return sent | kept


def _is_kept(name: str) -> bool:
    return name in DERIVED_FIELDS or name not in Checkpoint.model_fields


def _unchanged(name: str, before: dict[str, Any], after: dict[str, Any]) -> bool:
    return name in before and name in after and same_json(before[name], after[name])


def _may_change(name: str, previous: Record, before: dict[str, Any], record: Record, after: dict[str, Any]) -> bool:
    identity = previous.identity
    match name:
        case "renewals":
            return record.renewals == previous.renewals + 1
        case "status":
            return record.status in AGENT_STATUSES
        case "published":
            new = record.published
            return new is not None and (new.generation, new.nonce) == identity and new.sha not in previous.burned_shas
        case "requests":
            own = record.requests[-1:]
            expected = [*before.get("requests", []), *after.get("requests", [])[-1:]][-KEPT_REQUESTS:]
            return same_json(after.get("requests"), expected) and all(r.generation == previous.generation for r in own)
        case "effects":
            return _go_on(previous, record) and same_json(
                [e for e in before.get("effects", []) if not _is_own(e, identity)],
                [e for e in after.get("effects", []) if not _is_own(e, identity)],
            )
        case "children":
            return same_json(
                [_without_result(child) for child in before.get("children", [])],
                [_without_result(child) for child in after.get("children", [])],
            )
    return False


def _go_on(previous: Record, record: Record) -> bool:
    """Whether every effect that was there still is, and none was set back: a key that could be forgotten or begun
    again would let the same effect happen twice. Given up is said by the service alone, when a lease ends: what is
    given up may be begun anew.
    """
    now = {effect.key: effect for effect in record.effects}
    known = {effect.key for effect in previous.effects}
    if len(now) != len(record.effects) or any(find(previous, key) for key in now.keys() - known):
        return False
    return all(
        (after := now.get(before.key)) is not None
        and (after.kind, after.identity) == (before.kind, before.identity)
        and _ORDER[after.state] >= _ORDER[before.state]
        and (after.state != "abandoned" or before.state == "abandoned")
        and (before.attempt in (None, after.attempt))
        and (before.state not in SETTLED or after == before)
        for before in previous.effects
    )


def _is_own(effect: dict[str, Any], identity: tuple[int, str] | None) -> bool:
    return (effect.get("generation"), effect.get("nonce")) == identity


def _without_result(child: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in child.items() if name != "result"}


def _quoted(name: str) -> str:
    return "'" + "".join(c if c.isprintable() else "?" for c in name[:40]) + "'"
