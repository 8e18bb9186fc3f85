"""The next write of a landing, from what was decided about it and from what is under way already.

A merge and an edit of the base exclude each other; a merge that may still come is withdrawn by a fence commit before
anything takes its conditions away; an update that GitHub took on is waited for, and taken over when it is seen.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from app.domain.branch_updated import updates_asked
from app.domain.fence_commit import MERGES, may_still_merge
from app.domain.fencing import AtPublished, Foreign
from app.domain.landing import Behind, Land, NotYet, Queue, action_of, decide_landing
from app.domain.landing_actions import EditBase, Enqueue, FenceOff, Merge, NoteDequeued, NoteUpdate, UpdateBranch
from app.domain.landing_blocker import BlockerCode
from app.domain.landing_of_pull import MERGEABLE_AGAIN
from app.domain.merge_next import says_queue
from app.domain.permits import RETRY_AFTER
from app.domain.plan import Action, ForgetRefusals, SetDraft, Wait
from app.domain.policy import Mode
from app.domain.pull_acts import latest
from app.domain.pull_class import TicketPull
from app.domain.record import Permit
from app.domain.situation import Situation, ticket_pull

UPDATE_EVERY = timedelta(minutes=1)
"""How long an update that GitHub took on is waited for before it is asked for again."""
UPDATE_FORGOTTEN = timedelta(minutes=15)
"""After which nobody waits any more for an update, or an edit of the base, that is not wanted now."""

_NO_QUEUE = "not have a merge queue"

PASSING = frozenset(
    {
        BlockerCode.CHECKS_WAITING,
        BlockerCode.QUEUED,
        BlockerCode.HEAD_MOVING,
        BlockerCode.MERGEABLE_UNKNOWN,
        BlockerCode.NOT_LOOKED,
    }
)
"""What only takes time: the ticket is still on its way."""


def under_way(s: Situation) -> tuple[Action, ...]:
    """What has to be done first about a landing that is under way: nothing else is written before."""
    then = Wait("what follows is decided at once", s.now)
    if s.update is not None:
        return (NoteUpdate(s.update, "the branch stands at the update that the App asked for"), then)
    if (late := _late_to_queue(s)) is not None:
        return (late, then)
    spent = _spent(s)
    return (ForgetRefusals(spent, "the branch is not where it was asked for any more"), then) if spent else ()


def next_write(s: Situation, others: tuple[Action, ...]) -> Iterator[Action]:
    """What the landing needs now; nothing where landing is no question. `others`: what the round does besides."""
    queued = next((p for p in s.record.open if p.kind == "enqueue" and p.state == "accepted"), None)
    decision = decide_landing(s) if s.landing is not None else None
    if queued is not None:
        yield from _in_queue(s, queued, decision)
        return
    if decision is None or any(isinstance(a, EditBase) for a in others):
        return
    if _base_may_move(s):
        yield Wait("a change of the PR's base was asked for and may still come", _forgotten_at(s))
        return
    if isinstance(decision, NotYet):
        yield from _not_yet(s, decision)
    elif isinstance(decision, Land | Behind | Queue):
        yield _as_told(s, action_of(decision), decision.pull)


def unwanted(s: Situation, permits: tuple[Permit, ...]) -> FenceOff | Wait | None:
    """What is done about merges that may still come and are not what is to be done now. None: their probe finds what
    became of them.
    """
    pull = ticket_pull(s.record, s.observation)
    if pull is not None and pull.state == "MERGED":
        return None
    if s.landing is not None:
        if s.landing.queued and all(p.kind == "enqueue" for p in permits):
            return None
        decision = decide_landing(s)
        if isinstance(decision, NotYet) and all(b.code in PASSING for b in decision.blockers):
            # What only takes time takes nothing away: it is decided when it is known.
            return Wait(decision.blockers[0].reason, decision.until or s.now + MERGEABLE_AGAIN)
    return FenceOff(permits, "what the merge was allowed by does not hold any more")


def still_told(s: Situation, refused: Permit) -> bool:
    """Whether GitHub's refusal of a merge still says something: the same commit is to be merged now, by the queue or
    past it, or waits for nothing but time. Forgotten, it would be asked for again at once, and for ever.
    """
    pull, target = ticket_pull(s.record, s.observation), refused.target
    if refused.kind not in MERGES or s.landing is None or pull is None:
        return False
    if (pull.head_sha, pull.base) != (target.head_sha, target.base):
        return False
    decision = decide_landing(s)
    if isinstance(decision, NotYet):
        return all(b.code in PASSING for b in decision.blockers)
    return isinstance(decision, Land | Queue)


def excluded(s: Situation, rules: tuple[Action, ...]) -> FenceOff | None:
    """The withdrawal of merges that may still come, before the base of their PR is edited."""
    merges = may_still_merge(s.record)
    edits = any(isinstance(a, EditBase) for a in rules)
    return FenceOff(merges, "the base of the PR is to change") if merges and edits else None


def on_its_way(s: Situation) -> bool:
    """Whether the ticket needs its trunk to stand still: it lands, is brought up to date, or waits for nothing but
    time (its checks on the new head, say).
    """
    if s.landing is None or not s.landing.rules.strict or s.landing.rules.queue:
        return False
    decision = decide_landing(s)
    if isinstance(decision, NotYet):
        return all(b.code in PASSING for b in decision.blockers)
    return isinstance(decision, Land | Behind)


def unless_conflicting(s: Situation, decided: Iterable[Action]) -> Iterator[Action]:
    """What was decided about the PR's draft state, save that one which is a draft because it conflicts stays one until
    GitHub says that it does not any more.
    """
    pull = ticket_pull(s.record, s.observation)
    for action in decided:
        undrafts = isinstance(action, SetDraft) and not action.draft
        if not undrafts or pull is None or s.policy.mode is not Mode.FULL or pull.mergeable == "MERGEABLE":
            yield action
        elif pull.mergeable == "CONFLICTING":
            yield Wait("it conflicts with its trunk")
        else:
            click = latest(pull.acts, "ready", "draft")
            if click is None or click.kind != "draft" or not click.ours:
                yield action
            else:
                yield Wait("GitHub works out whether it still conflicts with its trunk", s.now + MERGEABLE_AGAIN)


def _as_told(s: Situation, action: Merge | Enqueue | UpdateBranch, pull: TicketPull) -> Action:
    if isinstance(action, Merge):
        told = [p for p in s.record.open if p.state == "blocked" and p.target.head_sha == action.head_sha]
        wants_queue = any(p.kind == "merge" and says_queue(p.reason or "") for p in told)
        has_none = any(p.kind == "enqueue" and _NO_QUEUE in (p.reason or "").lower() for p in told)
        if wants_queue and not has_none:
            # The rules could not be read, and GitHub's answer to the merge said what they are.
            return Enqueue(action.number, pull.node_id, action.head_sha, action.base, "GitHub wants it in the queue")
    if isinstance(action, UpdateBranch):
        asked = next((p for p in updates_asked(s.record) if p.target.head_sha == action.head_sha), None)
        until = s.record.round.opened_at + UPDATE_EVERY if asked is not None and s.record.round is not None else None
        if asked is not None and asked.state == "accepted" and until is not None and s.now < until:
            return Wait("GitHub brings the branch up to date", until)
    return action


def _not_yet(s: Situation, decision: NotYet) -> Iterator[Action]:
    pull = ticket_pull(s.record, s.observation)
    if decision.has(BlockerCode.CONFLICT) and pull is not None and not pull.is_draft:
        yield SetDraft(pull.number, pull.node_id, True, "it conflicts with its trunk")
    told = decision.blockers[0].reason if decision.blockers else "it does not land yet"
    yield Wait(told, decision.until)


def _in_queue(s: Situation, permit: Permit, decision: object) -> Iterator[Action]:
    pull = ticket_pull(s.record, s.observation)
    if pull is None or pull.state != "OPEN" or pull.head_sha != permit.target.head_sha:
        return
    if s.landing is None:
        yield FenceOff((permit,), "what the PR was queued for does not hold any more")
    elif not s.landing.queued:
        yield NoteDequeued(permit, "GitHub took the PR out of the merge queue")
        yield Wait("it is queued again later", s.now + RETRY_AFTER)
    elif isinstance(decision, NotYet) and any(b.code not in PASSING for b in decision.blockers):
        yield FenceOff((permit,), decision.blockers[0].reason)
    else:
        yield Wait("the PR waits in the merge queue")


def _spent(s: Situation) -> tuple[Permit, ...]:
    """Permits that GitHub took on and that lead nowhere any more: it carries them out for one head alone."""
    at = s.head.head if isinstance(s.head, Foreign) else s.head.sha if isinstance(s.head, AtPublished) else None
    pull = ticket_pull(s.record, s.observation)
    seen = pull.head_sha if pull is not None else None
    opened = s.record.round.opened_at if s.record.round is not None else s.now
    found = []
    for permit in s.record.open:
        elsewhere = at is not None and permit.target.head_sha != at
        if permit.state != "accepted":
            continue
        if permit.kind == "branch_update" and (elsewhere or s.now > opened + UPDATE_FORGOTTEN):
            found.append(permit)
        if permit.kind == "base_edit" and s.now > _forgotten_at(s):
            found.append(permit)
        if permit.kind == "enqueue" and ((elsewhere and seen == at) or _is_closed(s)):
            found.append(permit)
    return tuple(found)


def _is_closed(s: Situation) -> bool:
    """Whether the PR was closed: GitHub then has taken it out of its queue, and a person who opens it again finds it
    outside.
    """
    pull = ticket_pull(s.record, s.observation)
    return pull is not None and pull.state == "CLOSED"


def _late_to_queue(s: Situation) -> FenceOff | None:
    """A closed PR's place in the queue that was asked for without an answer: who opens the PR again must not find that
    the question comes then (R6).
    """
    late = tuple(p for p in s.record.open if p.kind == "enqueue" and p.state == "accepted" and p.unanswered)
    return (
        FenceOff(late, "its pull request was closed while it waited in the merge queue")
        if late and _is_closed(s)
        else None
    )


def _forgotten_at(s: Situation) -> datetime:
    """When an update of the branch, or an edit of the base, that GitHub did not answer is expected no more."""
    return (s.record.round.opened_at if s.record.round is not None else s.now) + UPDATE_FORGOTTEN


def _base_may_move(s: Situation) -> bool:
    return any(p.kind == "base_edit" and (p.state != "blocked" or p.unanswered) for p in s.record.open)
