"""What the answers to a round's writes make of the record: permits closed, ids noted, the unknown kept open.

"No response" never means "did not happen": such a permit stays open as unknown until a probe or a second send settles
it. A refusal ends a permit only if every send under it was answered (the ownership protocol, R6): then
it is kept as blocked, which is shown and tried again rarely.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.domain.dispatch_settled import DispatchResult, Started, dispatch_settled, not_started, run_known
from app.domain.fence_commit import MERGES
from app.domain.landing_settled import LandingResult, refused, settled
from app.domain.plain_text import cut, one_line
from app.domain.record import Carried, CheckRunRef, Drafting, Permit, Record
from app.domain.stopping import marker_of_stop

REASON_BYTES = 200


@dataclass(frozen=True)
class Made:
    """It stands: `number` is the PR's, comment's or check-run's."""

    permit: Permit
    number: int


@dataclass(frozen=True)
class Declined:
    """GitHub refused at `at`, in its own words."""

    permit: Permit
    reason: str
    at: datetime


@dataclass(frozen=True)
class Unknown:
    """No answer: it may stand now, or later, or never."""

    permit: Permit


@dataclass(frozen=True)
class NotSent:
    """Not sent, or not again: what it needed did not come about, or it is no longer wanted and what an earlier send
    may still do is harmless (a check-run of an old generation is born unfinished, a second PR is refused by GitHub).
    """

    permit: Permit


Result = Made | Declined | Unknown | NotSent | LandingResult | DispatchResult


def settle(record: Record, results: Sequence[Result]) -> Record:
    """The record after these results. Results of permits that are not open any more change nothing."""
    for result in results:
        record = _settle_one(record, result)
    return record


def _settle_one(record: Record, result: Result) -> Record:
    standing = next((p for p in record.open if p.id == result.permit.id), None)
    if standing is None and isinstance(result, Started):
        # Its agent was faster than the answer.
        return run_known(record, result.permit.id, result.run)
    if standing is None:
        return record
    if isinstance(result, LandingResult):
        return settled(record, standing, result)
    if isinstance(result, DispatchResult):
        return dispatch_settled(record, standing, result)
    if isinstance(result, NotSent) and standing.kind in MERGES and _is_anothers(standing, result.permit):
        return record
    if isinstance(result, NotSent) and standing.kind == "dispatch":
        return _not_dispatched(record, standing, result)
    if isinstance(result, Unknown):
        unknown = standing.model_copy(update={"state": "unknown", "unanswered": True})
        return record.model_copy(update={"open": tuple(unknown if p is standing else p for p in record.open)})
    if isinstance(result, Declined) and (unknown_still := refused(record, standing, result.reason, result.at)):
        return unknown_still
    if isinstance(result, Declined):
        blocked = standing.model_copy(
            update={"state": "blocked", "reason": cut(one_line(result.reason), REASON_BYTES), "refused_at": result.at}
        )
        left = record.model_copy(update={"open": tuple(blocked if p is standing else p for p in record.open)})
        return not_started(left, standing, result.reason) if standing.kind == "dispatch" else left
    changes: dict[str, Any] = {"open": tuple(p for p in record.open if p is not standing)}
    if isinstance(result, Made):
        changes |= _noted(record, standing, result.number)
    return record.model_copy(update=changes)


def _not_dispatched(record: Record, standing: Permit, result: NotSent) -> Record:
    if standing.author != result.permit.author:
        # Whoever took it over looks for what came of it.
        return record
    left = record.model_copy(update={"open": tuple(p for p in record.open if p is not standing)})
    return not_started(left, standing, "it was not sent")


def _is_anothers(standing: Permit, sent: Permit) -> bool:
    """Whether somebody else may act on a merge by now, or an earlier send may still be under way: its end closes it."""
    return standing.unanswered or standing.author != sent.author


def _noted(record: Record, permit: Permit, number: int) -> dict[str, Any]:
    at = record.projections
    if permit.kind == "pr_create":
        replaced = at.reopen_pr if at.reopen_pr not in (None, number) else at.replaced_pr
        update: dict[str, Any] = {"pr_number": number, "reopen_pr": None, "replaced_pr": replaced}
        if at.pr_number != number:
            # A new PR starts as a draft of our own making, without a handoff comment.
            update |= {"comment_id": None, "drafting": Drafting(), "carried": Carried()}
        checkpoint = record.checkpoint.model_copy(update={"pr_number": number})
        return {"projections": at.model_copy(update=update), "checkpoint": checkpoint}
    if permit.kind == "comment_create":
        return {"projections": at.model_copy(update={"comment_id": number})}
    if permit.kind == "report_create":
        told = record.stopped is not None and marker_of_stop(record, record.stopped) == permit.target.marker
        stopped = record.stopped.model_copy(update={"told": number}) if told and record.stopped else record.stopped
        return {"stopped": stopped}
    if permit.kind == "issue_close":
        return {"landing": record.landing.model_copy(update={"issue_closed": True})}
    target = permit.target
    if permit.kind != "check_run_create" or target.head_sha is None or target.generation is None:
        return {}
    check_run = CheckRunRef(id=number, sha=target.head_sha, generation=target.generation)
    return {"projections": at.model_copy(update={"check_run": check_run})}
