"""Record ↔ commit: how a record stands in git, and what a ledger commit says.

A ledger commit's tree holds one file, `record.json`; its first parent is the previous ledger commit, its second parent
the code commit the checkpoint speaks of. Its message is one subject line and trailers, the seal last, so that
`git log` on a ledger ref reads as the story of the ticket. The record in the tree decides; trailers repeat it for
readers. Pure: git object ids are computed here, nothing is read or written.
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar

from pydantic import ValidationError

from app.domain.model import Stored
from app.domain.record import MAX_BYTES, SCHEMA, Record
from app.domain.ticket_id import TicketId
from app.ledger.seals import SEAL_PREFIX, LeaseSeal, Sealer, ServiceSeal, parse_seal, seal_preimage, split_message

RECORD_FILE = "record.json"
AUTHOR_NAME = "Agent Recovery"
AUTHOR_EMAIL = "agent-recovery@users.noreply.github.com"

S = TypeVar("S", bound=Stored)

_MAX_DEPTH = 32
_MAX_INT = 2**63
_EVENT = re.compile(r"^[A-Za-z0-9][A-Za-z0-9 ,.:#()_/-]{0,79}$")
_WORD = re.compile(r"^[A-Za-z0-9_-]{1,128}$")


class NotStorable(Exception):
    """A record cannot be stored as it is; the message says why (too large, text that is no Unicode)."""


@dataclass(frozen=True)
class Unreadable:
    """A ledger commit holds something that is no record of ours, or that cannot be checked here."""

    reason: str
    at_sha: str | None = None


@dataclass(frozen=True)
class NewerSchema:
    """A newer version of the App wrote this record: nothing is concluded from it, nothing is written over it."""

    version: int
    at_sha: str | None = None


@dataclass(frozen=True)
class Author:
    """Who a ledger commit names as author and committer: explicit, so that the object is the same wherever made."""

    name: str = AUTHOR_NAME
    email: str = AUTHOR_EMAIL


@dataclass(frozen=True)
class Entry:
    """A ledger commit as it was read; nothing in it is believed before it was verified."""

    sha: str
    parent: str | None
    code_parent: str | None
    tree: str
    message: str
    record_text: str | None
    """The text of `record.json`, None where the tree has no such readable file."""
    surplus_parents: tuple[str, ...] = ()
    """Parents after the second: a ledger commit has none."""

    @classmethod
    def read(cls, sha: str, parents: Sequence[str], tree: str, message: str, record_text: str | None) -> "Entry":
        """From a commit's plain parts, parents in git's order."""
        first = parents[0] if parents else None
        second = parents[1] if len(parents) > 1 else None
        return cls(sha, first, second, tree, message, record_text, tuple(parents[2:]))

    @cached_property
    def record(self) -> Record | Unreadable | NewerSchema:
        """The record this commit holds, typed, or why it cannot be read."""
        if self.record_text is None:
            return Unreadable(f"the commit holds no readable {RECORD_FILE}", self.sha)
        read = load(self.record_text)
        match read:
            case Unreadable(reason):
                return Unreadable(reason, self.sha)
            case NewerSchema(version):
                return NewerSchema(version, self.sha)
        return read

    def raw_fields(self) -> dict[str, Any]:
        """The record's top-level fields as plain JSON values, unknown ones too; empty where it cannot be read."""
        parsed = parse(self.record_text) if self.record_text is not None else None
        return parsed if isinstance(parsed, dict) else {}

    @cached_property
    def seal(self) -> ServiceSeal | LeaseSeal | None:
        """Who the commit says sealed it; unverified."""
        return parse_seal(split_message(self.message)[1])

    @cached_property
    def trailers(self) -> dict[str, str]:
        """The trailers of the message, without the seal; of a name given twice nothing is kept."""
        body, _ = split_message(self.message)
        found: dict[str, str] = {}
        repeated: set[str] = set()
        for line in body.rpartition("\n\n")[2].split("\n"):
            name, colon, value = line.partition(": ")
            if colon and name.startswith("Recovery-"):
                repeated |= {name} & found.keys()
                found[name] = value
        return {name: value for name, value in found.items() if name not in repeated}

    @property
    def event(self) -> str:
        """What happened in this commit, in words; empty where it does not say."""
        return self.trailers.get("Recovery-Event", "")


@dataclass(frozen=True)
class Draft:
    """A ledger commit that is ready to be made: its object id is decided, nobody has it yet."""

    ref: str
    parent: str | None
    code_parent: str | None
    record_text: str
    tree: str
    message: str
    when: datetime

    @property
    def parents(self) -> tuple[str, ...]:
        return tuple(parent for parent in (self.parent, self.code_parent) if parent is not None)

    def entry(self, sha: str) -> Entry:
        """What will be read back once the commit exists under this id."""
        return Entry(sha, self.parent, self.code_parent, self.tree, self.message, self.record_text)


def dump(record: Record) -> str:
    """The record as canonical JSON: all fields, sorted keys, no spaces, plain UTF-8, one line end.

    Raises NotStorable where it would be larger than 48 KiB or holds text that is no Unicode.
    """
    return dump_fields(record.model_dump(mode="json", by_alias=True))


def dump_fields(fields: dict[str, Any], limit: int = MAX_BYTES) -> str:
    """`dump` for a record given as plain JSON values, of at most `limit` bytes. Raises NotStorable, also on what would
    be refused when it is read again.
    """
    return dump_as(Record, SCHEMA, fields, limit, "shorten the checkpoint")


def dump_as(model: type[S], schema: int, fields: dict[str, Any], limit: int, remedy: str) -> str:
    """`dump_fields` for a record of another kind; `remedy` is what to do where it is too large."""
    content = encoded(fields)
    if len(content) > limit:
        raise NotStorable(f"the record is {len(content)} bytes, at most {limit} are kept: {remedy}")
    text = content.decode("utf-8")
    read = load_as(model, schema, text)
    if not isinstance(read, model):
        # What a reader would refuse must never be sealed: the ledger could not be acted on any more.
        raise NotStorable(read.reason if isinstance(read, Unreadable) else "the record names a newer schema")
    return text


def encoded(fields: dict[str, Any]) -> bytes:
    """A record's plain JSON values as they are stored, of whatever size. Raises NotStorable on what is no JSON."""
    try:
        text = json.dumps(fields, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")) + "\n"
        return text.encode("utf-8")
    except (ValueError, TypeError, RecursionError) as error:
        raise NotStorable(f"the record is not plain JSON: {type(error).__name__}") from None


def load(text: str) -> Record | Unreadable | NewerSchema:
    """The record a text holds. Never raises, whatever the text is: strangers may write it."""
    return load_as(Record, SCHEMA, text)


def load_as(model: type[S], schema: int, text: str) -> S | Unreadable | NewerSchema:
    """`load` for a record of another kind, of at most this schema."""
    fields = parse(text)
    if isinstance(fields, Unreadable):
        return fields
    version = fields.get("schema")
    if type(version) is not int or version < 1:
        return Unreadable("the record names no schema")
    if version > schema:
        return NewerSchema(version)
    try:
        return model.model_validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"][:4])
        return Unreadable(f"field {where[:80]!r} of the record: {first['msg'][:120]}")
    except (ValueError, RecursionError) as error:
        return Unreadable(f"the record cannot be read: {type(error).__name__}")


def parse(text: str) -> dict[str, Any] | Unreadable:
    """The plain JSON object a text holds, under the limits every record obeys. Never raises."""
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        return Unreadable(f"the record is larger than {MAX_BYTES} bytes")
    try:
        value = json.loads(
            text,
            object_pairs_hook=_unique_keys,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_bounded,
        )
    except (ValueError, RecursionError) as error:
        reason = str(error)[:80] if isinstance(error, _Refusal) else "not JSON"
        return Unreadable(f"the record is malformed: {reason}")
    if not isinstance(value, dict):
        return Unreadable("the record is no JSON object")
    if not _is_tame(value):
        return Unreadable("the record is nested too deeply or holds text that is no Unicode")
    return value


def same_json(one: Any, other: Any) -> bool:
    """Equality of plain JSON values as JSON means it: true is not 1, 1 is not 1.0, order of keys does not matter."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def draft(
    *,
    ref: str,
    parent: str | None,
    code_parent: str | None,
    record: Record,
    event: str,
    repository_id: int,
    sealer: Sealer,
    request: str | None,
    when: datetime,
    nonce: str | None = None,
) -> Draft:
    """The sealed ledger commit that puts `record` on `parent` under `ref`.

    `event`: what happened, at most 80 plain characters. `request`: the idempotency key it answers. `nonce`: makes the
    commit this attempt's own, so that two writers of the same words are told apart (the ownership protocol, R8).
    Raises NotStorable (see `dump`), ValueError on an event, request or nonce that would break the message, or on a
    second parent without a first.
    """
    return draft_text(
        ref=ref,
        parent=parent,
        code_parent=code_parent,
        record_text=dump(record),
        event=event,
        repository_id=repository_id,
        sealer=sealer,
        request=request,
        when=when,
        nonce=nonce,
        numbers=(record.ticket_id, record.generation, record.sequence),
    )


def draft_text(
    *,
    ref: str,
    parent: str | None,
    code_parent: str | None,
    record_text: str,
    event: str,
    repository_id: int,
    sealer: Sealer,
    request: str | None,
    when: datetime,
    nonce: str | None,
    numbers: tuple[TicketId, int, int],
) -> Draft:
    """`draft` for a record that is text already; `numbers` are its ticket, generation and sequence."""
    ticket, generation, sequence = numbers
    return sealed_draft(
        ref=ref,
        parent=parent,
        code_parent=code_parent,
        record_text=record_text,
        subject=str(ticket),
        named={"Ticket": str(ticket), "Generation": str(generation), "Sequence": str(sequence)},
        event=event,
        repository_id=repository_id,
        sealer=sealer,
        request=request,
        when=when,
        nonce=nonce,
    )


def sealed_draft(
    *,
    ref: str,
    parent: str | None,
    code_parent: str | None,
    record_text: str,
    subject: str,
    named: Mapping[str, str],
    event: str,
    repository_id: int,
    sealer: Sealer,
    request: str | None,
    when: datetime,
    nonce: str | None,
) -> Draft:
    """The sealed commit of any ledger. `subject`: what it is about, the first words of the message; `named`: the
    trailers that repeat the record. Raises as `draft`.
    """
    if parent is None and code_parent is not None:
        raise ValueError("the first commit of a ledger has no code commit beside it")
    if not _EVENT.fullmatch(event):
        raise ValueError("an event is at most 80 plain characters on one line")
    for name, value in (("request", request), ("nonce", nonce)):
        if value is not None and not _WORD.fullmatch(value):
            raise ValueError(f"a {name} is 1 to 128 letters, digits, '-' or '_'")
    lines = [
        f"{subject} · {event}",
        "",
        *(f"Recovery-{name}: {value}" for name, value in named.items()),
        f"Recovery-Event: {event}",
        *([f"Recovery-Request: {request}"] if request else []),
        *([f"Recovery-Nonce: {nonce}"] if nonce else []),
    ]
    body = "\n".join(lines)
    tree = tree_sha(record_text)
    seal = sealer.seal(seal_preimage(repository_id, ref, parent, tree, code_parent, body))
    message = f"{body}\n{SEAL_PREFIX}{seal}"
    return Draft(ref, parent, code_parent, record_text, tree, message, when)


def blob_bytes(record_text: str) -> bytes:
    return record_text.encode("utf-8")


def tree_bytes(record_text: str) -> bytes:
    """The git tree with the single file `record.json`."""
    blob = hashlib.sha1(_object("blob", blob_bytes(record_text)), usedforsecurity=False).digest()
    return f"100644 {RECORD_FILE}".encode() + b"\0" + blob


def tree_sha(record_text: str) -> str:
    """The git object id of the tree that holds this record and nothing else."""
    return hashlib.sha1(_object("tree", tree_bytes(record_text)), usedforsecurity=False).hexdigest()


def commit_bytes(draft: Draft, author: Author | None = None) -> bytes:
    """The git commit object of a draft, without git's own header."""
    who = author or Author()
    stamp = f"{who.name} <{who.email}> {int(draft.when.timestamp())} +0000"
    lines = [
        f"tree {draft.tree}",
        *(f"parent {parent}" for parent in draft.parents),
        f"author {stamp}",
        f"committer {stamp}",
    ]
    return ("\n".join(lines) + "\n\n" + draft.message).encode("utf-8")


def commit_sha(draft: Draft, author: Author | None = None) -> str:
    """The git object id a draft gets."""
    return hashlib.sha1(_object("commit", commit_bytes(draft, author)), usedforsecurity=False).hexdigest()


def _object(kind: str, content: bytes) -> bytes:
    return f"{kind} {len(content)}".encode() + b"\0" + content


class _Refusal(ValueError):
    """JSON that Python would take and we do not."""


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Refusal("a key stands in it twice")
    return found


def _no_constant(name: str) -> Any:
    raise _Refusal("a number in it is not finite")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _Refusal("a number in it is not finite")
    return value


def _bounded(text: str) -> int:
    if len(text) > 20 or abs(int(text)) >= _MAX_INT:
        raise _Refusal("a number in it is too large")
    return int(text)


def _is_tame(value: Any) -> bool:
    """Nothing nested beyond the limit, no half of a surrogate pair in any text. Iterative, so depth cannot hurt."""
    layer, depth = [value], 1
    while layer:
        if depth > _MAX_DEPTH:
            return False
        below: list[Any] = []
        for item in layer:
            kind = type(item)  # of what the JSON reader made, so no class stands below these
            if kind is dict:
                below += item
                below += item.values()
            elif kind is list:
                below += item
            elif kind is str and not item.isascii() and any("\ud800" <= c <= "\udfff" for c in item):
                return False
        layer, depth = below, depth + 1
    return True
