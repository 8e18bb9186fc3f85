"""Whether a checkpoint is hard: whether it survives the loss of the machine it was written on.

The six conditions are those of section 4 of the recovery specification for a ticket (its condition on release branches
belongs to the release boundary). A soft checkpoint is no error: it says what is still missing.
"""

from collections.abc import Callable
from dataclasses import dataclass

from app.domain.checkpoint_gap import keeps_the_work
from app.domain.observation import Observation
from app.domain.record import TERMINAL, Record
from app.domain.situation import ticket_pull


@dataclass(frozen=True)
class Hard:
    """All six conditions hold."""


@dataclass(frozen=True)
class Soft:
    """The names of the conditions that do not hold, in the order of `CONDITIONS`."""

    missing: tuple[str, ...]


def is_hard(record: Record, observation: Observation, *, stands_at: str | None = None) -> Hard | Soft:
    """Judges the checkpoint that `record` holds against what GitHub shows now. `stands_at`: the commit its maker says
    it stands on, where it says; one that is not published exists on its machine alone.
    """
    left_behind = () if keeps_the_work(record, stands_at) else ("code_on_remote",)
    missing = tuple(name for name, holds in CONDITIONS.items() if name in left_behind or not holds(record, observation))
    return Soft(missing) if missing else Hard()


def _code_on_remote(record: Record, observation: Observation) -> bool:
    # The ledger commit keeps the published commit reachable, wherever the branch is moved.
    return record.published is not None


def _head_traceable(record: Record, observation: Observation) -> bool:
    published = record.published_now
    branch = observation.branch(record.work.branch) if record.work is not None else None
    if published is None or branch is None:
        return False
    return branch.sha == published.sha and branch.sha not in record.burned_shas


def _status_visible(record: Record, observation: Observation) -> bool:
    return observation.issue is not None and observation.issue.number == record.ticket


def _pull_request(record: Record, observation: Observation) -> bool:
    # Draft or ready is not asked: drafts are refused on some plans, and the App follows within seconds.
    pull = ticket_pull(record, observation)
    has_base = pull is not None and record.work is not None and pull.base == record.work.trunk
    return pull is not None and pull.state == "OPEN" and has_base


def _predecessor_known(record: Record, observation: Observation) -> bool:
    return record.checkpoint.predecessor_issue_or_pr is None or record.checkpoint.predecessor_sha is not None


def _next_step_known(record: Record, observation: Observation) -> bool:
    c = record.checkpoint
    finished = record.status == "ready" or record.status in TERMINAL
    return finished or bool(c.next_steps or c.pending_validation or c.blockers)


CONDITIONS: dict[str, Callable[[Record, Observation], bool]] = {
    "code_on_remote": _code_on_remote,
    "head_traceable": _head_traceable,
    "status_visible": _status_visible,
    "pull_request": _pull_request,
    "predecessor_known": _predecessor_known,
    "next_step_known": _next_step_known,
}
