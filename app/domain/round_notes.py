"""What a round writes down in the record, and in which words the ledger's commits tell of it."""

from collections.abc import Sequence
from datetime import datetime

from app.domain import gates, noting
from app.domain.denied_effects import noted_denied
from app.domain.dispatch_settled import Started
from app.domain.landing_actions import NoteDequeued, NoteMerge, NoteUpdate
from app.domain.landing_settled import Accepted, Merge
from app.domain.noted_landing import noted_landing
from app.domain.plan import (
    Abandon,
    Action,
    Exhaust,
    ForgetRefusals,
    MoveTrunk,
    Note,
    NoteDenied,
    NoteDispatched,
    NotePredecessor,
    NoteProgress,
    NoteResults,
    NoteSaved,
    Plan,
    ProbeEffect,
    PullIsClosed,
    PullIsOpen,
    PullLostBase,
    SealTail,
    StampLease,
)
from app.domain.record import Permit, PermitKind, Record
from app.domain.settling import Made, Result
from app.domain.stopping import going_on


def noted(record: Record, plan: Plan, *, now: datetime) -> Record:
    """The record with what this plan writes down without any outside write."""
    for action in plan:
        if isinstance(action, StampLease) and record.lease is not None:
            renewed = {
                "expires_at": action.expires_at,
                "renewed_at": action.alive_at,
                "renewals_seen": record.renewals,
            }
            lease = record.lease.model_copy(update=renewed)
            attempts = gates.after_life(record.attempts, now=action.alive_at)
            record = record.model_copy(update={"lease": lease, "attempts": attempts})
        elif isinstance(action, ForgetRefusals):
            record = record.model_copy(update={"open": tuple(p for p in record.open if p not in action.permits)})
        elif isinstance(action, NoteProgress):
            record = going_on(record).model_copy(update={"attempts": gates.progress_noted(record, now=now)})
        elif isinstance(action, NoteResults):
            record = record.model_copy(update={"children": action.children})
        elif isinstance(action, NoteDenied):
            record = noted_denied(record, action)
        elif isinstance(action, NoteDispatched):
            left = tuple(p for p in record.open if p.id != action.value.attempt)
            record = record.model_copy(update={"dispatched": action.value, "open": left})
        elif isinstance(action, PullIsOpen):
            record = noting.open_pull(record, action.number)
        elif isinstance(action, NoteUpdate | NoteMerge | NoteDequeued):
            record = noted_landing(record, action, now=now)
        elif isinstance(action, Note | MoveTrunk | NotePredecessor):
            record = noting.noted(record, action, now=now)
        elif isinstance(action, PullIsClosed):
            projections = record.projections.model_copy(update={"closed_pr": action.number})
            record = record.model_copy(update={"projections": projections})
        elif isinstance(action, PullLostBase):
            projections = record.projections.model_copy(update={"reopen_pr": action.number})
            record = record.model_copy(update={"projections": projections})
    return record


_WORDS: dict[PermitKind, str] = {
    "pr_create": "create the PR",
    "comment_create": "create the handoff comment",
    "check_run_create": "create a check-run",
    "merge": "merge the PR",
    "enqueue": "put the PR into the merge queue",
    "branch_update": "bring the branch up to date",
    "base_edit": "change the base of a PR",
    "issue_close": "close the Issue",
    "dispatch": "start a fresh agent",
    "report_create": "tell a person",
}


def _kinds(opened: Sequence[Permit]) -> str:
    return ", ".join(_WORDS[p.kind] for p in opened)


def story_of(results: Sequence[Result]) -> str:
    """The event of the commit that writes a round's results."""
    made = [r.permit for r in results if isinstance(r, Made | Merge | Accepted | Started)]
    return f"done: {_kinds(made)}" if made else "nothing was done"


_EVENTS: dict[type[Action], str] = {
    NoteProgress: "progress noted",
    NoteDenied: "an effect was begun that nobody approved",
    NoteDispatched: "no agent came of the one that was started",
    ProbeEffect: "effects looked for",
    StampLease: "lease renewed",
    SealTail: "sealed by the service",
    NoteResults: "result of a child noted",
    NoteSaved: "the holder saved",
    PullIsOpen: "PR is open",
    PullIsClosed: "PR closed by a person",
    PullLostBase: "PR closed with its base",
    NoteMerge: "the trunk has the work",
    NoteUpdate: "branch brought up to date",
    NoteDequeued: "taken out of the merge queue",
    MoveTrunk: "the ticket goes to another trunk",
    NotePredecessor: "stacked on another ticket",
    Note: "noted what others did",
    ForgetRefusals: "what was refused is not needed any more",
}


def event_of(plan: Plan, opening: Sequence[Permit]) -> str:
    """The event of the commit that begins a round: that the ticket stopped, what its permits are for, or else what it
    writes down.
    """
    for action in plan:
        if isinstance(action, Exhaust | Abandon):
            what = "exhausted" if isinstance(action, Exhaust) else "to be abandoned"
            return f"{what}: about to {_kinds(opening)}"
    if opening:
        return f"about to {_kinds(opening)}"
    return next((_EVENTS[type(a)] for a in plan if type(a) in _EVENTS), "noted")
