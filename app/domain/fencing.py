"""How a ticket branch's head stands to what its holder published: the facts every rule about code starts from."""

from dataclasses import dataclass
from enum import StrEnum

from app.domain.observation import Observation
from app.domain.record import Record


class Relation(StrEnum):
    """What GitHub's comparison of the published commit with the present head says."""

    ON_TOP = "the head builds on the published commit"
    ELSEWHERE = "the head does not contain the published commit"


@dataclass(frozen=True)
class NothingPublished:
    """No fenced push yet: there is nothing to compare with. `head` may stand all the same."""

    head: str | None


@dataclass(frozen=True)
class Unheld(NothingPublished):
    """Nobody ever held the ticket, so nobody published anything: what stands on its branch is shown as unfenced, and
    nothing is put back or landed, until an agent claims the ticket or a person accepts the commit.
    """

    head: str


@dataclass(frozen=True)
class AtPublished:
    sha: str
    fenced: bool
    """Published under the present fencing identity, and not burned. After a takeover the evidence stamps it anew."""


@dataclass(frozen=True)
class Foreign:
    """Commits on top of the published one that came by no fenced push: shown, not counted, the holder decides."""

    published: str
    head: str


@dataclass(frozen=True)
class Tampered:
    """The published commit is not in the branch any more: overwritten, rewound, or (`head` None) deleted. Or it is the
    head, though a fence commit withdrew it: the branch was taken back from above it.
    """

    published: str
    head: str | None


Head = NothingPublished | AtPublished | Foreign | Tampered


def shown_head(head: Head) -> str | None:
    """The commit that a check-run says something about; None where there is none, or it is being put back."""
    if isinstance(head, AtPublished):
        return head.sha
    return head.head if isinstance(head, Foreign | Unheld) else None


def is_passive(record: Record) -> bool:
    """Whether nobody ever claimed the ticket: its ledger was born because the Issue is enrolled and something had to be
    written down.
    """
    return record.generation == 0 and record.child is None


def head_of(record: Record, observation: Observation, relation: Relation | None) -> Head:
    """The state of the ticket branch. `relation` is needed exactly where the head differs from what was published
    (see `needs_relation`).
    """
    branch = observation.branch(record.work.branch) if record.work else None
    published = record.published
    if published is None:
        if is_passive(record) and branch is not None:
            return Unheld(branch.sha)
        return NothingPublished(branch.sha if branch else None)
    if is_passive(record) and (branch is None or (branch.sha != published.sha and relation is not Relation.ON_TOP)):
        # What a person accepted of a branch that no agent ever held stays that person's to take back.
        return Unheld(branch.sha) if branch is not None else NothingPublished(None)
    if branch is None:
        return Tampered(published.sha, None)
    if branch.sha == published.sha and record.fence is not None and published.sha in record.burned_shas:
        # Withdrawn by a fence commit above somebody else's commits, and somebody took the branch back to it: a merge
        # that names it could be carried out again.
        return Tampered(published.sha, branch.sha)
    if branch.sha == published.sha:
        fenced = record.published_now is not None and published.sha not in record.burned_shas
        return AtPublished(published.sha, fenced)
    if relation is Relation.ON_TOP:
        return Foreign(published.sha, branch.sha)
    return Tampered(published.sha, branch.sha)


def needs_relation(record: Record, observation: Observation) -> tuple[str, str] | None:
    """The published commit and the present head, where the two must be compared; None where nothing is to compare."""
    branch = observation.branch(record.work.branch) if record.work else None
    if record.published is None or branch is None or branch.sha == record.published.sha:
        return None
    return record.published.sha, branch.sha
