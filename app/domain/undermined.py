"""Whether a ticket's predecessor is over, and whether it landed as other commits than the ticket's branch holds.

A merge brings the predecessor's own commits to the trunk, so a branch built on them stays clean. A squash or a rebase
makes new ones: the branch still holds the old, and landing it would bring them to the trunk a second time.
"""

from dataclasses import dataclass

from app.domain.observation import Observation
from app.domain.record import Record
from app.domain.stack import HasLanded, MovedOn, NoPredecessor, SamePlace, Stacking, stacking
from app.domain.surroundings import OtherPull


@dataclass(frozen=True)
class Stale:
    """The predecessor landed as other commits than the ticket's branch holds: squashed or rebased. Landing the branch
    would bring the old ones to the trunk a second time. `command` moves the ticket's own commits onto the trunk.
    """

    predecessor: int
    predecessor_sha: str
    trunk: str
    branch: str
    reason: str
    command: tuple[str, ...]


def undermined(record: Record, observation: Observation) -> Stale | None:
    """Whether the predecessor landed as other commits than those the branch holds, and the command that moves the
    ticket's own commits onto the trunk; None where it has not landed, or the branch is clean.
    """
    around, work = observation.around, record.work
    number, sha = record.checkpoint.predecessor_issue_or_pr, record.checkpoint.predecessor_sha
    if work is None or number is None or sha is None or record.child is not None:
        return None
    if not _has_ended(stacking(record.checkpoint, around), observation):
        return None
    over = around.trunk_over_predecessor
    if over is None or over.behind == 0 or not _holds_predecessor(observation):
        return None
    return Stale(
        predecessor=number,
        predecessor_sha=sha,
        trunk=work.trunk,
        branch=work.branch,
        reason=f"#{number}, the predecessor, landed on {work.trunk} as other commits than the branch holds of it",
        command=("git", "rebase", "--onto", f"origin/{work.trunk}", sha, work.branch),
    )


def has_landed(stands: Stacking, observation: Observation) -> bool:
    """Whether a predecessor has landed, whatever the branch still holds of it. One that `stacking` cannot place has
    landed all the same where what the branch holds of it is on the trunk, or was taken out again.
    """
    if isinstance(stands, HasLanded):
        return True
    around = observation.around
    on_trunk = around.trunk_over_predecessor is not None and around.trunk_over_predecessor.behind == 0
    return _has_ended(stands, observation) and (on_trunk or not _holds_predecessor(observation))


def _has_ended(stands: Stacking, observation: Observation) -> bool:
    predecessor = observation.around.predecessor
    if predecessor is None or isinstance(stands, NoPredecessor | SamePlace):
        return False
    if isinstance(stands, HasLanded):
        return True
    if isinstance(stands, MovedOn):
        return any(_merged_at(p, stands.now, observation) for p in (*predecessor.pulls, *_as_tuple(predecessor.pull)))
    return predecessor.kind == "issue" and (predecessor.state, predecessor.closed_because) == ("CLOSED", "COMPLETED")


def _merged_at(pull: OtherPull, head_sha: str, observation: Observation) -> bool:
    trunk = observation.trunk.name if observation.trunk is not None else None
    return pull.own_repository and pull.state == "MERGED" and pull.head_sha == head_sha and pull.base == trunk


def _as_tuple(pull: OtherPull | None) -> tuple[OtherPull, ...]:
    return () if pull is None else (pull,)


def _holds_predecessor(observation: Observation) -> bool:
    # Not told is taken as "it may": a branch is never landed because a question stayed open.
    over = observation.around.branch_over_predecessor
    return over is None or over.behind == 0
