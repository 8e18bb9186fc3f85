"""What to do about a ticket, from what GitHub shows and the ledger says. Pure: no I/O, no clock, no randomness.

Wanted: a ticket in progress whose holder published work has one open PR from its branch to its trunk, one handoff
comment there, and one check-run a (head, generation); its branch stands where the holder published it. A second
decision on an unchanged world is empty.

Accepted losses: between two looks a projection may be old; it blocks a person at worst and permits the App nothing.
"""

from collections.abc import Iterator
from datetime import timedelta

from app.domain import gates, landing_steps, permits
from app.domain.board import decide_board
from app.domain.checkpoint_gap import overdue, telling
from app.domain.child_changes import with_results
from app.domain.denied_effects import denials
from app.domain.drafts import decide_draft
from app.domain.effect_report import settling
from app.domain.external_id import parse
from app.domain.fence_commit import MERGES, to_restore
from app.domain.fencing import AtPublished, Foreign, Head, NothingPublished, Tampered, Unheld, is_passive, shown_head
from app.domain.handoff_marker import marker_of
from app.domain.landing_tail import tail
from app.domain.lease import liveness, past
from app.domain.metadata import decide_metadata
from app.domain.observation import Observation, Pull
from app.domain.others_check import OTHERS_ID
from app.domain.plan import (
    Action,
    Adopt,
    AskAboutPull,
    CreateCheckRun,
    CreateComment,
    CreatePull,
    ForgetRefusals,
    Guarded,
    NoteProgress,
    NoteResults,
    NoteSaved,
    Plan,
    PullIsClosed,
    PullIsOpen,
    PullLostBase,
    RemoveComment,
    ReopenPull,
    RestoreBranch,
    SealTail,
    StampLease,
    Wait,
    WarnOfGap,
    target_of,
)
from app.domain.pull_base import pull_base
from app.domain.pull_evidence import Uncertain
from app.domain.record import TERMINAL, Record, Work
from app.domain.resumption import wishes
from app.domain.situation import Situation, ticket_pull
from app.domain.stack_moves import stack_moves

BASE_AGAIN = timedelta(hours=1)
"""When a PR whose base went away is looked at again: no event of the ticket's tells that a branch is back."""

PullNoted = PullIsOpen | PullIsClosed | PullLostBase

SEAL_EVERY = 64
"""The service seals a ledger at the latest when this many commits of agents stand above its last seal."""


def decide(s: Situation) -> Plan:
    """The actions for one ticket in progress, in the order in which they are to be done."""
    if s.record.status in TERMINAL:
        return (Wait(f"the ticket is {s.record.status}"),)
    standing = permits.standing(s.record, author_is_dead=s.author_is_dead, now=s.now)
    if isinstance(standing, permits.NotDue):
        return (Wait("somebody else is in the middle of a write", standing.until),)
    rules = _rules(s)
    wanted = {target_of(a) for a in rules if isinstance(a, Guarded)}
    if isinstance(standing, permits.Adoptable):
        unwanted = tuple(p for p in standing.permits if p.kind in MERGES and (p.kind, p.target) not in wanted)
        if unwanted and (first := landing_steps.unwanted(s, unwanted)) is not None:
            return (first,)
        # A dispatch is never sent again: its probe finds the agent, or its attempt is burned (R5).
        again = tuple(p for p in standing.permits if (p.kind, p.target) in wanted and p.kind != "dispatch")
        refused = [t for p in again if p.kind in MERGES and (t := permits.retry_at(p)) is not None and s.now < t]
        if refused:
            return (Wait("GitHub refused a merge, and one that was sent before may still come", max(refused)),)
        return (Adopt(standing.permits, again, "their author is gone, or their time is up"),)
    excluded = landing_steps.excluded(s, rules)
    if excluded is not None:
        return (excluded,)
    planned = tuple(_unless_refused(s, a) if isinstance(a, Guarded) else a for a in rules)
    others = (p for p in s.record.open if p.state == "blocked" and (p.kind, p.target) not in wanted)
    stale = tuple(p for p in others if not landing_steps.still_told(s, p))
    if stale and _over_by_a_person(s) is None and not isinstance(s.head, Tampered):
        return (ForgetRefusals(stale, "what GitHub refused is not wanted any more"), *planned)
    return planned


def _rules(s: Situation) -> Plan:
    """What the ticket needs, whatever is open or was refused."""
    landed = tail(s)
    if landed is not None:
        return landed if isinstance(landed, tuple) else (Wait(landed.reason),)
    first = landing_steps.under_way(s)
    if first:
        return first
    over = _over_by_a_person(s)
    if over is not None:
        return (over,)
    if isinstance(s.head, Tampered):
        return (_restoration(s, s.head),)
    effects = settling(s.record, s.observation)
    others = (
        *_renewal(s),
        *_results(s),
        *_pull(s),
        *stack_moves(s.record, s.observation),
        *_comment(s),
        *_check_run(s),
        *_upkeep(s),
        *wishes(s),
        *_gap(s),
        *effects,
        *denials(s.record, s.observation),
    )
    return (*others, *landing_steps.next_write(s, others))


def _gap(s: Situation) -> Iterator[NoteSaved | WarnOfGap | RemoveComment]:
    holder = liveness(s.record, s.policy, now=s.now, heartbeat_at=s.heartbeat_at, run_ended=s.run_ended)
    late = overdue(s.record, s.policy, holder, now=s.now)
    if late is not None:
        yield from telling(s.record, s.observation, late, tail=s.tail)


def _unless_refused(s: Situation, action: Guarded) -> Guarded | Wait:
    refusal = permits.refused(s.record, *target_of(action))
    retry_at = permits.retry_at(refusal) if refusal else None
    if refusal is None or retry_at is None or s.now >= retry_at:
        return action
    return Wait(f"GitHub refused it: {refusal.reason}", retry_at)


def _over_by_a_person(s: Situation) -> Wait | None:
    """A person closed the Issue or merged the PR: nothing is put back or created against that. GitHub deletes a merged
    branch by itself where the repository says so, which is no tampering.
    """
    pull = ticket_pull(s.record, s.observation)
    if pull is not None and pull.state == "MERGED":
        return Wait(f"PR #{pull.number} was merged")
    if pull is not None and pull.state == "CLOSED" and s.record.projections.closed_pr == pull.number:
        return Wait(f"PR #{pull.number} was closed by a person")
    issue = s.observation.issue
    if issue is None or issue.state != "OPEN":
        return Wait("the Issue is closed or gone")
    return None


def _restoration(s: Situation, head: Tampered) -> RestoreBranch:
    pull = ticket_pull(s.record, s.observation)
    what = "deleted" if head.head is None else "overwritten"
    return RestoreBranch(
        branch=s.record.work.branch if s.record.work else "",
        published=to_restore(s.record, head.published),
        found=head.head,
        reopen_pr=pull.number if pull is not None else None,
        reason=f"the ticket branch was {what} by somebody who does not hold the ticket",
    )


def _renewal(s: Situation) -> Iterator[StampLease | SealTail | NoteProgress]:
    lease = s.record.lease
    if gates.shows_progress(s.record) and s.record.attempts.count:
        yield NoteProgress("a step was completed and published under the present lease")
    if lease is not None:
        ttl = s.policy.lease.ttl
        beat = past(s.heartbeat_at, s.now)
        # A push counts when it is seen, a heartbeat when it was sent: an old one renews no holder silent since.
        sign = s.now if s.record.renewals > lease.renewals_seen else beat
        if sign is not None and sign + ttl / 2 >= lease.expires_at:
            yield StampLease(sign + ttl, sign, "the holder showed itself and half of its time is gone")
            return
    if s.tail >= SEAL_EVERY:
        yield SealTail(f"{s.tail} commits of the holder stand above the last seal of the service")


def _results(s: Situation) -> Iterator[NoteResults]:
    noted = with_results(s.record, s.children).children
    if noted != s.record.children:
        yield NoteResults(noted, "a child gave its result")


def _pull(s: Situation) -> Iterator[CreatePull | ReopenPull | PullNoted | AskAboutPull | Wait]:
    work, pull = s.record.work, ticket_pull(s.record, s.observation)
    if work is None or (isinstance(s.head, NothingPublished) and not isinstance(s.head, Unheld)):
        if is_passive(s.record) and pull is not None and pull.state == "CLOSED":
            yield PullIsClosed(pull.number, "it was closed with its branch, which nobody holds: people's decision")
        return
    to_reopen = s.record.projections.reopen_pr
    if pull is not None and pull.state == "OPEN":
        at = s.record.projections
        if to_reopen is not None or at.closed_pr is not None or at.pr_number != pull.number:
            yield PullIsOpen(pull.number, "the ticket's PR is open")
        return
    if pull is None and s.record.child is not None and s.observation.trunk is None:
        yield Wait(f"the branch {work.trunk}, into which the child's work goes, is not published yet")
    elif pull is None:
        yield from _missing_pull(s, work)
    elif pull.state == "CLOSED" and pull.base == work.trunk and s.observation.trunk is None:
        # GitHub closes a PR whose base is deleted, and reopens none without one.
        if to_reopen != pull.number:
            yield PullLostBase(pull.number, "it was closed because its base went away, not by a person")
        yield Wait(f"the base of PR #{pull.number} does not stand any more", s.now + BASE_AGAIN)
    elif pull.state == "CLOSED" and to_reopen == pull.number:
        yield ReopenPull(pull.number, "it was closed by what was done to its branch, not by a person")
    elif pull.state == "CLOSED":
        yield PullIsClosed(pull.number, "it was closed while its branch stands: a person's decision, left alone")


def _missing_pull(s: Situation, work: Work) -> Iterator[CreatePull | AskAboutPull | Wait]:
    standing = s.head.head if isinstance(s.head, Unheld) else _published(s.head)
    if standing is None or standing == work.base_sha:
        yield Wait("the branch has no commit of its own yet, so there is nothing to open a PR for")
        return
    base = pull_base(s.record, s.observation)
    if isinstance(base, Uncertain):
        yield AskAboutPull(base, base.reason)
        yield Wait(f"no PR is opened: {base.reason}")
        return
    yield CreatePull(work.branch, standing, base.name, "the ticket's branch has work and no PR")


def _published(head: Head) -> str | None:
    if isinstance(head, AtPublished):
        return head.sha
    return head.published if isinstance(head, Foreign | Tampered) else None


def _comment(s: Situation) -> Iterator[CreateComment | RemoveComment]:
    marker = marker_of(s.record.ticket_id)
    pull = ticket_pull(s.record, s.observation)
    if pull is None:
        creating = any(isinstance(_unless_refused(s, a), CreatePull) for a in _pull(s) if isinstance(a, CreatePull))
        if creating:
            yield CreateComment(marker, "the new PR gets the handoff comment")
        return
    if pull.state != "OPEN":
        return
    ours = [c for c in pull.comments if c.body.startswith(marker)]
    if not ours and pull.many_comments and s.record.projections.comment_id is not None:
        return
    if not ours:
        yield CreateComment(marker, "the PR has no handoff comment")
    for double in ours[1:]:
        yield RemoveComment(double.id, "a handoff comment stands already; the oldest stays")


def _check_run(s: Situation) -> Iterator[CreateCheckRun]:
    head = shown_head(s.head)
    if head is None:
        return
    generation = s.record.generation
    if own_check_run(s.record, s.observation, head) is None:
        yield CreateCheckRun(head, generation, f"the head has no check-run of generation {generation}")


def own_check_run(record: Record, observation: Observation, head: str) -> int | None:
    """The id of the check-run on `head` that belongs to this ticket's present generation: the oldest of them. A run
    belongs to the ticket that its external id names first.
    """
    return min(
        (id for id, generation in _check_runs_of(record, observation, head) if generation == record.generation),
        default=None,
    )


def doubled_check_runs(record: Record, observation: Observation, own: int, head: str) -> tuple[int, ...]:
    """Check-runs of this ticket that came after `own`: a create whose answer was lost was carried out late, of this
    generation or of one before. None can be removed and people are shown the newest, so each must say what `own` says.
    One of a newer generation than the record's is not for its reader to touch.
    """
    found = {id for id, generation in _check_runs_of(record, observation, head) if generation <= record.generation}
    # What was said of the commit while it was taken for nobody's speaks for the ticket now.
    found |= {run.id for run in observation.check_runs if (run.sha, run.external_id) == (head, OTHERS_ID)}
    return tuple(sorted(id for id in found if id > own))


def _check_runs_of(record: Record, observation: Observation, head: str) -> Iterator[tuple[int, int]]:
    for run in observation.check_runs:
        for p in parse(run.external_id)[:1]:
            if run.sha == head and p.ticket == record.ticket_id:
                yield run.id, p.generation


def _upkeep(s: Situation) -> Iterator[Action]:
    pull = _known_pull(s)
    if pull is not None:
        decided = decide_draft(s.record, pull, s.head, s.policy.draft_label, now=s.now)
        yield from landing_steps.unless_conflicting(s, decided)
        yield from decide_metadata(s.record, pull, s.head, s.observation, s.policy)
    yield from decide_board(s.record, s.observation, s.policy, s.trunks)


def _known_pull(s: Situation) -> Pull | None:
    """The ticket's PR, open and recorded, so that its timeline was read with it."""
    pull = ticket_pull(s.record, s.observation)
    is_known = pull is not None and pull.state == "OPEN" and pull.number == s.record.projections.pr_number
    return pull if is_known else None
