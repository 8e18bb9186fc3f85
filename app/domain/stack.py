"""Stacks: the predecessor as the checkpoint records it, and as it stands now.

A recorded commit that is no longer the predecessor's is a stale base: it is taken in first, and every validation that
was made on it is void. A predecessor that landed in exactly the recorded state is no stale base: its commits, or its
squashed image, are on the trunk. Being merged into another ticket's branch is no landing.
"""

from dataclasses import dataclass

from app.domain.branches import owner_of_branch, ticket_of_branch
from app.domain.checkpoint import Checkpoint
from app.domain.surroundings import MOST_BRANCHES, OtherPull, Predecessor, Surroundings


@dataclass(frozen=True)
class NoPredecessor:
    """The work is not stacked on anything."""


@dataclass(frozen=True)
class SamePlace:
    """The predecessor stands where it was recorded."""

    number: int
    sha: str


@dataclass(frozen=True)
class HasLanded:
    """The recorded commit is on the trunk, or was merged from exactly that head."""

    number: int
    sha: str


@dataclass(frozen=True)
class MovedOn:
    """The predecessor is at another commit than the recorded one: a stale base."""

    number: int
    recorded: str
    now: str


@dataclass(frozen=True)
class Unclear:
    """The predecessor cannot be told: not pinned, gone, or several branches claim its number."""

    number: int
    reason: str


Stacking = NoPredecessor | SamePlace | HasLanded | MovedOn | Unclear


def stacking(checkpoint: Checkpoint, around: Surroundings) -> Stacking:
    """How the recorded predecessor stands to the present one."""
    number, recorded = checkpoint.predecessor_issue_or_pr, checkpoint.predecessor_sha
    if number is None:
        return NoPredecessor()
    if recorded is None:
        return Unclear(number, f"#{number} is recorded as predecessor without its exact commit")
    predecessor = around.predecessor
    if around.asked.predecessor != number:
        return Unclear(number, f"#{number} was not looked at yet")
    if predecessor is None:
        return Unclear(number, f"#{number}, the recorded predecessor, does not exist")
    on_trunk = around.trunk_over_predecessor is not None and around.trunk_over_predecessor.behind == 0
    of = _of_pull if predecessor.pull is not None else _of_issue
    return of(predecessor, recorded, on_trunk)


def _of_pull(predecessor: Predecessor, recorded: str, on_trunk: bool) -> Stacking:
    pull, number = predecessor.pull, predecessor.number
    assert pull is not None
    if pull.state == "CLOSED" and not on_trunk:
        return Unclear(number, f"PR #{number}, the recorded predecessor, was closed without being merged")
    # Part of it being on the trunk is no landing of the rest.
    if pull.head_sha != recorded:
        return MovedOn(number, recorded, pull.head_sha)
    if on_trunk or _was_landed(pull):
        return HasLanded(number, recorded)
    if pull.state == "MERGED":
        return Unclear(
            number, f"PR #{number}, the recorded predecessor, was merged into {pull.base}, not into the trunk"
        )
    return SamePlace(number, recorded)


def _was_landed(pull: OtherPull) -> bool:
    """Merged, and not into another ticket's branch: that is a storey of a stack and no trunk."""
    return pull.state == "MERGED" and owner_of_branch(pull.base) is None


def _of_issue(predecessor: Predecessor, recorded: str, on_trunk: bool) -> Stacking:
    number = predecessor.number
    own = [tip for tip in predecessor.branches if ticket_of_branch(tip.name) == number]
    names = [tip.name for tip in own]
    if len(own) > 1:
        listed = ", ".join(names)
        return Unclear(number, f"several branches belong to #{number}, the recorded predecessor: {listed}")
    if own and own[0].sha != recorded:
        return MovedOn(number, recorded, own[0].sha)
    landed = [p for p in predecessor.pulls if p.own_repository and _was_landed(p) and p.head in names]
    if on_trunk or any(pull.head_sha == recorded for pull in landed):
        return HasLanded(number, recorded)
    if own:
        return SamePlace(number, recorded)
    if len(predecessor.branches) >= MOST_BRANCHES:
        return Unclear(number, f"too many branches have {number} in their name to tell which is the predecessor's")
    if predecessor.state == "OPEN":
        return Unclear(number, f"#{number}, the recorded predecessor, has no branch any more")
    return Unclear(number, f"#{number}, the recorded predecessor, is closed and {recorded} is not on the trunk")
