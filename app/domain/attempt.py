"""One attempt at resuming a ticket: what becomes of its dispatch, and who may claim with it.

The ownership protocol, R22 and I5: an attempt is counted in the commit that opens its dispatch, before anything is
sent, and the claim that comes with it is that very attempt, not another. One slot, not two: whoever else claims while a
dispatch is open takes its place, and the dispatched agent, when it comes, is refused. An attempt that is over, burned
or claimed is never let in again, however late its agent comes.
"""

from datetime import datetime, timedelta

from app.domain.dispatched import Dispatched, Run
from app.domain.outcome import Blocked, Code
from app.domain.plain_text import cut, one_line
from app.domain.plan import Dispatch
from app.domain.policy import Policy
from app.domain.record import Attempts, Permit, Record
from app.domain.run_seen import RunSeen

BECAUSE_BYTES = 200
QUEUED_FOR = timedelta(hours=1)
"""How long a run that waits for a machine is waited for: the agent of a full queue is worth more than another one."""


def opened(record: Record, action: Dispatch, permit: Permit, attempts: Attempts, *, now: datetime) -> Record:
    """The record whose commit opens a dispatch: `attempts` counts it, and nothing was sent yet."""
    dispatched = Dispatched(
        attempt=permit.id, start=action.start, generation=action.generation, at=now, workflow=action.workflow
    )
    return record.model_copy(update={"dispatched": dispatched, "attempts": attempts})


def open_one(record: Record | None) -> Dispatched | None:
    """The dispatch whose agent may still claim, if there is one."""
    latest = record.dispatched if record is not None else None
    if record is None or latest is None or latest.state != "open" or latest.generation != record.generation:
        return None
    return latest


def may_come(record: Record | None, attempt: str | None, run: Run | None = None) -> Blocked | None:
    """Why a claim with `attempt` is refused, whatever the gates say; None where it is the open attempt, or a claim
    without any. `run`: the workflow run that proved itself; what a workflow was started for, nobody but its run claims.
    """
    if attempt is None and run is None:
        return None
    standing = open_one(record)
    if record is None or standing is None or standing.attempt != attempt:
        return _over(record, attempt)
    if standing.start == "command" and run is None:
        return None
    if run is None or (standing.run is not None and run != standing.run):
        return Blocked(
            Code.ATTEMPT_OVER,
            "this attempt belongs to the workflow run that was started for it",
            "unset AGENT_RECOVERY_ATTEMPT and claim as anybody may; the run shows who it is by GitHub's token",
            generation=record.generation,
        )
    return None


def _over(record: Record | None, attempt: str | None) -> Blocked:
    latest = record.dispatched if record is not None else None
    if latest is None or latest.attempt != attempt:
        reason = "the ticket waits for no agent with this attempt: another one was started, or somebody claimed it"
    elif latest.state == "claimed":
        reason = "this attempt was claimed already, under another claim id"
    elif latest.state == "burned":
        reason = "nobody knew whether this attempt was started, so it was given up"
    else:
        reason = f"this attempt is over{f': {latest.because}' if latest.because else ''}"
    return Blocked(
        Code.ATTEMPT_OVER,
        reason,
        "end without doing anything: whoever the ticket needs next is started by itself, or asked for",
        generation=record.generation if record is not None else None,
    )


def claimed(record: Record, attempt: str | None, run: Run | None = None) -> Record:
    """What a claim that was let in makes of the open dispatch: it is this claim's, or its place is taken. Either way
    its permit ends with it (R7). Called before the new generation begins.
    """
    standing = open_one(record)
    if standing is None:
        return record
    if attempt == standing.attempt:
        update = {"state": "claimed", "run": run or standing.run}
        return _closed(record, standing.model_copy(update=update))
    return ended(record, "somebody else claimed the ticket first")


def ended(record: Record, because: str) -> Record:
    """The record whose open dispatch, if there is one, lets nobody in any more."""
    latest = record.dispatched
    if latest is None or latest.state != "open":
        return record
    return _closed(record, over(latest, because))


def over(latest: Dispatched, because: str) -> Dispatched:
    return latest.model_copy(update={"state": "over", "because": cut(one_line(because), BECAUSE_BYTES)})


def waits_until(latest: Dispatched, policy: Policy, run: RunSeen | None) -> datetime:
    """When an open dispatch is waited for no longer: its agent's first act is the claim."""
    patience = policy.lease.recovering_ttl
    queued = run is not None and run.run == latest.run and run.status == "waiting"
    return latest.at + (max(patience, QUEUED_FOR) if queued else patience)


def is_under_way(record: Record) -> bool:
    """Whether the permit of the latest dispatch is open: whether it was sent is not settled."""
    latest = record.dispatched
    return latest is not None and any(p.id == latest.attempt and p.state != "blocked" for p in record.open)


def _closed(record: Record, dispatched: Dispatched) -> Record:
    left = tuple(p for p in record.open if p.id != dispatched.attempt)
    return record.model_copy(update={"dispatched": dispatched, "open": left})
