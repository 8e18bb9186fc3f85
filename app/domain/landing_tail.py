"""What follows the merge of a ticket's PR, step by step, whoever merged it: the trunk has the work, the Issue is
closed, nobody builds on the branch any more, and then the ticket has landed, in one update with the branch.

Every step is decided from what GitHub and the record show now, so it is taken up where it stands after any
interruption. What is closed is the ticket's own Issue alone, as completed, and once in a ticket's life: a person who
reopens it is not argued with. No words in any commit or PR close anything.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from app.domain.branches import ticket_of_branch
from app.domain.dependents import dependents_to_move
from app.domain.fence_commit import MERGES, came_first
from app.domain.handoff_marker import report_marker
from app.domain.landing_actions import CloseIssue, NoteMerge, Nudge, TellOfMerge
from app.domain.life_cycle import Ending, merged_pull
from app.domain.merge_seen import AfterMerge
from app.domain.observation import Observation
from app.domain.plan import MoveTrunk, Plan, Wait
from app.domain.record import TERMINAL, PermitKind, Record
from app.domain.situation import Situation, own_pulls
from app.domain.ticket_id import Child

BASES_WITHIN = timedelta(minutes=10)
"""How long a ticket that landed waits for others to give their PRs another base. Then it ends, and its branch stays
until none needs it: a base may be one that only a person, or GitHub, can move.
"""
AGAIN = timedelta(minutes=1)
"""When a merge that does not show whole yet is looked at again."""


def tail(s: Situation) -> Plan | Ending | None:
    """The steps that are due now, or that the ticket has landed. None where its PR is not merged, or where landing is
    not how it ends: a child's, one that went elsewhere while a person closed the Issue.
    """
    record, issue = s.record, s.observation.issue
    pull = merged_pull(record, s.observation)
    if pull is None or record.child is not None or record.status in TERMINAL or issue is None:
        return None
    after, trunk = s.after_merge, record.work.trunk if record.work is not None else None
    closed = issue.state != "OPEN"
    if after is None:
        again = s.now + AGAIN
        return None if closed else (Wait(f"PR #{pull.number} was merged, and its commit does not show yet", again),)
    incident = record.landing.incident
    if closed and (incident is not None or not after.on_trunk):
        return None
    if incident is not None:
        return (*_told(s, incident), Wait(incident))
    if not after.on_trunk:
        what = f"PR #{pull.number} was merged into {after.merged.base}"
        if came_first(record, after.merged.head_sha, after.merged.base) and after.merged.base != trunk:
            why = "the merge came before the word that moved the ticket"
            return (MoveTrunk(after.merged.base, why), Wait(why, s.now))
        below = ticket_of_branch(after.merged.base)
        if below is not None and below != record.ticket:
            return (
                Wait(f"PR #{pull.number} was merged into the branch of #{below}, and is done when that has landed"),
            )
        if after.merged.base != trunk:
            return (*_told(s, f"{what}, which is not the ticket's trunk"), Wait(what))
        return (Wait(f"{what}, and the trunk does not contain it", s.now + AGAIN),)
    steps = tuple(_steps(s, after, is_open=not closed))
    if steps and all(isinstance(step, NoteMerge) for step in steps):
        return (*steps, Wait("the merge is noted; the end follows", s.now))
    return steps or Ending("landed", "merged", f"PR #{pull.number} was merged and {trunk} contains it")


def _steps(s: Situation, after: AfterMerge, *, is_open: bool) -> Iterator[NoteMerge | CloseIssue | Nudge | Wait]:
    landing = s.record.landing
    reopened = is_open and not landing.issue_closed and after.closed_since
    if landing.merged != after.merged or reopened:
        yield NoteMerge(after.merged, reopened, "the trunk contains the work")
    if is_open and not landing.issue_closed and not reopened:
        yield CloseIssue(s.record.ticket, "the trunk contains the work")
        return
    movable = (d for d in dependents_to_move(s.observation) if d.to is not None)
    # Where no ledger is in progress nobody moves the base: the ticket does not wait for that, its branch stays.
    waiting = [d for d in movable if d.ticket is not None and d.ticket not in after.unmoved]
    until = after.merged.at + BASES_WITHIN
    if waiting and s.now < until:
        yield Nudge(tuple(d.ticket for d in waiting if d.ticket is not None), "their base is this ticket's branch")
        yield Wait("; ".join(d.reason for d in waiting), until)


def closed_books(record: Record, observation: Observation, after: AfterMerge | None) -> Record:
    """The record of a ticket that lands: the merge is noted, and the permits that ended with it are closed."""
    if after is None:
        return record
    ends: set[PermitKind] = {*MERGES, "branch_update"}
    closed = observation.issue is None or observation.issue.state != "OPEN"
    if closed:
        ends.add("issue_close")
    noted = {"merged": after.merged, "issue_closed": record.landing.issue_closed or closed}
    landing = record.landing.model_copy(update=noted)
    left = tuple(p for p in record.open if p.kind not in ends)
    return record.model_copy(update={"landing": landing, "open": left})


def was_left_open(record: Record) -> bool:
    """Whether a landed ticket's Issue was neither closed by the App nor found closed: its merge into the trunk came
    after the ticket was cancelled.
    """
    landing = record.landing
    on_trunk = landing.merged is not None and landing.merged.base == record.trunk
    return record.status == "landed" and on_trunk and not landing.issue_closed


def _told(s: Situation, what: str) -> Iterator[TellOfMerge]:
    """Told once for each merge, where people read."""
    pull = merged_pull(s.record, s.observation)
    edge = f"merge-{pull.head_sha[:12]}" if pull is not None else "merge"
    marker = report_marker(s.record.ticket_id, edge)
    comments = (*s.observation.issue_comments, *(c for p in s.observation.pulls for c in p.comments))
    if not any(c.body.startswith(marker) for c in comments):
        yield TellOfMerge(edge, what)


@dataclass(frozen=True)
class Goes:
    """The ticket's branch holds nothing that its trunk lacks, and nobody needs it."""

    name: str
    sha: str


@dataclass(frozen=True)
class Stays:
    """The branch is left alone, and why."""

    reason: str


def landed_branch(record: Record, observation: Observation, after: AfterMerge | None) -> Goes | Stays | None:
    """What becomes of the branch of a ticket whose PR was merged; None where it does not stand any more."""
    work = record.work
    branch = observation.branch(work.branch) if work is not None else None
    if work is None or branch is None:
        return None
    if branch.name in (work.trunk, observation.default_branch, observation.around.asked.into):
        return Stays("a trunk and the base of releases are never removed")
    if after is None or not after.on_trunk:
        return Stays("the trunk does not contain what was merged")
    fence = record.fence
    on_fence = fence is not None and (fence.sha, fence.on) == (branch.sha, after.merged.head_sha)
    if branch.sha != after.merged.head_sha and not on_fence:
        return Stays("it has commits that were not merged")
    if record.landing.branch_removed:
        return Stays("it was removed after the merge, and somebody brought it back")
    if record.landing.branch_kept is not None:
        return Stays(record.landing.branch_kept)
    needed = [p.number for p in own_pulls(observation) if p.state == "OPEN" and p.head == branch.name]
    needed += [d.pull.number for d in dependents_to_move(observation) if not _ends_with(d.ticket, record)]
    if needed:
        return Stays(f"open pull requests need it: {', '.join(f'#{n}' for n in needed)}")
    return Goes(branch.name, branch.sha)


def _ends_with(owner: object, record: Record) -> bool:
    """Whether a pull request belongs to a child of the ticket, which ends with it."""
    return isinstance(owner, Child) and owner.parent == record.ticket
