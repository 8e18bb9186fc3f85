"""What a probe found: GitHub behaves as we rely on, or otherwise, or it could not be tried."""

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """Of one probe."""

    AS_RELIED_ON = "as relied on"
    OTHERWISE = "otherwise"
    NOT_TRIED = "not tried"


@dataclass(frozen=True)
class Finding:
    """`relied_on` is a row of docs/unverified.md; `seen` is what GitHub did, in words and with its own."""

    probe: str
    relied_on: str
    state: State
    seen: str
