"""What is wanted for a ticket that stopped: a fresh agent, or that a person takes it from here. Pure.

Wanted: a ticket whose holder died is resumed by a fresh agent where the policy names one and the gates pass, at most
`resume.max_attempts` times in a row, each counted before it is sent; where a gate refuses, people are told, and not a
supervisor's log alone. After a mere handoff nothing is started, or a run that fails and hands off would begin for ever:
a person is told. A wish that was carried out is not wished again.

What is wished here may still have to wait: how many at once, and what after an outage, is no matter of one ticket.
"""

from collections.abc import Iterator

from app.domain import attempt, gates
from app.domain.attempt import is_under_way, over, waits_until
from app.domain.children import Seen
from app.domain.dispatched import Dispatched, Start
from app.domain.fencing import is_passive
from app.domain.handoff_marker import report_marker
from app.domain.lease import Live, Suspect, liveness
from app.domain.outcome import Blocked
from app.domain.permits import refused
from app.domain.plan import (
    Abandon,
    AskPerson,
    Dispatch,
    Exhaust,
    NoteDispatched,
    Plan,
    RemoveComment,
    Wait,
    target_of,
)
from app.domain.policy import Mode
from app.domain.record import FINISHED, TERMINAL, Permit, Record
from app.domain.situation import Situation
from app.domain.stopping import exhausted, giving_up, is_giving_up, is_told, marker_of_stop, stopped_by
from app.domain.stuck import Stuck, stuck

Wish = Dispatch | Abandon | Exhaust | NoteDispatched | AskPerson | RemoveComment | Wait

_WORKFLOWS = frozenset({"workflow_dispatch", "repository_dispatch"})


def wishes(s: Situation) -> tuple[Wish, ...]:
    """What the ticket needs to go on by itself, or so that a person lets it go on. Empty where somebody holds it, where
    its work is ready, and where resuming is switched off: what is open then is still followed.
    """
    record = s.record
    still = record.status in TERMINAL | FINISHED or record.status == "held" or is_passive(record)
    if still or s.policy.mode is Mode.OBSERVE or is_under_way(record):
        return ()
    latest = record.dispatched
    if latest is not None and latest.state == "open":
        return (_followed(s, latest),)
    if not (s.resumes and s.policy.resume.enabled):
        return ()
    if record.status == "ready" or record.landing.asked is not None or _is_held(s):
        return ()
    return (*_doubles(s), *_next(s))


def wants_to_go_on(record: Record) -> bool:
    """Whether nobody holds the ticket and a person's word that it goes on is newer than the last agent that was
    started for it. Whoever takes it, and hands it off again, has carried that word out.
    """
    if record.lease is not None or record.intent is None:
        return False
    return record.dispatched is None or record.intent.at > record.dispatched.at


def opened(record: Record, action: Dispatch, permit: Permit, s: Situation) -> Record:
    """The record whose commit opens a dispatch: its attempt is counted, and the ticket counts as interrupted until
    somebody makes progress, so that what nobody answers for cannot begin for ever.
    """
    counted = gates.Pass(action.reason, gates.attempts_so_far(record) + 1, True)
    attempts = gates.after_claim(record, counted, now=s.now, heartbeat_at=s.heartbeat_at)
    return attempt.opened(record, action, permit, attempts, now=s.now)


def carried_out(record: Record, plan: Plan, opening: tuple[Permit, ...], s: Situation) -> Record:
    """The record whose commit opens the permits of what was wished, before anything is sent: an attempt is counted, a
    ticket that stopped says so.
    """
    permits = {(p.kind, p.target): p for p in opening}
    for action in plan:
        if isinstance(action, Dispatch):
            record = opened(record, action, permits[target_of(action)], s)
        elif isinstance(action, Exhaust):
            record = exhausted(record, action.stopped, now=s.now)
        elif isinstance(action, Abandon):
            record = giving_up(record, action.stopped, now=s.now)
    return record


def _is_held(s: Situation) -> bool:
    holder = liveness(s.record, s.policy, now=s.now, heartbeat_at=s.heartbeat_at, run_ended=s.run_ended)
    return isinstance(holder, Live | Suspect)


def _followed(s: Situation, latest: Dispatched) -> NoteDispatched | Wait:
    because = _ended_because(s, latest)
    if because is not None:
        return NoteDispatched(over(latest, because), because)
    return Wait("a fresh agent was started, and its claim is waited for", waits_until(latest, s.policy, s.run))


def _ended_because(s: Situation, latest: Dispatched) -> str | None:
    if latest.generation != s.record.generation:
        return "another generation began"
    seen, run = s.run, latest.run
    if (
        seen is not None
        and run is not None
        and seen.run.id == run.id
        and (seen.run.attempt > run.attempt or seen.has_ended)
    ):
        how = f" ({seen.conclusion})" if seen.conclusion else ""
        return f"its run ended without a claim{how}"
    if s.now >= waits_until(latest, s.policy, s.run):
        return "no agent came with it"
    return None


def _next(s: Situation) -> Iterator[Wish]:
    record = s.record
    found = stuck(
        record,
        s.policy,
        now=s.now,
        heartbeat_at=s.heartbeat_at,
        run_ended=s.run_ended,
        trunk_stands=s.observation.trunk is not None,
    )
    if found is not None:
        yield from _stop(s, found)
    elif gates.is_interrupted(record) or wants_to_go_on(record):
        yield from _start(s)
    elif (told := _handed_off(s)) is not None:
        yield told


def _stop(s: Situation, found: Stuck) -> Iterator[Abandon | Exhaust | Wait]:
    record, why = s.record, found.why
    before = record.stopped
    if before is not None and (record.status == "exhausted" or is_giving_up(record)):
        if is_giving_up(record):
            yield Abandon(marker_of_stop(record, before), before, why.remedy, before.reason)
        elif not is_told(record):
            yield Exhaust(marker_of_stop(record, before), before, why.remedy, before.reason)
        return
    stopped = stopped_by(record, found.because, why.reason, now=s.now)
    marker = marker_of_stop(record, stopped)
    if found.because == "attempts" or record.child is not None:
        # A child stays where it is: it ends with its ticket, or its ticket's holder asks for it anew.
        yield Exhaust(marker, stopped, why.remedy, why.reason)
    elif working := _children_at_work(s):
        yield Wait(f"it is not abandoned while its children are at work: {', '.join(working)}")
    else:
        yield Abandon(marker, stopped, why.remedy, why.reason)


def _children_at_work(s: Situation) -> tuple[str, ...]:
    """A child that nobody can see does not count: its ledger is gone or damaged, and told of elsewhere."""
    return tuple(
        name
        for name, seen in s.children.items()
        if isinstance(seen, Seen) and isinstance(seen.holder, Live | Suspect) and seen.record.status not in FINISHED
    )


def _start(s: Situation) -> Iterator[Dispatch | AskPerson | Wait]:
    record, resume = s.record, s.policy.resume
    if resume.dispatch == "none" or record.child is not None:
        return
    if resume.dispatch == "command" and not s.has_command:
        yield Wait("the policy asks for the operator's command, and the operator of the service has none")
        return
    answer = gates.if_claimed_now(record, s.policy, now=s.now, heartbeat_at=s.heartbeat_at, run_ended=s.run_ended)
    if isinstance(answer, Blocked) or answer.attempts_after > resume.max_attempts:
        return
    start: Start = resume.dispatch
    workflow = resume.workflow if start in _WORKFLOWS else None
    wish = Dispatch(start, record.generation, answer.reason, workflow)
    yield from _told_of_refusal(s, wish)
    yield wish


def _told_of_refusal(s: Situation, wish: Dispatch) -> Iterator[AskPerson]:
    refusal = refused(s.record, *target_of(wish))
    if refusal is None:
        return
    edge = f"not-started-g{s.record.generation}"
    if not _comments(s, edge):
        reason = f"no fresh agent could be started for it: {refusal.reason}"
        remedy = "mend that, and one is started by itself; or any agent takes the ticket"
        yield AskPerson(edge, reason, remedy)


def _handed_off(s: Situation) -> AskPerson | None:
    """A started agent gave the ticket back: whether it is worth another one is for a person to say."""
    record, latest = s.record, s.record.dispatched
    if latest is None or latest.state != "claimed" or record.child is not None or record.status != "unclaimed":
        return None
    if record.lease is not None or record.generation != latest.generation + 1 or s.policy.resume.dispatch == "none":
        return None
    edge = f"handed-off-g{record.generation}"
    if _comments(s, edge):
        return None
    reason = "the agent that was started for it handed it off, and its work is not ready"
    remedy = f"read its checkpoint, then say in a comment on #{record.ticket} that it goes on: `/recovery recover`"
    return AskPerson(edge, reason, remedy)


def _doubles(s: Situation) -> Iterator[RemoveComment]:
    """A report whose answer was lost may stand twice for a moment: the oldest stays (the ownership protocol, R3)."""
    if s.record.stopped is not None:
        for double in _comments(s, s.record.stopped.edge)[1:]:
            yield RemoveComment(double, "it is told already; the oldest report stays")


def _comments(s: Situation, edge: str) -> list[int]:
    """The comments that tell of this edge, oldest first, wherever the ticket's PRs are by now."""
    marker = report_marker(s.record.ticket_id, edge)
    seen = {c.id: c for p in s.observation.pulls for c in p.comments} | {c.id: c for c in s.observation.issue_comments}
    return sorted(id for id, comment in seen.items() if comment.body.startswith(marker))
