"""Whether a person acts at this very moment: decided when a call comes, by the way it came, and by nothing else.

Not by where the ticket began, who enrolled it, who holds it, or what its record or checkpoint says: a ticket that was
begun by a person at a keyboard is resumed by a machine at night, and must not bring that person's leave along. So no
record can be handed in here. A token proves an account, never that anybody is there.
"""

from dataclasses import dataclass
from enum import StrEnum


class Way(StrEnum):
    """How a call comes in. The command line and other programs of the agent's speak through `API`."""

    API = "api"
    RUN = "run"
    GIT = "git"
    LOOP = "loop"
    TERMINAL = "terminal"
    COMMENT = "comment"


@dataclass(frozen=True)
class Attended:
    """A person acts now. `why`: what that is concluded from, with what it leaves open."""

    why: str


@dataclass(frozen=True)
class Unattended:
    """Nobody is known to be there. `why`: what the call proves instead."""

    why: str


Attendance = Attended | Unattended

WAYS: dict[Way, Attendance] = {
    Way.API: Unattended("a lease token proves an account, not that a person acts"),
    Way.RUN: Unattended("a workflow run works by itself, whoever began the ticket"),
    Way.GIT: Unattended("a commit says who pushed it, not that a person looks on"),
    Way.LOOP: Unattended("the service acts by itself"),
    Way.TERMINAL: Unattended("the operator's settings prove the operator, not whose word it is"),
    Way.COMMENT: Attended("a person wrote it a moment ago; weaker than a sign-in, because an account can be borrowed"),
}
"""Every way in, and whether a person acts there."""


def attendance(way: Way) -> Attendance:
    """Whether a person acts, for a call that comes in this way at this moment."""
    return WAYS[way]


def of_holder(run: object | None) -> Attendance:
    """For a call with a lease token; `run`: the workflow run that the lease was granted to, if it was. Both are
    unattended, for different reasons.
    """
    return attendance(Way.API if run is None else Way.RUN)
