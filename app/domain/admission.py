"""What of an agent's checkpoint is stored: redacted before anything is shortened, and every change reported.

Left out or replaced, never an error: secrets, machine paths, unknown fields, fields that hold private reasoning,
control characters, what the service derives itself. An error only for a wrong type and for more than 40 KiB. A field
whose scan fails is withheld, never stored unscanned; where no text could be scanned at all, the checkpoint is, because
an empty one would take the place of the last good one.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.domain.checkpoint import DERIVED_FIELDS, MAX_BYTES, Change, Checkpoint
from app.domain.embedded_json import embedded_json
from app.domain.machine_paths import portable
from app.domain.outcome import Blocked, Code
from app.domain.plain_text import clean, cut, one_line
from app.domain.secret_shapes import redact
from app.domain.triggers import TRIGGERS

MAX_RAW = 4 * MAX_BYTES
"""Characters a checkpoint may have before it is scanned: what is taken out may be large, a scan is not for free."""
MAX_CHANGES = 50
MAX_STEP_ID = 64

_TEXTS = (
    "pending_validation",
    "active_children",
    "integrated_child_results",
    "external_side_effects",
    "blockers",
    "decision_refs",
    "artifact_refs",
    "accepted_decisions",
    "relevant_refs",
)
_STEPS = ("completed_steps", "next_steps")
_TEXT = ("checkpoint_sha_or_snapshot", "objective", "current_diff", "validation_state")
_NUMBER = ("predecessor_issue_or_pr",)
_SHA = ("predecessor_sha",)
_ACCEPTED = frozenset((*_TEXTS, *_STEPS, *_TEXT, *_NUMBER, *_SHA))

_REASONING = re.compile(r"think|thought|chainofthought|^cot$|reasoning|scratchpad|monologue|innervoice|deliberation")
_REASONING_BLOCK = re.compile(r"(?is)<(think|thinking|reasoning|scratchpad|thought)>.*?(?:</\1>|\Z)")
_FULL_SHA = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Admitted:
    """The checkpoint to store, and what was done to the one that was sent."""

    checkpoint: Checkpoint
    changes: tuple[Change, ...] = ()


class _WrongType(Exception):
    def __init__(self, field: str, expected: str) -> None:
        super().__init__(field)
        self.field = field
        self.expected = expected


def admit(raw: Mapping[str, Any], *, root_hints: Sequence[str] = ()) -> Admitted | Blocked:
    """The checkpoint as it may be stored. `root_hints` are absolute paths of the work tree, where the caller knows
    them. Derived fields are left out; the service fills them in. Raises nothing, whatever `raw` holds.
    """
    admission = _Admission(root_hints)
    try:
        fields = admission.fields_of(raw)
    except _WrongType as wrong:
        return Blocked(
            Code.CHECKPOINT_INVALID,
            f"{wrong.field} must be {wrong.expected}",
            f"correct {wrong.field} in the checkpoint and send it again; nothing was stored",
        )
    if admission.characters > MAX_RAW:
        return _too_large(f"more than {MAX_RAW} characters", admission.largest)
    if admission.scan_failed and not admission.scanned:
        return Blocked(
            Code.CHECKPOINT_INVALID,
            "the checkpoint is withheld: it could not be scanned for secrets",
            "nothing was stored, and the last checkpoint stands; report this, and keep what you wrote on this machine",
        )
    checkpoint = Checkpoint.model_validate(fields)
    size = stored_size(checkpoint)
    if size > MAX_BYTES:
        sizes = {name: len(embedded_json(value)) for name, value in fields.items()}
        return _too_large(f"{size} bytes as it would be stored", sizes)
    return Admitted(checkpoint, _capped(admission.changes))


def stored_size(checkpoint: Checkpoint) -> int:
    """The bytes a checkpoint takes as it stands in the comment: whole, as embedded JSON, which is ASCII. Ask again
    after anything was merged into an admitted checkpoint.
    """
    return len(embedded_json(checkpoint.model_dump(mode="json")))


class _Admission:
    """One checkpoint on its way in: collects the changes while it reads the fields."""

    def __init__(self, root_hints: Sequence[str]) -> None:
        self.root_hints = root_hints
        self.changes: list[Change] = []
        self.characters = 0
        self.largest: dict[str, int] = {}
        self.scanned = self.scan_failed = False

    def fields_of(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        derived = [name for name in DERIVED_FIELDS if raw.get(name) is not None]
        if derived:
            self._change(", ".join(derived), "derived", "the service fills these in from GitHub and the ledger")
        typed: dict[str, Any] = {}
        for name, value in raw.items():
            if name == "trigger":
                self._trigger(value, typed)
            elif name in _ACCEPTED:
                if value is not None:
                    typed[name] = self._typed(name, value)
            elif name not in DERIVED_FIELDS:
                self._left_out(name)
        if self.characters > MAX_RAW:
            return {}
        cleaned = {name: self._scanned(name, value) for name, value in typed.items()}
        return {name: value for name, value in cleaned.items() if value is not None}

    # --- types, before anything costly ---

    def _typed(self, name: str, value: Any) -> Any:
        if name in _NUMBER:
            if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**31:
                raise _WrongType(name, "the number of an Issue or pull request")
            return value
        if name in _SHA:
            return self._sha(name, value)
        if name in _TEXT:
            return self._text(name, value)
        if not isinstance(value, (list, tuple)):
            raise _WrongType(name, "a list")
        if name in _TEXTS:
            return [self._text(f"{name}[{i}]", item) for i, item in enumerate(value)]
        return [self._step(f"{name}[{i}]", item) for i, item in enumerate(value)]

    def _trigger(self, value: Any, typed: dict[str, Any]) -> None:
        if isinstance(value, str) and value in TRIGGERS:
            typed["trigger"] = value
        elif value is not None:
            self._left_out("trigger")

    def _text(self, where: str, value: Any) -> str:
        if not isinstance(value, str):
            raise _WrongType(where, "text")
        self.characters += len(value) + 1
        top = re.split(r"[\[.]", where)[0]
        self.largest[top] = self.largest.get(top, 0) + len(value)
        return value

    def _sha(self, where: str, value: Any) -> str | None:
        if value is None or value == "":
            return None
        if not isinstance(value, str) or not _FULL_SHA.fullmatch(value.lower()):
            raise _WrongType(where, "a full commit SHA of 40 hexadecimal characters")
        return value.lower()

    def _step(self, where: str, value: Any) -> dict[str, Any]:
        if isinstance(value, str):
            return {"text": self._text(where, value)}
        if not isinstance(value, Mapping):
            raise _WrongType(where, "a step: text, or an object with text, id and sha")
        for key in value:
            if key not in {"text", "id", "sha"}:
                self._left_out(key, where)
        identity = value.get("id")
        # Agents number their steps; a number's text names the step as well.
        if isinstance(identity, int) and not isinstance(identity, bool) and abs(identity) < 10**9:
            identity = str(identity)
        step = {
            "text": self._text(f"{where}.text", value.get("text")),
            "sha": self._sha(f"{where}.sha", value.get("sha")),
        }
        return step if identity is None else {**step, "id": self._text(f"{where}.id", identity)}

    # --- contents ---

    def _scanned(self, name: str, value: Any) -> Any:
        try:
            if name in _TEXT:
                return self._admitted(name, value)
            if name in _TEXTS:
                return tuple(self._admitted(f"{name}[{i}]", item) for i, item in enumerate(value))
            if name in _STEPS:
                return tuple(self._admitted_step(f"{name}[{i}]", item) for i, item in enumerate(value))
            return value
        except Exception:
            # Whatever went wrong in a scanner: unscanned text is never stored, and the rest need not suffer.
            self.scan_failed = True
            self._change(name, "withheld", "it could not be scanned for secrets, so it was not stored")
            return None

    def _admitted_step(self, where: str, step: dict[str, Any]) -> dict[str, Any]:
        result = {**step, "text": self._admitted(f"{where}.text", step["text"])}
        if "id" in step:
            identity = one_line(self._admitted(f"{where}.id", step["id"]))
            result["id"] = cut(identity, MAX_STEP_ID)
            if result["id"] != identity:
                self._change(f"{where}.id", "shortened", f"to {MAX_STEP_ID} bytes")
        return result

    def _admitted(self, where: str, text: str) -> str:
        text, blocks = _REASONING_BLOCK.subn("", clean(text))
        if blocks:
            self._change(where, "left_out", "a block of private reasoning")
        redacted = redact(text)
        if redacted.kinds:
            self._change(where, "redacted", ", ".join(redacted.kinds))
        paths = portable(redacted.text, self.root_hints)
        if paths.removed:
            self._change(where, "redacted", "path")
        if paths.relative:
            self._change(where, "shortened", "paths in the work tree made relative to the repository")
        self.scanned = True
        return paths.text

    # --- reports ---

    def _left_out(self, key: Any, where: str = "") -> None:
        name = _shown(key)
        plain = re.sub(r"[^a-z]", "", str(key).lower()[:200])
        why = "private reasoning is not stored" if _REASONING.search(plain) else "not a field of the checkpoint"
        self._change(f"{where}.{name}" if where else name, "left_out", why)

    def _change(self, field: str, kind: str, detail: str) -> None:
        self.changes.append(Change(field=field, kind=kind, detail=detail))


def _shown(key: Any) -> str:
    """A stranger's key as a report may show it: even a key can be a token."""
    text = str(key)[:400]
    if redact(text).kinds or not re.fullmatch(r"[A-Za-z0-9_.-]{1,60}", text):
        return "(a name not shown)"
    return text


def _capped(changes: list[Change]) -> tuple[Change, ...]:
    distinct = tuple(dict.fromkeys((c.field, c.kind, c.detail) for c in changes))
    shown = [Change(field=f, kind=k, detail=d) for f, k, d in distinct[:MAX_CHANGES]]
    if len(distinct) > MAX_CHANGES:
        more = f"{len(distinct) - MAX_CHANGES} more changes of this kind"
        shown.append(Change(field="…", kind=distinct[MAX_CHANGES][1], detail=more))
    return tuple(shown)


def _too_large(size: str, sizes: Mapping[str, int]) -> Blocked:
    largest = sorted(sizes, key=lambda name: (-sizes[name], name))[:3]
    return Blocked(
        Code.CHECKPOINT_TOO_LARGE,
        f"the checkpoint has {size}; the limit is {MAX_BYTES} bytes",
        f"shorten {', '.join(largest)}: put long texts into a commit and name it in artifact_refs; nothing was stored",
    )
