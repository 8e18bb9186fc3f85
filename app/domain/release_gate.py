"""What GitHub shows of a release PR that stands in the way of its merge, besides the authorization: checks on exactly
this commit, reviews, conversations, conflicts, the ways to merge.

Where no check is required everything that was reported has to pass, and nothing reported is no obstacle: a person said
so for this very commit. Our own check-runs of other names count where the rules require them; the guard is judged by
what it speaks of.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from app.domain.landing_blocker import Blocker, BlockerCode, in_order, names
from app.domain.landing_evidence import LandingEvidence, Method
from app.domain.policy import LandingPolicy
from app.domain.release_guard import GUARD_NAME
from app.domain.release_observation import ReleasePull
from app.domain.required_checks import Checks, Judged, Moved, Outcome, Required, judge

AGAIN = timedelta(seconds=15)
_OURS = frozenset({"Agent Recovery", GUARD_NAME, "Agent Recovery / policy"})
_REMEDY_NEW = "repair it on the release branch; the new commit is then authorized anew"

PASSING = frozenset(
    {
        BlockerCode.CHECKS_WAITING,
        BlockerCode.HEAD_MOVING,
        BlockerCode.MERGEABLE_UNKNOWN,
        BlockerCode.NOT_LOOKED,
    }
)
"""What only takes time."""


def release_blockers(
    evidence: LandingEvidence | None, pull: ReleasePull, policy: LandingPolicy, now: datetime
) -> tuple[Blocker, ...]:
    """Everything in the way, the most useful first."""
    if evidence is None:
        return (
            Blocker(
                BlockerCode.NOT_LOOKED,
                "GitHub's rules, checks and reviews were not read in this look",
                "wait: the next look reads them",
                until=now + AGAIN,
            ),
        )
    return in_order((*_checks(evidence, pull, policy, now), *_people(evidence), *_ways(evidence, policy, pull, now)))


def release_method(evidence: LandingEvidence, policy: LandingPolicy) -> Method | None:
    """How a release is merged: as a merge commit, which keeps the trunk's history; else as tickets land; None where the
    rules leave neither.
    """
    wanted: tuple[Method, ...] = ("merge", policy.method)
    return next((method for method in wanted if method in evidence.rules.methods), None)


def _checks(e: LandingEvidence, pull: ReleasePull, policy: LandingPolicy, now: datetime) -> Iterator[Blocker]:
    if e.checks.sha != pull.head_sha:
        yield _moved(pull.head_sha, e.checks.sha, now)
        return
    named = policy.checks if isinstance(policy.checks, tuple) else ()
    every = dict.fromkeys((*e.rules.required, *(Required(name) for name in named)))
    required = tuple(one for one in every if one.name != GUARD_NAME)
    verdict = judge(required, e.checks) if required else _reported(e.checks)
    if isinstance(verdict, Moved):
        yield _moved(pull.head_sha, verdict.head, now)
        return
    if verdict.failing:
        reason = f"checks that did not pass on {pull.head_sha}: {len(verdict.failing)}"
        yield Blocker(BlockerCode.CHECKS_FAILED, reason, _REMEDY_NEW, names(verdict.failing))
    if verdict.waiting:
        reason = f"checks that have not reported on {pull.head_sha}: {len(verdict.waiting)}"
        remedy = "wait while they run, then say merge-release again"
        yield Blocker(BlockerCode.CHECKS_WAITING, reason, remedy, names(verdict.waiting), now + AGAIN)


def _reported(checks: Checks) -> Judged | Moved:
    """With nothing required: what others reported, where anything was."""
    runs = tuple(run for run in checks.runs if run.name not in _OURS)
    if not runs and not checks.statuses and checks.sha == checks.head_after:
        return Judged(Outcome.PASS)
    return judge((), replace(checks, runs=runs))


def _moved(wanted: str, found: str, now: datetime) -> Blocker:
    reason = f"the PR moved from {wanted} to {found} while it was looked at"
    return Blocker(BlockerCode.HEAD_MOVING, reason, "wait: it is looked at again", until=now + AGAIN)


def _people(e: LandingEvidence) -> Iterator[Blocker]:
    if e.review == "CHANGES_REQUESTED":
        reason = "a reviewer asked for changes"
        yield Blocker(BlockerCode.CHANGES_REQUESTED, reason, "answer the review until the reviewer approves")
    elif e.review == "REVIEW_REQUIRED" or (e.rules.approvals and e.review != "APPROVED"):
        reason = "the rules of the base ask for a review that is not given yet"
        yield Blocker(BlockerCode.REVIEW_MISSING, reason, "a reviewer approves this commit")
    if e.rules.conversations and e.open_conversations:
        reason = f"conversations that the rules want resolved: {e.open_conversations}"
        yield Blocker(BlockerCode.CONVERSATIONS, reason, "resolve them")


def _ways(e: LandingEvidence, policy: LandingPolicy, pull: ReleasePull, now: datetime) -> Iterator[Blocker]:
    if e.rules.queue:
        reason = "the base takes merges through its merge queue alone, and the App puts no release into a queue"
        yield Blocker(BlockerCode.QUEUED, reason, "a permitted person puts it into the queue while it is authorized")
    elif release_method(e, policy) is None:
        allowed = ", ".join(sorted(e.rules.methods)) or "none"
        reason = f"neither a merge commit nor landing.method ({policy.method}) is allowed there; allowed: {allowed}"
        yield Blocker(BlockerCode.METHOD, reason, "choose an allowed method in the policy, or allow this one")
    if e.mergeable == "CONFLICTING" or e.merge_state == "DIRTY":
        reason = "the release branch and its base changed the same places"
        remedy = "merge the base into the release branch and resolve it there; the new commit is then authorized anew"
        yield Blocker(BlockerCode.CONFLICT, reason, remedy)
    elif e.rules.strict and e.merge_state == "BEHIND":
        reason = "the rules want the newest commit of the base in it"
        remedy = "merge the base into the release branch; the new commit is then authorized anew"
        yield Blocker(BlockerCode.STALE_BASE, reason, remedy)
    elif e.mergeable == "UNKNOWN":
        reason = "GitHub is still working out whether the PR can be merged"
        yield Blocker(BlockerCode.MERGEABLE_UNKNOWN, reason, "wait: it is asked again", until=now + AGAIN)
