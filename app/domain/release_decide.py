"""What to do about a release, from what GitHub shows and its ledger says. Pure: no I/O, no clock, no randomness.

Wanted: a trunk that brings files over the base of releases has one open PR there, a draft when it is made; the App
merges nothing of it but what a person authorized and asked for, for exactly that commit; whatever else was merged is
told once. Without a difference there is no PR and no alarm. A second decision on an unchanged world writes nothing.

The guard (`release_guard.py`) is decided apart and shown first: red may be shown by anybody at any moment.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from app.domain import release_permits
from app.domain.authorization import Live, Void, worked_in_it
from app.domain.permits import NotDue
from app.domain.policy import Mode, Policy
from app.domain.release_actions import (
    AdoptRelease,
    CreateIncident,
    DropAsked,
    ForgetReleasePermits,
    GuardedRelease,
    NoteIncident,
    NoteReleaseMerge,
    NoteWorked,
    ReleaseAction,
    ReleasePlan,
    VoidAuthorizations,
    WaitRelease,
    target_of,
)
from app.domain.release_incident import incident_issue, incident_marker, merge_seen
from app.domain.release_merge_next import next_of_merge, unasked, withdrawn
from app.domain.release_observation import ReleaseObservation
from app.domain.release_permits import ReleaseAdoptable
from app.domain.release_record import ReleaseRecord, Voided, begun
from app.domain.release_repairs import standing_orders, the_one_pull
from app.domain.release_standing import ReleaseStanding, standing_of
from app.domain.trunks import is_trunk


@dataclass(frozen=True)
class ReleaseSituation:
    """All that a decision depends on. `record` is None where the release has no ledger yet; where its ledger cannot be
    trusted nothing is decided at all, and the guard is red.
    """

    observation: ReleaseObservation
    record: ReleaseRecord | None
    policy: Policy
    author_is_dead: Callable[[str], bool]


def decide(s: ReleaseSituation) -> ReleasePlan:
    """The actions for one release, in the order in which they are to be done."""
    o = s.observation
    if s.policy.mode is Mode.OBSERVE:
        return (WaitRelease("the policy says mode: observe"),)
    if not is_release(o, s.policy):
        return ()
    record = s.record or begun(o.branch, o.into_name)
    standing = standing_of(record, o, s.policy)
    first: ReleasePlan = (*_merges(record, s), *_voids(record, standing, o), *_workers(standing, o))
    if any(isinstance(action, NoteReleaseMerge) for action in first):
        return (*first, WaitRelease("what follows is decided at once", o.now))
    back = withdrawn(record, standing, o)
    if back is not None:
        return (*first, back, WaitRelease("what follows is decided at once", o.now))
    held = release_permits.standing(record, author_is_dead=s.author_is_dead, now=o.now)
    if isinstance(held, NotDue):
        return (*first, WaitRelease("somebody else is in the middle of a write", held.until))
    rules = tuple(_rules(record, standing, s))
    wanted = {target_of(a) for a in rules if isinstance(a, GuardedRelease)}
    if isinstance(held, ReleaseAdoptable):
        lost = tuple(p for p in held.permits if p.kind == "release_merge" and (p.kind, p.target) not in wanted)
        if lost and _is_not_asked_for(record, rules):
            over = tuple(unasked(lost, o))
            if over:
                return (*first, *over, WaitRelease("what follows is decided at once", o.now))
        due = tuple(p for p in held.permits if p not in lost)
        if due:
            again = tuple(p for p in due if (p.kind, p.target) in wanted)
            return (*first, AdoptRelease(due, again, "their author is gone, or their time is up"))
    planned = tuple(_unless_refused(record, a, o) if isinstance(a, GuardedRelease) else a for a in rules)
    stale = tuple(p for p in record.open if p.state == "blocked" and (p.kind, p.target) not in wanted)
    if stale:
        first = (*first, ForgetReleasePermits(stale, "what GitHub refused is not wanted any more"))
    return (*first, *planned)


def is_release(o: ReleaseObservation, policy: Policy) -> bool:
    """Whether the branch is a release's at all: a trunk by the policy, and not where releases go."""
    return o.branch != o.into_name and is_trunk(o.branch, policy.trunks, o.default_branch)


def _rules(record: ReleaseRecord, standing: ReleaseStanding, s: ReleaseSituation) -> Iterator[ReleaseAction]:
    """What the release needs, whatever is open or was refused."""
    o = s.observation
    yield from standing_orders(record, standing, o)
    yield from _incidents(record, o)
    yield from the_one_pull(record, standing, o)
    yield from next_of_merge(record, standing, o, s.policy)


def _merges(record: ReleaseRecord, s: ReleaseSituation) -> Iterator[NoteReleaseMerge]:
    for pull in sorted(s.observation.pulls, key=lambda p: p.number):
        seen = merge_seen(pull, record, s.observation, s.policy)
        if seen is not None:
            yield seen


def _voids(record: ReleaseRecord, standing: ReleaseStanding, o: ReleaseObservation) -> Iterator[VoidAuthorizations]:
    found = [j for j in standing.judgements if isinstance(j, Void) and j.receipt.voided is None]
    if found:
        voids = tuple((j.receipt.id, Voided(why=j.why, at=o.now)) for j in found)
        yield VoidAuthorizations(voids, f"the authorization by {found[0].receipt.by.login} ends: {found[0].reason}")


def _workers(standing: ReleaseStanding, o: ReleaseObservation) -> Iterator[NoteWorked]:
    if not o.ahead:
        # The merge may be there before its PR shows it: then nothing tells any more who worked in the release.
        return
    live = [j.receipt for j in standing.judgements if isinstance(j, Live)]
    found = tuple(
        (one.id, worked) for one in live if (worked := worked_in_it(one.by, o)) is not None and worked is not one.worked
    )
    if found:
        yield NoteWorked(found, "who worked in the release is known, or is somebody else now")


def _incidents(record: ReleaseRecord, o: ReleaseObservation) -> Iterator[CreateIncident | NoteIncident]:
    for incident in record.incidents:
        if incident.issue is not None:
            continue
        standing = o.incident_issues.get(incident_marker(record.branch, incident))
        if standing is not None:
            yield NoteIncident(incident.pull, incident.head_sha, standing, "its Issue stands already")
        else:
            yield incident_issue(incident, record, o)


def _is_not_asked_for(record: ReleaseRecord, rules: ReleasePlan) -> bool:
    return record.asked is None or any(isinstance(action, DropAsked) for action in rules)


def _unless_refused(
    record: ReleaseRecord, action: GuardedRelease, o: ReleaseObservation
) -> GuardedRelease | WaitRelease:
    refusal = release_permits.refused(record, *target_of(action))
    retry_at = release_permits.retry_at(refusal) if refusal is not None else None
    if refusal is None or retry_at is None or o.now >= retry_at:
        return action
    return WaitRelease(f"GitHub refused it: {refusal.reason}", retry_at)
