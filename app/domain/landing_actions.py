"""What a landing may do: the merge and the ways to it, its withdrawal, and what follows it. Part of a plan."""

from dataclasses import dataclass

from app.domain.landing_evidence import Method
from app.domain.record import Merged, Permit
from app.domain.ticket_id import TicketId


@dataclass(frozen=True)
class Merge:
    """Merge the PR with exactly this head into exactly this base."""

    number: int
    head_sha: str
    base: str
    method: Method
    title: str
    message: str
    reason: str


@dataclass(frozen=True)
class Enqueue:
    """Give the PR with exactly this head a place in its base's merge queue."""

    number: int
    node_id: str
    head_sha: str
    base: str
    reason: str


@dataclass(frozen=True)
class UpdateBranch:
    """Have GitHub merge the base into the PR's branch, while its head is exactly this one."""

    number: int
    head_sha: str
    base: str
    reason: str


@dataclass(frozen=True)
class NoteUpdate:
    """Write down that the branch stands at the update which the App asked GitHub for."""

    sha: str
    reason: str


@dataclass(frozen=True)
class NoteDequeued:
    """Write down that GitHub took the PR out of the merge queue: its permit is refused, and tried again rarely."""

    permit: Permit
    reason: str


@dataclass(frozen=True)
class FenceOff:
    """Withdraw merges that may still come, because what allowed them does not hold any more: a fence commit in one
    update with the ledger (the ownership protocol, R12).
    """

    permits: tuple[Permit, ...]
    reason: str


@dataclass(frozen=True)
class NoteMerge:
    """Write down the merge, and that the trunk contains it. `reopened`: the Issue was closed since, and a person opened
    it again, so the App closes it no more.
    """

    merged: Merged
    reopened: bool
    reason: str


@dataclass(frozen=True)
class TellOfMerge:
    """Tell a person, in a new comment, of a merge that did not go as it was meant to. `edge` as for `AskPerson`."""

    edge: str
    reason: str


@dataclass(frozen=True)
class Nudge:
    """Have other tickets looked at: something of theirs is to be done first."""

    tickets: tuple[TicketId, ...]
    reason: str


@dataclass(frozen=True)
class EditBase:
    """Point the PR at another base."""

    number: int
    base_from: str
    base_to: str
    reason: str


@dataclass(frozen=True)
class CloseIssue:
    """Close the ticket's own Issue as completed."""

    number: int
    reason: str
