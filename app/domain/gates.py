"""Who may claim a ticket: the gates, which belong to the claim itself, whoever calls.

Interrupted = the last lease ended otherwise than by handoff, landing or cancel. Every claim of an interrupted ticket
without a person's act passes three gates: enabled, fresh, attempts. Pure, so the claim checks it again inside its
compare-and-set loop.

`attempts.count` counts claims since the last proof of progress, the first one included. It returns to 0 by a person's
act, by a handoff, or when a hard checkpoint with a newly completed step is written under the present generation. The
commit that makes generation n+1 carries the new count, before any agent starts. `attempts.alive_at` is frozen while a
ticket's interruption lasts, so failed attempts keep no ticket fresh. A dispatch is counted when it is opened: the claim
that comes with its attempt, or that takes its place, is counted already.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime

from app.domain.attempt import may_come, open_one
from app.domain.checkpoint import Checkpoint
from app.domain.dispatched import Run
from app.domain.hold import why_held
from app.domain.lease import Dead, Live, Nobody, Suspect, liveness, past
from app.domain.model import instant_text
from app.domain.outcome import Blocked, Code
from app.domain.policy import Mode, Policy, duration_text
from app.domain.record import FINISHED, TERMINAL, Attempts, Record
from app.domain.returning import may_return
from app.domain.stopping import is_giving_up
from app.domain.the_end_told import after_the_end
from app.domain.told_commands import of


@dataclass(frozen=True)
class Pass:
    """The claim may be made: its ledger commit carries `attempts_after`."""

    reason: str
    attempts_after: int
    interrupted: bool


def may_claim(
    record: Record | None,
    policy: Policy | None,
    *,
    now: datetime,
    observed_generation: int,
    login: str,
    by_person: bool = False,
    heartbeat_at: datetime | None = None,
    run_ended: bool = False,
    resumes: bool = True,
    attempt: str | None = None,
    by_run: Run | None = None,
) -> Pass | Blocked:
    """Whether `login` may claim the ticket of `record` (None: nobody ever did) from the generation it saw.

    `attempt`: the dispatch that the caller says it was started by; `by_run`: the workflow run that it proved to be.
    `by_person` says that a person asks for it at this very moment; a token never proves that. A person's claim passes
    the three gates and brings an ended ticket back, but does not take a live lease. `resumes` is the operator's switch
    for incidents: where it is off, interrupted tickets are found and shown, and none is resumed.
    """
    if policy is None:
        return Blocked(
            Code.NO_POLICY,
            "the repository has no usable policy on its default branch",
            "add .github/agent-recovery.yml; `agent-recovery plan --repo OWNER/NAME` shows what it would do",
        )
    if policy.mode is Mode.OBSERVE:
        return Blocked(
            Code.MODE_OBSERVE,
            "the policy says mode: observe, so the App only shows what it sees",
            "set mode: repair or mode: full in .github/agent-recovery.yml",
        )
    generation = record.generation if record is not None else 0
    state = liveness(record, policy, now=now, heartbeat_at=heartbeat_at, run_ended=run_ended)
    if record is not None:
        if (late := may_come(record, attempt, by_run)) is not None:
            return late
        if (refusal := _stands_still(record, by_person)) is not None:
            return refusal
        if isinstance(state, Live | Suspect) and record.lease is not None:
            return _held_by_another(record.lease.holder, generation, state, login == record.lease.login)
    elif (late := may_come(None, attempt, by_run)) is not None:
        return late
    if observed_generation != generation:
        return Blocked(
            Code.LOST_RACE,
            f"the ticket is in generation {generation}; the claim observed {observed_generation}",
            "read the brief again and claim from the generation it shows",
            retryable=True,
            generation=generation,
        )
    why = state.reason if isinstance(state, Dead | Nobody) else "the ticket is free"
    interrupted = is_interrupted(record)
    if by_person:
        return Pass(f"{why}; a person asks for it", 1, interrupted)
    if record is None or not interrupted:
        return Pass(why, 1 if record is None or record.status in TERMINAL else _counting_this(record), False)
    return _gates(record, policy, now, heartbeat_at, resumes) or Pass(why, _counting_this(record), True)


def if_claimed_now(
    record: Record | None,
    policy: Policy | None,
    *,
    now: datetime,
    heartbeat_at: datetime | None = None,
    run_ended: bool = False,
    resumes: bool = True,
) -> Pass | Blocked:
    """What anybody would be told who claimed now, from the generation that stands, without an attempt of ours."""
    return may_claim(
        record,
        policy,
        now=now,
        observed_generation=record.generation if record is not None else 0,
        login="",
        heartbeat_at=heartbeat_at,
        run_ended=run_ended,
        resumes=resumes,
    )


def _counting_this(record: Record) -> int:
    """The attempts with the claim that is judged: an open dispatch is a slot that is counted already, whoever takes it
    (the ownership protocol, I5).
    """
    so_far = attempts_so_far(record)
    return max(so_far, 1) if open_one(record) is not None else so_far + 1


def is_interrupted(record: Record | None) -> bool:
    """Whether the last lease ended otherwise than by handoff, landing or cancel (of a lease that is not live)."""
    if record is None or record.status in TERMINAL:
        return False
    return record.lease is not None or record.attempts.interrupted_at is not None


def last_life(record: Record, *, now: datetime, heartbeat_at: datetime | None = None) -> datetime | None:
    """The last proof of life before the interruption, or None where no believable one is known.

    Grants and heartbeats count only under a lease that is no attempt at an interrupted ticket.
    """
    moments = [record.attempts.alive_at]
    if record.attempts.interrupted_at is None:
        moments += [record.lease.granted_at if record.lease else None, heartbeat_at]
    return max((moment for m in moments if (moment := past(m, now)) is not None), default=None)


def last_sign(record: Record, *, now: datetime, heartbeat_at: datetime | None = None) -> datetime | None:
    """What the age of an interrupted ticket is counted from: its last proof of life, or a person's word after it."""
    intent = past(record.intent.at, now) if record.intent is not None else None
    signs = (last_life(record, now=now, heartbeat_at=heartbeat_at), intent)
    return max((moment for moment in signs if moment is not None), default=None)


def after_claim(
    record: Record | None, passed: Pass, *, now: datetime, by_person: bool = False, heartbeat_at: datetime | None = None
) -> Attempts:
    """The attempts that the claim's own ledger commit carries."""
    steps = _digests(record.checkpoint) if record is not None else ()
    if record is None or by_person or not passed.interrupted:
        return Attempts(count=passed.attempts_after, alive_at=now, steps_before=steps)
    return Attempts(
        count=passed.attempts_after,
        steps_before=steps,
        alive_at=last_life(record, now=now, heartbeat_at=heartbeat_at),
        interrupted_at=record.attempts.interrupted_at or now,
    )


def after_life(attempts: Attempts, *, now: datetime) -> Attempts:
    """The attempts after a sign of life (a write or a renewal) that is no progress: a failed attempt renews nothing."""
    return attempts if attempts.interrupted_at is not None else attempts.model_copy(update={"alive_at": now})


def after_progress(attempts: Attempts, before: Checkpoint, after: Checkpoint, *, hard: bool, now: datetime) -> Attempts:
    """The attempts after a checkpoint under the present generation: back to 0 where it is hard and names a step as
    completed that the one before did not.
    """
    if hard and newly_completed(before, after):
        return Attempts(count=0, alive_at=now, steps_before=_digests(after))
    return after_life(attempts, now=now)


def shows_progress(record: Record) -> bool:
    """Whether a step was newly completed and published under the present lease, by a push the service did not write."""
    if record.published_now is None:
        return False
    return not set(_digests(record.checkpoint)) <= set(record.attempts.steps_before)


def attempts_so_far(record: Record) -> int:
    """`attempts.count`, or 0 where progress was shown that nobody has noted yet."""
    return 0 if shows_progress(record) else record.attempts.count


def progress_noted(record: Record, *, now: datetime) -> Attempts:
    """The attempts once shown progress is noted."""
    return Attempts(count=0, alive_at=now, steps_before=_digests(record.checkpoint))


def _digests(checkpoint: Checkpoint) -> tuple[str, ...]:
    # Names may be long and are many; eight characters tell them apart well enough for a count of attempts.
    names = (step.id or step.text for step in checkpoint.completed_steps)
    return tuple(dict.fromkeys(hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8] for name in names))


def after_handoff() -> Attempts:
    """The attempts after a handoff: nothing was interrupted."""
    return Attempts()


def newly_completed(before: Checkpoint, after: Checkpoint) -> tuple[str, ...]:
    """The names of steps completed in `after` and not in `before`; a step's name is its id, else its text."""
    known = {step.id or step.text for step in before.completed_steps}
    return tuple(dict.fromkeys(n for step in after.completed_steps if (n := step.id or step.text) not in known))


def _stands_still(record: Record, by_person: bool) -> Blocked | None:
    if record.status == "abandoned" and not by_person and not may_return(record):
        return _given_up(record)
    if is_giving_up(record) and not by_person:
        return _given_up(record)
    if record.status in TERMINAL and not by_person and not may_return(record):
        return Blocked(
            Code.ENDED,
            f"the ticket is {record.status}",
            after_the_end(record),
            generation=record.generation,
        )
    if record.status in FINISHED:
        return Blocked(
            Code.ENDED,
            f"the child has {record.status}; its result waits for the holder of #{record.ticket}",
            f"the holder of #{record.ticket} integrates it, or asks for it anew: `agent-recovery child list`",
            generation=record.generation,
        )
    if record.status == "held":
        return Blocked(
            Code.HELD,
            why_held(record),
            f"ask that person; it is taken off hold with `/recovery unhold{of(record.ticket_id)}` in a comment on "
            f"#{record.ticket}",
            generation=record.generation,
        )
    return None


def _given_up(record: Record) -> Blocked:
    because = f", because {record.stopped.reason}" if record.stopped is not None else ""
    remedy = "nothing resumes it by itself"
    if record.child is None:
        remedy = (
            "a person looks whether the plan still fits, and says so in a comment on "
            f"#{record.ticket}: `/recovery recover`"
        )
    return Blocked(Code.ABANDONED, f"the ticket is abandoned{because}", remedy, generation=record.generation)


def _held_by_another(holder: str, generation: int, state: Live | Suspect, same_login: bool) -> Blocked:
    silent = "" if isinstance(state, Live) else f" and has not been heard of since {instant_text(state.since)}"
    own = " (claimed by your own account)" if same_login else ""
    return Blocked(
        Code.LEASE_LIVE,
        f"{holder}{own} holds generation {generation} until {instant_text(state.until)}{silent}",
        f"try again after {instant_text(state.until)}, or let the holder run `agent-recovery handoff`",
        retryable=True,
        holder=holder,
        generation=generation,
    )


def _gates(
    record: Record, policy: Policy, now: datetime, heartbeat_at: datetime | None, resumes: bool
) -> Blocked | None:
    resume = policy.resume
    if not resumes:
        return Blocked(
            Code.RESUME_DISABLED,
            "the operator of the service has switched resuming off, so nothing resumes an interrupted ticket by itself",
            "claim again when AGENT_RECOVERY_RESUME is on again",
            generation=record.generation,
        )
    if not resume.enabled:
        return Blocked(
            Code.RESUME_DISABLED,
            "the policy says resume.enabled: false, so nothing resumes an interrupted ticket by itself",
            "set resume.enabled: true in .github/agent-recovery.yml",
            generation=record.generation,
        )
    sign = last_sign(record, now=now, heartbeat_at=heartbeat_at)
    if sign is None or now > sign + resume.max_age:
        seen = f"was {instant_text(sign)}" if sign is not None else "is not known"
        return Blocked(
            Code.TOO_OLD,
            f"its last proof of life {seen}; a ticket is resumed by itself within "
            f"{duration_text(resume.max_age)} (resume.max_age)",
            "a person looks whether the plan still fits, and says so in a comment on "
            f"#{record.ticket}: `/recovery recover{of(record.ticket_id)}`",
            generation=record.generation,
        )
    count = attempts_so_far(record)
    if count >= resume.max_attempts and open_one(record) is None:
        return Blocked(
            Code.ATTEMPTS_EXHAUSTED,
            f"{count} claims in a row completed no step (resume.max_attempts: {resume.max_attempts})",
            "a person looks at what stops it, and says in a comment on "
            f"#{record.ticket} when it may go on: `/recovery recover{of(record.ticket_id)}`",
            generation=record.generation,
        )
    return None
