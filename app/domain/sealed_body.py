"""The machine-readable part of a handoff comment and check-run: the whole checkpoint and where it came from.

A reader without us needs nothing else to go on, and a ledger whose refs are lost can be rebuilt from it. It counts only
with the service's seal over its exact bytes, because anybody with write access can edit a comment.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from app.domain.embedded_json import embedded_json
from app.domain.plain_text import one_line, shorten
from app.domain.record import Record
from app.domain.ticket_id import as_json

ANSWER_BYTES = 120
"""Of what a person was answered, in the sealed text: who repeats their word needs no more to know it again."""
_BLOCK = re.compile(r"^```json agent-recovery\n(?P<payload>[^\n`]{2,60000})\n```$", re.MULTILINE)
_SEAL = re.compile(r"^<!-- seal (?P<seal>[A-Za-z0-9:._=-]{10,300}) -->$", re.MULTILINE)


def payload_of(record: Record, *, repository_id: int, ledger_ref: str, ledger_commit: str) -> str:
    """The JSON, one line of ASCII, canonical: the same record always gives the same text."""
    fields: dict[str, Any] = {
        "schema": 1,
        "repository_id": repository_id,
        "ledger_ref": ledger_ref,
        "ledger_commit": ledger_commit,
        "ticket": as_json(record.ticket_id),
        "generation": record.generation,
        "sequence": record.sequence,
        "status": record.status,
        "published": record.published.model_dump(mode="json") if record.published else None,
        "checkpoint": record.checkpoint.model_dump(mode="json"),
        "effects": [effect.model_dump(mode="json", exclude_none=True) for effect in record.effects],
        "effect_keys": record.effect_keys,
        "children": list(record.children),
        "ended": record.ended.model_dump(mode="json") if record.ended else None,
    }
    if record.burned_shas:
        fields["burned_shas"] = list(record.burned_shas)
    if record.commands:
        fields["commands"] = [_shortened(command) for command in record.commands]
    if record.spawn is not None:
        fields["spawn"] = record.spawn.model_dump(mode="json")
    return embedded_json(fields)


def _shortened(command: dict[str, Any]) -> dict[str, Any]:
    """A person's command, so that it is known again after the ledger was lost and is never carried out twice."""
    answer = command.get("answer")
    return command | {"answer": shorten(one_line(answer), ANSWER_BYTES)[0]} if isinstance(answer, str) else command


def body_preimage(payload: str) -> bytes:
    """What the service seals: the payload under a name of its own, so that no other seal can stand in for it."""
    return b"agent-recovery sealed body\n" + payload.encode()


def block(payload: str, seal: str) -> str:
    """The payload and its seal as they stand in a comment, folded away."""
    return (
        "<details><summary>Checkpoint for the next agent (JSON)</summary>\n\n"
        f"```json agent-recovery\n{payload}\n```\n\n</details>\n<!-- seal {seal} -->"
    )


@dataclass(frozen=True)
class SealedBody:
    """What a comment claims; believe it only after its seal was checked over `payload`."""

    payload: str
    seal: str
    fields: dict[str, Any]


def parse(body: str) -> SealedBody | None:
    """The last payload and seal in a comment's text, or None where there is none in the right form."""
    body = body.replace("\r\n", "\n")
    payloads, seals = list(_BLOCK.finditer(body)), list(_SEAL.finditer(body))
    if not payloads or not seals:
        return None
    payload, seal = payloads[-1]["payload"], seals[-1]["seal"]
    try:
        fields = json.loads(payload)
    except (ValueError, RecursionError):
        return None
    return SealedBody(payload, seal, fields) if isinstance(fields, dict) else None
