"""Hints: where a faster way back may lie, such as a container snapshot or the native session of an agent.

A hint is never the truth about the work (section 2 of the recovery specification): a fresh agent may try it, and then
compares it with the ledger all the same. It stands in the checkpoint's `artifact_refs`, as `hint:<kind>:<identifier>`.
An identifier is opaque and public: links are refused, because a link to a private session is a way into it.
"""

import re
from enum import StrEnum

from app.domain.secret_shapes import redact

PREFIX = "hint:"
MAX_IDENTIFIER = 200

_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@/+-]{0,199}")
_LINK = re.compile(r"^[a-z][a-z0-9+.-]*://|^www\.", re.IGNORECASE)


class HintKind(StrEnum):
    CONTAINER_SNAPSHOT = "container-snapshot"
    FILESYSTEM_SNAPSHOT = "filesystem-snapshot"
    NATIVE_SESSION = "native-session"


class NotAHint(ValueError):
    """The text is no hint; the message says why."""


def hint_of(text: str) -> str:
    """The entry of `artifact_refs` for `KIND=IDENTIFIER`. Raises NotAHint."""
    name, equals, identifier = text.partition("=")
    kinds = ", ".join(HintKind)
    if not equals or name not in set(HintKind):
        raise NotAHint(f"a hint is KIND=IDENTIFIER, KIND one of {kinds}")
    if "://" in identifier or _LINK.match(identifier):
        raise NotAHint("a link is not kept: give the snapshot's or session's own identifier")
    if not _IDENTIFIER.fullmatch(identifier):
        raise NotAHint(f"an identifier is at most {MAX_IDENTIFIER} letters, digits and ._:@/+- after the first")
    if redact(identifier).kinds:
        # It would be taken out of the checkpoint, and what is left leads nowhere.
        raise NotAHint("what looks like a secret, or opens a private session, is not kept: many can read the ledger")
    return f"{PREFIX}{name}:{identifier}"


def with_hints(artifact_refs: tuple[str, ...], hints: tuple[str, ...]) -> tuple[str, ...]:
    """The references with these hints; one of each kind stands, the latest."""
    kept = [ref for ref in artifact_refs if not any(_kind(ref) == _kind(hint) for hint in hints)]
    return (*kept, *dict.fromkeys(hints))


def hints_in(artifact_refs: tuple[str, ...]) -> tuple[str, ...]:
    """The hints among the references, without the prefix: `kind:identifier`."""
    return tuple(ref.removeprefix(PREFIX) for ref in artifact_refs if _kind(ref) is not None)


def _kind(ref: str) -> str | None:
    kind = ref.removeprefix(PREFIX).partition(":")[0]
    return kind if ref.startswith(PREFIX) and kind in set(HintKind) else None
