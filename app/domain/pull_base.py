"""Onto which branch a ticket's new PR goes: its trunk, or its predecessor's branch while that has not landed.

A predecessor counts where the ticket's branch holds the commit that was recorded of it. Where the record and the branch
contradict each other no PR is opened: on the wrong base it would show, and land, another ticket's work.
"""

from dataclasses import dataclass

from app.domain.branches import ticket_of_branch
from app.domain.observation import Observation
from app.domain.pull_evidence import Gap, Uncertain
from app.domain.record import Record
from app.domain.stack import HasLanded, NoPredecessor, Unclear, stacking


@dataclass(frozen=True)
class Base:
    """The branch, and why this one."""

    name: str
    because: str


def pull_base(record: Record, observation: Observation) -> Base | Uncertain:
    """The base of the PR that a ticket with work but without a PR gets. Its record names branch and trunk."""
    work = record.work
    if work is None:
        raise ValueError("a ticket without a branch gets no PR")
    trunk = Base(work.trunk, "the record names the trunk")
    around = observation.around
    found = NoPredecessor() if record.child is not None else stacking(record.checkpoint, around)
    if isinstance(found, NoPredecessor | HasLanded):
        return trunk
    number = found.number
    if isinstance(found, Unclear):
        return Uncertain(Gap.PREDECESSOR_UNCLEAR, found.reason, f"let the holder pin #{number} anew, or drop it")
    branch = _branch_of(observation)
    over = around.branch_over_predecessor
    if branch is None or over is None:
        reason = f"#{number}, the recorded predecessor, shows no branch of this repository"
        return Uncertain(Gap.PREDECESSOR_UNCLEAR, reason, f"let the holder pin #{number} anew, or drop it")
    if over.behind:
        reason = f"the record says the work builds on #{number}, but {work.branch!r} does not hold its recorded commit"
        remedy = f"let the holder merge the branch of #{number} in, or record another predecessor"
        return Uncertain(Gap.CONTRADICTION, reason, remedy)
    return Base(branch, f"it builds on #{number}, which has not landed")


def _branch_of(observation: Observation) -> str | None:
    predecessor = observation.around.predecessor
    if predecessor is None:
        return None
    if predecessor.pull is not None:
        return predecessor.pull.head if predecessor.pull.own_repository else None
    return next((tip.name for tip in predecessor.branches if ticket_of_branch(tip.name) == predecessor.number), None)
