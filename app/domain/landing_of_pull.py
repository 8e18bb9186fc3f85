"""What GitHub shows of a pull request that stands in the way of landing: rules, checks, reviews, files, mergeability.

Required checks are those of the branch's rules and those of the policy, on exactly this commit. Our own check is none
of them: it says who pushed, not whether the work is good.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from app.domain.landing_blocker import Blocker, BlockerCode, names
from app.domain.landing_evidence import MOST_FILES, LandingEvidence
from app.domain.landing_of_ticket import CONFLICT, HEAD_AGAIN, RESOLVE, is_asked_for
from app.domain.patterns import protected
from app.domain.policy import LandingPolicy
from app.domain.pull_class import TicketPull
from app.domain.required_checks import Judged, Moved, Outcome, Required, judge
from app.domain.situation import Situation
from app.domain.surroundings import Surroundings

MERGEABLE_AGAIN = timedelta(seconds=15)
"""GitHub computes it when it is asked, within seconds, and tells nobody when it is done."""
LOOK_AGAIN = timedelta(minutes=1)
_OURS = frozenset({"Agent Recovery", "Agent Recovery / release", "Agent Recovery / policy"})


def blockers(s: Situation, pull: TicketPull) -> Iterator[Blocker]:
    """Everything of what was read that is in the way."""
    evidence, policy = s.landing, s.policy
    if evidence is None:
        yield Blocker(
            BlockerCode.NOT_LOOKED,
            "GitHub's rules, checks and reviews were not read in this look",
            "wait: the next look reads them",
            until=s.now + LOOK_AGAIN,
        )
        return
    yield from _checks(evidence, policy.landing, pull, s.now)
    yield from _reviews(evidence)
    if not is_asked_for(s.record, pull.head_sha):
        yield from _files(evidence, policy.protected_paths)
    yield from _base(evidence, policy.landing, s.policy.release.into or s.observation.default_branch)
    yield from _mergeable(evidence, s.now)


def is_behind(evidence: LandingEvidence, around: Surroundings, pull: TicketPull) -> bool:
    """Whether the rules want the trunk's newest commit and the head lacks it. GitHub's one word for the whole state
    hides that behind any other reason, so the distance counts too.
    """
    if not evidence.rules.strict:
        return False
    over = around.trunk_over_work if around.asked.work == pull.head_sha else None
    return evidence.merge_state == "BEHIND" or (over is not None and over.ahead > 0)


def gates(evidence: LandingEvidence, policy: LandingPolicy) -> tuple[Required, ...]:
    """The checks that have to be green: of the rules and of the policy."""
    named = policy.checks if isinstance(policy.checks, tuple) else ()
    ours = tuple(Required(name) for name in named)
    return tuple(dict.fromkeys((*evidence.rules.required, *ours)))


def _checks(evidence: LandingEvidence, policy: LandingPolicy, pull: TicketPull, now: datetime) -> Iterator[Blocker]:
    required = gates(evidence, policy)
    if policy.checks != "none" and not [one for one in required if one.name not in _OURS]:
        yield Blocker(
            BlockerCode.NO_GATE,
            "no check is required: neither the rules of its trunk nor the policy name one",
            "name the checks in landing.checks of the policy, or say landing.checks: none",
        )
    if evidence.checks.sha != pull.head_sha:
        yield _moved(pull.head_sha, evidence.checks.sha, now)
        return
    # With nothing required nothing is judged: the policy said `none`, or the missing gate is in the way already.
    verdict = judge(required, evidence.checks) if required else Judged(Outcome.PASS)
    if isinstance(verdict, Moved):
        yield _moved(pull.head_sha, verdict.head, now)
        return
    if verdict.failing:
        reason = f"required checks that did not pass on {pull.head_sha}: {len(verdict.failing)}"
        remedy = "the holder repairs it, or the check is run again"
        yield Blocker(BlockerCode.CHECKS_FAILED, reason, remedy, names(verdict.failing))
    if verdict.waiting:
        reason = f"required checks that have not reported on {pull.head_sha}: {len(verdict.waiting)}"
        remedy = "wait while they run; if they never come, look whether their workflow runs for this branch"
        yield Blocker(BlockerCode.CHECKS_WAITING, reason, remedy, names(verdict.waiting))


def _moved(wanted: str, found: str, now: datetime) -> Blocker:
    reason = f"the PR moved from {wanted} to {found} while it was looked at"
    return Blocker(BlockerCode.HEAD_MOVING, reason, "wait: it is looked at again", until=now + HEAD_AGAIN)


def _reviews(evidence: LandingEvidence) -> Iterator[Blocker]:
    if evidence.review == "CHANGES_REQUESTED":
        reason = "a reviewer asked for changes"
        yield Blocker(BlockerCode.CHANGES_REQUESTED, reason, "answer the review until the reviewer approves")
    elif evidence.review == "REVIEW_REQUIRED" or (evidence.rules.approvals and evidence.review != "APPROVED"):
        count = f" (approvals: {evidence.rules.approvals})" if evidence.rules.approvals else ""
        reason = f"the rules of its trunk ask for a review that is not given yet{count}"
        yield Blocker(BlockerCode.REVIEW_MISSING, reason, "a reviewer approves this commit")
    if evidence.rules.conversations and evidence.open_conversations:
        reason = f"conversations that the rules want resolved: {evidence.open_conversations}"
        yield Blocker(BlockerCode.CONVERSATIONS, reason, "resolve them")


def _files(evidence: LandingEvidence, patterns: Sequence[str]) -> Iterator[Blocker]:
    if not patterns:
        return
    remedy = "a person looks at it and says land for exactly this commit"
    if evidence.files is None:
        reason = f"the change has more files than GitHub lists ({MOST_FILES}), so protected ones may be among them"
        yield Blocker(BlockerCode.TOO_MANY_FILES, reason, remedy)
        return
    if touched := protected(evidence.files, patterns):
        reason = f"protected files that it changes: {len(touched)}"
        yield Blocker(BlockerCode.PROTECTED_PATHS, reason, remedy, names(touched))


def _base(evidence: LandingEvidence, policy: LandingPolicy, into: str) -> Iterator[Blocker]:
    if evidence.release_guard is not True and policy.unguarded_base != "accept":
        what = "is not required there" if evidence.release_guard is False else "could not be seen to be required"
        yield Blocker(
            BlockerCode.UNGUARDED_BASE,
            f"into the base of releases anybody may merge: the App's release check {what}",
            "require the check by a ruleset for that branch, or say landing.unguarded_base: accept in the policy",
            names([into]),
        )
    if not evidence.rules.queue and policy.method not in evidence.rules.methods:
        allowed = ", ".join(sorted(evidence.rules.methods)) or "none"
        reason = f"the policy says landing.method: {policy.method}, and its trunk allows: {allowed}"
        yield Blocker(BlockerCode.METHOD, reason, "choose an allowed method in the policy, or allow this one")


def _mergeable(evidence: LandingEvidence, now: datetime) -> Iterator[Blocker]:
    if evidence.queued:
        yield Blocker(BlockerCode.QUEUED, "it waits in the merge queue", "wait: the queue merges it")
    if evidence.auto_merge:
        reason = "auto-merge is switched on for the PR, so GitHub may merge it past the fence"
        yield Blocker(BlockerCode.AUTO_MERGE, reason, "switch auto-merge off; the App lands the ticket by itself")
    if evidence.mergeable == "CONFLICTING" or evidence.merge_state == "DIRTY":
        both = [file for file in evidence.files or () if file in set(evidence.base_files)]
        yield Blocker(BlockerCode.CONFLICT, CONFLICT, RESOLVE, names(both))
    elif evidence.mergeable == "UNKNOWN" or (evidence.rules.strict and evidence.merge_state == "UNKNOWN"):
        reason = "GitHub is still working out whether the PR can be merged"
        yield Blocker(BlockerCode.MERGEABLE_UNKNOWN, reason, "wait: it is asked again", until=now + MERGEABLE_AGAIN)
