"""Tickets that nothing resumes any more until a person has looked, and why: what the App acts on and what it shows.

The gates only refuse (`domain/gates.py`); without this a refused claim would be known to nobody but a supervisor's log.
"""

from dataclasses import dataclass
from datetime import datetime

from app.domain import gates
from app.domain.dispatched import Stopping
from app.domain.outcome import Blocked, Code
from app.domain.policy import Policy
from app.domain.record import Record
from app.domain.told_commands import of

_GATES: dict[Code, Stopping] = {Code.TOO_OLD: "too_old", Code.ATTEMPTS_EXHAUSTED: "attempts"}


@dataclass(frozen=True)
class Stuck:
    """What stops the ticket, and the refusal that whoever claims it hears."""

    because: Stopping
    why: Blocked


def stuck(
    record: Record,
    policy: Policy,
    *,
    now: datetime,
    heartbeat_at: datetime | None = None,
    run_ended: bool = False,
    resumes: bool = True,
    trunk_stands: bool = True,
) -> Stuck | None:
    """Why the interrupted ticket waits for a person: its attempts are used up, it is too old, or there is nothing to
    resume it with. None while somebody holds it, while a claim would pass and bring it on, where the work is ready, and
    where somebody chose that nothing is resumed. What stopped it first stays the reason.
    """
    if record.status in ("ready", "held") or not (resumes and policy.resume.enabled):
        return None
    answer = gates.if_claimed_now(record, policy, now=now, heartbeat_at=heartbeat_at, run_ended=run_ended)
    if isinstance(answer, Blocked) and answer.code is Code.ABANDONED and record.stopped is not None:
        return Stuck(record.stopped.because, answer)
    if isinstance(answer, Blocked) and answer.code in _GATES:
        if record.status == "exhausted" and record.stopped is not None:
            # What is too old besides is no other news.
            reason, code = record.stopped.reason, Code.ATTEMPTS_EXHAUSTED
            return Stuck(record.stopped.because, Blocked(code, reason, answer.remedy, generation=record.generation))
        return Stuck(_GATES[answer.code], answer)
    if isinstance(answer, Blocked) or not answer.interrupted:
        return None
    missing = _missing(record, policy, trunk_stands)
    if missing is None:
        return None
    remedy = (
        f"mend that, then say so in a comment on #{record.ticket}: `/recovery recover{of(record.ticket_id)}`, which "
        "lets it go on"
    )
    return Stuck("unresumable", Blocked(Code.ABANDONED, missing, remedy, generation=record.generation))


def _missing(record: Record, policy: Policy, trunk_stands: bool) -> str | None:
    """What it would take to resume the ticket and is not there."""
    if not trunk_stands and record.child is None and record.work is not None:
        return f"the branch {record.work.trunk}, onto which its work goes, does not exist any more"
    latest, resume = record.dispatched, policy.resume
    if latest is None or latest.state != "unstartable" or latest.start != resume.dispatch:
        return None
    if record.intent is not None and record.intent.at > latest.at:
        # A person says that it is mended since: one more try tells.
        return None
    return latest.because if latest.workflow in (None, resume.workflow) else None


def switched_off(
    record: Record,
    policy: Policy,
    *,
    now: datetime,
    heartbeat_at: datetime | None = None,
    run_ended: bool = False,
    resumes: bool = True,
) -> str | None:
    """That nothing resumes the interrupted ticket because somebody chose so, in words for people. None elsewhere."""
    if record.status in ("ready", "held", "exhausted"):
        return None
    answer = gates.if_claimed_now(
        record, policy, now=now, heartbeat_at=heartbeat_at, run_ended=run_ended, resumes=resumes
    )
    if not isinstance(answer, Blocked) or answer.code is not Code.RESUME_DISABLED:
        return None
    return f"its last holder is gone, and {answer.reason}; {answer.remedy}"


def needs_person(
    record: Record,
    policy: Policy,
    *,
    now: datetime,
    heartbeat_at: datetime | None = None,
    run_ended: bool = False,
    resumes: bool = True,
    trunk_stands: bool = True,
) -> Blocked | None:
    """The same as it is shown: why, and the way back."""
    found = stuck(
        record,
        policy,
        now=now,
        heartbeat_at=heartbeat_at,
        run_ended=run_ended,
        resumes=resumes,
        trunk_stands=trunk_stands,
    )
    return found.why if found is not None else None
