"""What the loop may do to a ticket: a closed set of actions, each with its reason. Waiting is one of them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.domain.dispatched import Dispatched, Start, Stopped
from app.domain.landing_actions import (
    CloseIssue,
    EditBase,
    Enqueue,
    FenceOff,
    Merge,
    NoteDequeued,
    NoteMerge,
    NoteUpdate,
    Nudge,
    TellOfMerge,
    UpdateBranch,
)
from app.domain.pull_evidence import Uncertain
from app.domain.record import Board, Carried, Drafting, Permit, PermitKind, Target
from app.domain.upkeep_actions import AddLabels, AskOwners, Assign, LinkIssue, RemoveLabel, SetBoardStatus


@dataclass(frozen=True)
class Adopt:
    """Take over permits whose author is gone: probe, then compare-and-set the author.

    `again` are those that may be sent again where the probe finds nothing, because the decision behind them stands (the
    ownership protocol, R3). The others are given up: what an earlier send may still do is harmless.
    """

    permits: tuple[Permit, ...]
    again: tuple[Permit, ...]
    reason: str


@dataclass(frozen=True)
class RestoreBranch:
    """Put the ticket branch back where its holder published it, in the same update as the ledger.

    `found` is the foreign head, kept under `recovered/`; None where the branch was deleted. `reopen_pr` is the PR that
    the tampering may have closed.
    """

    branch: str
    published: str
    found: str | None
    reopen_pr: int | None
    reason: str


@dataclass(frozen=True)
class ReopenPull:
    number: int
    reason: str


@dataclass(frozen=True)
class PullIsOpen:
    """Note in the record that this PR is the ticket's, and open."""

    number: int
    reason: str


@dataclass(frozen=True)
class PullIsClosed:
    """Note in the record that a person closed the PR, so that its branch is theirs from now on."""

    number: int
    reason: str


@dataclass(frozen=True)
class PullLostBase:
    """Note in the record that GitHub closed the PR because its base went away, so that it is reopened with the base."""

    number: int
    reason: str


@dataclass(frozen=True)
class ForgetRefusals:
    """Drop refused permits whose write is not wanted any more, so that nobody is shown a blocker that is none: what
    they were for stands now (an earlier send was carried out late, or a person made it), or the head moved on.
    """

    permits: tuple[Permit, ...]
    reason: str


@dataclass(frozen=True)
class CreatePull:
    head: str
    head_sha: str
    base: str
    reason: str


@dataclass(frozen=True)
class CreateComment:
    marker: str
    reason: str


@dataclass(frozen=True)
class CreateCheckRun:
    head_sha: str
    generation: int
    reason: str


@dataclass(frozen=True)
class RemoveComment:
    """A second comment of ours with the same marker: the oldest stays."""

    comment_id: int
    reason: str


@dataclass(frozen=True)
class AskPerson:
    """Tell a person, in a new comment, why the ticket waits for one. `edge` names the happening, so it is told once."""

    edge: str
    reason: str
    remedy: str


@dataclass(frozen=True)
class ProbeEffect:
    """Look whether an effect happened whose end nobody wrote down."""

    key: str
    reason: str


@dataclass(frozen=True)
class AskAboutEffect:
    """Tell a person of an effect that looking did not settle. `edge` names the effect, so it is told once."""

    edge: str
    reason: str


@dataclass(frozen=True)
class NoteDenied:
    """Write down that an effect was begun which nobody approved: its holder's own commit says so."""

    key: str
    reason: str


@dataclass(frozen=True)
class AskForApproval:
    """Tell a person of an effect that nobody approved. `began`: its holder says that it was begun all the same. `edge`
    names effect and generation, so it is told once.
    """

    edge: str
    key: str
    kind: str
    began: bool
    reason: str


@dataclass(frozen=True)
class AskAboutPull:
    """Tell a person, in one comment that is kept up to date, why no PR is opened for the ticket."""

    found: Uncertain
    reason: str


@dataclass(frozen=True)
class WarnOfGap:
    """Tell a person, in a new comment, that a holder works on without saving. `edge` as for `AskPerson`."""

    edge: str
    reason: str


@dataclass(frozen=True)
class NoteSaved:
    """A push of the holder's is noted as a checkpoint: the journal does it with any commit above one."""

    reason: str


@dataclass(frozen=True)
class StampLease:
    """Write down a holder's renewal: half of its time is gone."""

    expires_at: datetime
    alive_at: datetime
    reason: str


@dataclass(frozen=True)
class SealTail:
    """A seal of the service's own above many commits of the agent."""

    reason: str


@dataclass(frozen=True)
class NoteProgress:
    """A pushed checkpoint completed a step: the attempts start from 0 again."""

    reason: str


@dataclass(frozen=True)
class NoteResults:
    """Write down the results that children gave since: `children` is the record's list with them."""

    children: tuple[dict[str, Any], ...]
    reason: str


@dataclass(frozen=True)
class SetDraft:
    number: int
    node_id: str
    draft: bool
    reason: str


@dataclass(frozen=True)
class Note:
    """Write down what was seen or done about the PR's draft state, its metadata or the ticket's line on the board."""

    value: Drafting | Carried | Board
    reason: str


@dataclass(frozen=True)
class MoveTrunk:
    """Write down that the ticket goes to another trunk: a person moved it on the board, or edited its PR's base.
    `base_sha`: where the work begins from now on, where nothing was published yet.
    """

    trunk: str
    reason: str
    base_sha: str | None = None


@dataclass(frozen=True)
class NotePredecessor:
    """Pin what the ticket is stacked on: the PR below and its head, which the ticket's branch holds."""

    number: int
    sha: str
    reason: str


@dataclass(frozen=True)
class Dispatch:
    """Start a fresh agent, which is to claim from `generation`. The permit's id is the attempt's. `workflow`: the file
    that is to run, where a workflow is.
    """

    start: Start
    generation: int
    reason: str
    workflow: str | None = None


@dataclass(frozen=True)
class Abandon:
    """The ticket ends, because nothing may resume it by itself; a person is told, and how it comes back. `marker` is
    the report's.
    """

    marker: str
    stopped: Stopped
    remedy: str
    reason: str


@dataclass(frozen=True)
class Exhaust:
    """The ticket stays in progress and waits for a person, who is told: its attempts are used up."""

    marker: str
    stopped: Stopped
    remedy: str
    reason: str


@dataclass(frozen=True)
class NoteDispatched:
    """Write down what became of a dispatch: its run is known, or ended, or will never be let in."""

    value: Dispatched
    reason: str


@dataclass(frozen=True)
class Wait:
    """Nothing can be done before `until` (None: before something else happens)."""

    reason: str
    until: datetime | None = None


Guarded = (
    CreatePull
    | CreateComment
    | CreateCheckRun
    | Merge
    | Enqueue
    | UpdateBranch
    | EditBase
    | CloseIssue
    | Dispatch
    | Abandon
    | Exhaust
)
"""Writes that need a permit in the ledger before they are sent (classes M, C, S and X of the ownership protocol, R3;
the update of a branch has a precondition of GitHub's, and a permit so that what comes of it is known to be ours).
"""


def target_of(action: Guarded) -> tuple[PermitKind, Target]:
    """What a guarded write's permit names: exactly what its probe searches for."""
    if isinstance(action, CreatePull):
        return "pr_create", Target(head=action.head, base=action.base, head_sha=action.head_sha)
    if isinstance(action, CreateComment):
        return "comment_create", Target(marker=action.marker)
    if isinstance(action, Merge):
        target = Target(number=action.number, head_sha=action.head_sha, base=action.base, method=action.method)
        return "merge", target
    if isinstance(action, Enqueue):
        return "enqueue", Target(number=action.number, head_sha=action.head_sha, base=action.base)
    if isinstance(action, UpdateBranch):
        return "branch_update", Target(number=action.number, head_sha=action.head_sha, base=action.base)
    if isinstance(action, EditBase):
        return "base_edit", Target(number=action.number, base=action.base_to, base_from=action.base_from)
    if isinstance(action, CloseIssue):
        return "issue_close", Target(number=action.number)
    if isinstance(action, Dispatch):
        return "dispatch", Target(marker=action.start, generation=action.generation)
    if isinstance(action, Abandon | Exhaust):
        return "report_create", Target(marker=action.marker)
    return "check_run_create", Target(head_sha=action.head_sha, generation=action.generation)


Action = (
    Adopt
    | RestoreBranch
    | ForgetRefusals
    | ReopenPull
    | PullIsOpen
    | PullIsClosed
    | PullLostBase
    | Guarded
    | NoteUpdate
    | NoteDequeued
    | FenceOff
    | NoteMerge
    | TellOfMerge
    | Nudge
    | RemoveComment
    | AskPerson
    | AskAboutPull
    | WarnOfGap
    | NoteSaved
    | ProbeEffect
    | AskAboutEffect
    | NoteDenied
    | AskForApproval
    | StampLease
    | SealTail
    | NoteProgress
    | NoteResults
    | SetDraft
    | Note
    | MoveTrunk
    | NotePredecessor
    | LinkIssue
    | Assign
    | AddLabels
    | RemoveLabel
    | AskOwners
    | SetBoardStatus
    | NoteDispatched
    | Wait
)
Plan = tuple[Action, ...]
