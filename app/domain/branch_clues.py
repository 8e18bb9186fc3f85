"""What speaks for where a ticket's work is and where it goes, as GitHub shows it: the input of `missing_pull`.

All names here are other people's text: compared, and shown only through what neutralises it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from app.domain.observation import Branch

MOST_TRUNKS = 6
"""Trunks that a branch is compared with where nothing says which of them is meant."""
MOST_CANDIDATES = 4
"""Branches of one ticket that are compared; more of them are several branches, whatever is on them."""
MOST_BLOCKING = 5
"""Open Issues a ticket waits for whose branches are compared with its own."""


@dataclass(frozen=True)
class PullClue:
    """A pull request from one of the ticket's branches. `names`: the ticket in the first line of its text."""

    number: int
    state: Literal["OPEN", "CLOSED", "MERGED"]
    head_sha: str
    base: str
    own_repository: bool = True
    names: int | None = None


@dataclass(frozen=True)
class TicketBranch:
    """A branch of this repository that is linked to the Issue, or whose name says its number."""

    name: str
    sha: str
    linked: bool = False
    pulls: tuple[PullClue, ...] = ()


@dataclass(frozen=True)
class Waited:
    """An open Issue of this repository that the ticket waits for, with the branches its number names."""

    number: int
    branches: tuple[Branch, ...] = ()


@dataclass(frozen=True)
class Recorded:
    """What the ticket's own record says. `predecessor` is the checkpoint's."""

    branch: str
    trunk: str
    predecessor: int | None = None


@dataclass(frozen=True)
class Release:
    """The Project's field for the target release."""

    project: int
    field: str
    text: str


@dataclass(frozen=True)
class Compared:
    """A commit beside another one. `ahead`: its own commits; `base`: the newest commit both have; `names`: the tickets
    that the trailers of its own commits name; `read_all`: whether all of these were read.
    """

    ahead: int
    behind: int
    base: str
    names: tuple[int, ...] = ()
    read_all: bool = True


@dataclass(frozen=True)
class NoCommonHistory:
    """The two commits have no ancestor in common."""


Pair = tuple[str, str]
"""Two commits: what it is compared with, and what is compared."""


@dataclass(frozen=True)
class Clues:
    """Everything that is known. `trunks`: the existing branches that the policy makes trunks. `shared`: the default
    branch and the base of releases, which are no ticket's whatever their names or links. `elsewhere`: linked branches
    of other repositories. `subject`: what has the ticket's number.
    """

    ticket: int
    trunks: tuple[Branch, ...]
    branches: tuple[TicketBranch, ...] = ()
    subject: Literal["open issue", "closed issue", "pull request", "nothing"] = "open issue"
    elsewhere: tuple[str, ...] = ()
    recorded: Recorded | None = None
    release: Release | None = None
    waits_for: tuple[Waited, ...] = ()
    compared: Mapping[Pair, Compared | NoCommonHistory] = field(default_factory=dict)
    shared: frozenset[str] = frozenset()
