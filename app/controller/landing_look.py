"""What a look reads for a landing alone: the evidence before it, what the merge left after it, an update of the branch
in between. Cost follows what is ready: a ticket at work costs no request more.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from app.domain.branch_updated import candidate, is_the_update
from app.domain.dependents import dependents_to_move
from app.domain.fencing import Foreign, Head
from app.domain.landing import wanted
from app.domain.landing_evidence import LandingEvidence
from app.domain.life_cycle import merged_pull
from app.domain.merge_seen import AfterMerge
from app.domain.observation import Observation, Pull
from app.domain.policy import Mode, Policy
from app.domain.record import Record
from app.domain.refs import LedgerRefs
from app.domain.situation import ticket_pull
from app.domain.ticket_id import TicketId
from app.github.errors import Conflict, NotFound
from app.github.refs import RefValue
from app.github.repository import Repository

Contains = Callable[[str, str], Awaitable[bool]]
"""Whether the history of the second commit holds the first."""


@dataclass(frozen=True)
class LandingLook:
    """What was read. `update`: the branch's head, where that is the update which the App asked GitHub for."""

    landing: LandingEvidence | None = None
    after_merge: AfterMerge | None = None
    update: str | None = None


async def look_at_landing(
    repo: Repository,
    record: Record,
    policy: Policy | None,
    head: Head,
    observation: Observation,
    contains: Contains,
    refs: LedgerRefs,
) -> LandingLook:
    """Read what the landing of a ticket depends on now; `refs` names its ledgers and those of tickets that build on it.
    Raises GitHubError where GitHub does not answer.
    """
    if policy is None or policy.mode is Mode.OBSERVE or record.child is not None:
        return LandingLook()
    merged = merged_pull(record, observation)
    if merged is not None:
        after = await _after(repo, record, merged, observation, contains)
        if after is not None:
            after = replace(after, unmoved=await _unmoved(repo, observation, refs))
        return LandingLook(after_merge=after)
    if candidate(record, head) is not None and isinstance(head, Foreign):
        return LandingLook(update=await _update(repo, head, observation, contains))
    pull = ticket_pull(record, observation)
    if pull is None or not wanted(record, policy, head, observation):
        return LandingLook()
    into = policy.release.into or observation.default_branch
    try:
        return LandingLook(landing=await repo.landing_evidence(pull.number, pull.head_sha, pull.base, into))
    except (Conflict, NotFound):
        # Its base or its head is another one by now: what was to be judged is not there any more.
        return LandingLook()


async def _after(
    repo: Repository, record: Record, pull: Pull, observation: Observation, contains: Contains
) -> AfterMerge | None:
    issue, work = observation.issue, record.work
    if record.ended is not None and (work is None or observation.branch(work.branch) is None):
        return None  # over, and nothing is left behind
    merged = record.landing.merged
    if merged is None or merged.pr != pull.number or merged.merge_sha == merged.head_sha:
        now = await repo.pull_now(pull.number)
        if not now.merged:
            return None
        merged = now.merge(pull.number, observation.now)
    trunk = observation.trunk
    # Merged into another branch, that of the ticket below in its stack for one, it is on the trunk when that is.
    on_trunk = trunk is not None and await contains(merged.merge_sha, trunk.sha)
    may_be_reopened = issue is not None and issue.state == "OPEN" and issue.state_reason == "REOPENED"
    ask = on_trunk and may_be_reopened and not record.landing.issue_closed and record.ended is None
    closed = await repo.closed_since(record.ticket, merged.at) if ask else False
    return AfterMerge(merged, on_trunk, closed)


async def _unmoved(repo: Repository, observation: Observation, refs: LedgerRefs) -> frozenset[TicketId]:
    movable = [d.ticket for d in dependents_to_move(observation) if d.to is not None and d.ticket is not None]
    places = {ticket: await repo.place_of_ref(refs.active(ticket)) for ticket in movable}
    return frozenset(ticket for ticket, place in places.items() if not isinstance(place, RefValue))


async def _update(repo: Repository, head: Foreign, observation: Observation, contains: Contains) -> str | None:
    made, trunk = await repo.made_commit(head.head), observation.trunk
    other = made.parents[1] if len(made.parents) == 2 else None
    on_trunk = other is not None and trunk is not None and await contains(other, trunk.sha)
    return head.head if is_the_update(made, head, other_parent_on_trunk=on_trunk) else None
