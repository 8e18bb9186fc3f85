"""What the evidence about a ticket's work says, as values: who spoke, what was found, and what is missing."""

from dataclasses import dataclass
from enum import StrEnum

from app.domain.branch_clues import Pair


class Source(StrEnum):
    """What spoke, in the order in which it is asked."""

    RECORD = "the record"
    LINKED_BRANCH = "the linked branch"
    BRANCH_NAME = "the branch's name"
    PULL = "the open pull request"
    TRAILERS = "the commit trailers"
    PROJECT = "the Project field"
    DEPENDENCIES = "the dependencies"
    POLICY = "the policy's trunks"


@dataclass(frozen=True)
class Said:
    """One piece of evidence: who says it, and what."""

    source: Source
    what: str

    def __str__(self) -> str:
        return f"by {self.source}, {self.what}"


class Gap(StrEnum):
    """What is missing, or what cannot be."""

    SEVERAL_BRANCHES = "several-branches"
    SEVERAL_PULLS = "several-pulls"
    BRANCH_ELSEWHERE = "branch-elsewhere"
    CONTRADICTION = "contradiction"
    NO_TRUNK = "no-trunk"
    TRUNK_UNCLEAR = "trunk-unclear"
    BASE_IS_NO_TRUNK = "base-is-no-trunk"
    BRANCHING_DEPENDENCIES = "branching-dependencies"
    UNRELATED = "unrelated-history"
    PREDECESSOR_UNCLEAR = "predecessor-unclear"


@dataclass(frozen=True)
class Uncertain:
    """The App opens no PR: `reason` names what is missing or the two that contradict, `remedy` what settles it."""

    gap: Gap
    reason: str
    remedy: str


@dataclass(frozen=True)
class NotStarted:
    """There is nothing to open a PR for, and nothing is wrong."""

    reason: str


@dataclass(frozen=True)
class NoTicket:
    """The number is no open Issue's: nothing of it is touched, and nobody is told."""

    reason: str


@dataclass(frozen=True)
class LeftAlone:
    """A person closed the branch's PR: that is left as it is."""

    pull: int
    reason: str


@dataclass(frozen=True)
class Predecessor:
    """The ticket that the work is stacked on. `sha`: its newest commit that the work contains."""

    number: int
    branch: str
    sha: str


@dataclass(frozen=True)
class Rebuilt:
    """The work's branch and head, the trunk it lands on, and the base of its PR: the trunk, or the predecessor's branch
    where it is stacked. `base_sha` is the newest commit it shares with that base. `pull`: its open PR, where there is
    one.
    """

    branch: str
    sha: str
    trunk: str
    base: str
    base_sha: str
    because: tuple[Said, ...]
    predecessor: Predecessor | None = None
    pull: int | None = None


@dataclass(frozen=True)
class ToCompare:
    """These comparisons decide, and were not made yet."""

    pairs: tuple[Pair, ...]


Found = Rebuilt | NotStarted | NoTicket | LeftAlone | Uncertain | ToCompare


class Unsettled(Exception):
    """Carries an answer out of the middle of the reasoning."""

    def __init__(self, answer: NotStarted | NoTicket | LeftAlone | Uncertain | ToCompare) -> None:
        super().__init__()
        self.answer = answer


def contradiction(first: Said, second: Said, remedy: str) -> Uncertain:
    """Two pieces of evidence that cannot both be right; `remedy` says who settles it."""
    return Uncertain(Gap.CONTRADICTION, f"{first}, but {second}", remedy)
