"""What the doctor says of an installation: one thing at a time, and what to do where something is wrong."""

from dataclasses import dataclass
from enum import StrEnum


class Health(StrEnum):
    """Of one thing. `advisory`: it works and GitHub enforces nothing."""

    FINE = "fine"
    ADVISORY = "advisory"
    MEND = "to mend"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Told:
    """`check` names what was looked at; `seen` is what there is, `remedy` what a person can do about it."""

    check: str
    health: Health
    seen: str
    remedy: str | None = None
