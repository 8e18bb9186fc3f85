"""A pushed checkpoint, admitted again by the service.

A holder's fenced push writes its checkpoint, and may write its effects, into the ledger past the service. Before any of
it is shown or written on, it passes the same admission as what came by the API, and the checkpoint's derived fields are
the record's, not the holder's.
"""

from typing import Any

from app.domain.admission import Admitted, admit
from app.domain.checkpoint import DERIVED_FIELDS, Checkpoint
from app.domain.derived import derived
from app.domain.effect_journal import admitted as effects_admitted
from app.domain.record import Record

NOTICE = "A pushed checkpoint was too large to be kept whole; left out: "


def admitted_again(record: Record) -> Record:
    """The record with an admitted checkpoint and effects. Pure and idempotent, so a second look changes nothing."""
    record = effects_admitted(record)
    before = record.checkpoint
    written = before.updated_at or (record.lease.granted_at if record.lease else None)
    sent = {k: v for k, v in before.model_dump(mode="json", exclude_unset=True).items() if k not in DERIVED_FIELDS}
    checkpoint = _fitting(sent)
    if written is None:
        return record.model_copy(update={"checkpoint": checkpoint})
    return record.model_copy(update={"checkpoint": derived(record, checkpoint, now=written)})


def _fitting(sent: dict[str, Any]) -> Checkpoint:
    """The admitted checkpoint; where it is too large its largest fields are left out one by one, and that is said."""
    left_out: list[str] = []
    while True:
        extra = {"blockers": [*sent.get("blockers", ()), NOTICE + ", ".join(left_out)]} if left_out else {}
        admitted = admit({**sent, **extra})
        if isinstance(admitted, Admitted):
            return admitted.checkpoint
        if not sent:
            return Checkpoint()
        largest = max(sent, key=lambda name: len(str(sent[name])))
        sent = {name: value for name, value in sent.items() if name != largest}
        left_out.append(largest)
