"""How a ticket ends by what people do on GitHub: one table, for tickets in progress and for those that have ended.

Closing the Issue ends a ticket: with its PR merged it has landed, otherwise it is cancelled. So does a person who
closes its PR while its branch stands where the holder published it. A PR that a bot closed, or GitHub because the
branch or the base went, ends nothing. An ended ticket is still observed (the ownership protocol, R11): a merge into its
trunk that comes late is recorded. What brings an ended ticket back is in `domain/returning.py`.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from app.domain import attempt
from app.domain.derived import derived
from app.domain.effect_journal import interrupted
from app.domain.observation import Observation, Pull
from app.domain.pull_acts import closed_by_person
from app.domain.record import TERMINAL, Attempts, Ended, Record
from app.domain.situation import own_pulls
from app.domain.stopping import may_end

Because = Literal["merged", "issue_closed", "issue_gone", "command", "pull_closed", "too_old", "unresumable"]


@dataclass(frozen=True)
class Ending:
    """The ticket is over: the status it gets, the happening that ended it, and the same in words."""

    status: Literal["landed", "cancelled", "abandoned"]
    because: Because
    reason: str
    by: str | None = None
    """The person who did it, where that is known."""


def ending(record: Record, observation: Observation) -> Ending | None:
    """What ended the ticket, or None: it goes on, or its end is recorded already."""
    merged = merged_pull(record, observation)
    if record.status in TERMINAL:
        if record.status == "cancelled" and merged is not None and merged.base == record.trunk:
            return Ending("landed", "merged", f"PR #{merged.number} was merged after the ticket was cancelled")
        return None
    issue = observation.issue
    if issue is None:
        return _without_issue(observation, merged)
    if issue.state == "OPEN":
        return _given_up(record) or (_by_closing_its_pull(record, observation) if merged is None else None)
    if merged is not None:
        return Ending("landed", "merged", f"PR #{merged.number} was merged and the Issue is closed")
    if issue.state_reason in ("NOT_PLANNED", "DUPLICATE"):
        return Ending("cancelled", "issue_closed", "the Issue was closed as not planned")
    return Ending("cancelled", "issue_closed", "the Issue was closed without a merged PR")


def _by_closing_its_pull(record: Record, observation: Observation) -> Ending | None:
    """A child's PR is its parent's holder's, and decides nothing."""
    number, published, at = record.projections.pr_number, record.published, record.projections
    pull = next((p for p in own_pulls(observation) if p.number == number), None)
    if pull is None or pull.state != "CLOSED" or published is None or record.child is not None:
        return None
    if at.reopen_pr == number or observation.trunk is None or record.work is None:
        return None
    head = observation.branch(record.work.branch)
    stands_at = {published.sha, record.fence.sha if record.fence is not None else published.sha}
    act = closed_by_person(pull.acts)
    if head is None or head.sha not in stands_at or act is None:
        return None
    return Ending("cancelled", "pull_closed", f"{act.who} closed PR #{pull.number}", by=act.by)


def _given_up(record: Record) -> Ending | None:
    """A ticket that nothing resumes goes to the ended ones once a person was told."""
    if not may_end(record) or record.stopped is None or record.stopped.because == "attempts":
        return None
    return Ending("abandoned", record.stopped.because, record.stopped.reason)


def _without_issue(observation: Observation, merged: Pull | None) -> Ending | None:
    """One answer without the Issue may lag: only what GitHub says at the Issue's own address ends a ticket."""
    words = {
        "transferred": "the Issue was transferred to another repository",
        "deleted": "the Issue was deleted",
        "hidden": "the Issue was deleted, or transferred to a repository that the App may not read",
    }
    said = words.get(observation.whereabouts or "")
    if said is None or observation.is_pull_request:
        return None
    if merged is not None:
        return Ending("landed", "merged", f"PR #{merged.number} was merged and {said}")
    return Ending("cancelled", "issue_gone", said)


def merged_pull(record: Record, observation: Observation) -> Pull | None:
    """The merged PR of this life of the ticket: the recorded one, or one that merged just what was published last. An
    older one of the same branch brought an earlier life to the trunk. One that went into the trunk comes first; where a
    person merged the branch elsewhere by another PR, the recorded one goes on while it is open.
    """
    published = record.published.sha if record.published is not None else None
    if record.work is not None and published == record.work.base_sha:
        published = None
    own, recorded = own_pulls(observation), record.projections.pr_number
    goes_on = any(p.number == recorded and p.state == "OPEN" for p in own)

    def is_own(pull: Pull) -> bool:
        if pull.number == recorded:
            return True
        same = published is not None and pull.head_sha == published
        return same and (pull.base == record.trunk or not goes_on)

    merged = [p for p in own if p.state == "MERGED" and is_own(p)]
    return max(merged, key=lambda p: (p.base == record.trunk, p.number == recorded), default=None)


def ended(record: Record, how: Ending, *, now: datetime) -> Record:
    """The record at the ticket's end: nobody holds it, whoever was started for it is let in no more, effects whose end
    nobody wrote down are unknown, and everything else, open permits included, stays as it is.
    """
    over = interrupted(record, now=now)
    before = record.ended
    nonce = record.lease.nonce if record.lease is not None else before.nonce if before is not None else None
    at = before.at if before is not None else now
    started = record.dispatched
    if started is not None and started.state == "open":
        # Its permit stays open: the run may be on its way, and is noted when it comes (R11).
        started = attempt.over(started, f"the ticket was {how.status}")
    over = over.model_copy(
        update={
            "status": how.status,
            "lease": None,
            "held": None,
            "attempts": Attempts(),
            "dispatched": started,
            "stopped": record.stopped if how.status == "abandoned" else None,
            "ended": Ended(because=how.because, at=at, nonce=nonce, by=how.by),
        }
    )
    return over.model_copy(update={"checkpoint": derived(over, over.checkpoint, now=now)})
