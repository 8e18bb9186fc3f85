"""What one decision about a ticket is made from, and which of the PRs that were seen is the ticket's."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from app.domain.branches import ticket_of_branch
from app.domain.children import Seen, Unseen
from app.domain.fencing import Head
from app.domain.landing_evidence import LandingEvidence
from app.domain.merge_seen import AfterMerge
from app.domain.observation import Branch, Observation, Pull
from app.domain.policy import Policy
from app.domain.record import Record
from app.domain.run_seen import RunSeen


@dataclass(frozen=True)
class Situation:
    """All that a decision depends on. `tail`: commits of agents above the service's last seal. `landing` is read only
    where the ticket is to land now, `after_merge` where its PR was merged. `update`: the branch's head, where that is
    the update which the App asked GitHub for. `trunks`: those that stand, where the board moved the ticket.
    """

    observation: Observation
    record: Record
    policy: Policy
    head: Head
    tail: int
    author_is_dead: Callable[[str], bool]
    heartbeat_at: datetime | None = None
    children: Mapping[str, Seen | Unseen] = field(default_factory=dict)
    landing: LandingEvidence | None = None
    after_merge: AfterMerge | None = None
    update: str | None = None
    trunks: tuple[Branch, ...] | None = None
    resumes: bool = True
    """The operator's switch for incidents."""
    has_command: bool = False
    """The operator has a command that starts agents."""
    run: RunSeen | None = None
    """The run that holds the ticket or was dispatched for it, as it is now; None where there is none, or it was not
    looked at.
    """
    run_ended: bool = False
    """Exactly the run and attempt that hold the ticket are over: the holder is dead."""

    @property
    def now(self) -> datetime:
        return self.observation.now


def ticket_pull(record: Record, observation: Observation) -> Pull | None:
    """The ticket's PR: the recorded one, else an open one from its branch to its trunk, else one that is stacked on
    another ticket's branch. Never one of a fork.
    """
    own = own_pulls(observation)
    recorded = record.projections.pr_number
    known = next((p for p in own if p.number == recorded), None)
    if known is not None:
        return known
    trunk = record.work.trunk if record.work else None
    standing = [p for p in own if p.state == "OPEN"]
    stacked = (p for p in standing if ticket_of_branch(p.base) is not None)
    return next((p for p in standing if p.base == trunk), None) or next(stacked, None)


def own_pulls(observation: Observation) -> list[Pull]:
    """The PRs from the repository's own branch: a fork may have a branch of the same name."""
    full_name = f"{observation.owner}/{observation.name}".lower()
    return [p for p in observation.pulls if (p.head_repository or "").lower() == full_name]
