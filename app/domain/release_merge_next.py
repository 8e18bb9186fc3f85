"""The merge of a release, from the wish for it to its end (the ownership protocol, R6 and R22).

Wanted: the App merges exactly the commit that is authorized at that moment and that a person asked to be merged, with
the guard green on it; once the ground for a merge that was sent is gone, the guard is red and the PR a draft before
anybody is told anything, and a merge that happens all the same is an incident. A wish dies within minutes, and with the
first reason against it, so that no forgotten wish merges anything later.

Races: the authorization may end between the last look and GitHub's merge. `sha` binds the head, the required check and
the draft keep back a late send, nothing binds the base; what is left is told as an incident.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.domain.authorization import Authorized, NotYet
from app.domain.landing_blocker import Blocker
from app.domain.policy import Mode, Policy
from app.domain.release_actions import (
    DropAsked,
    ForgetReleasePermits,
    MergeRelease,
    SetReleaseDraft,
    WaitRelease,
    WithdrawMerge,
)
from app.domain.release_gate import AGAIN, PASSING, release_blockers, release_method
from app.domain.release_observation import GuardRun, ReleaseObservation, ReleasePull
from app.domain.release_record import AskedToMerge, ReleasePermit, ReleaseRecord
from app.domain.release_standing import ReleaseStanding

ASKED_FOR = timedelta(minutes=15)
"""How long a wish to merge stands while it waits for what only takes time."""
GUARD_AGAIN = timedelta(seconds=2)
NO_MERGE_IN = "the policy says mode: {mode}, in which the App merges nothing"


@dataclass(frozen=True)
class MayMerge:
    """Nothing stands in the way."""


@dataclass(frozen=True)
class InTheWay:
    """Why it is not merged now. `passes`: by itself, within the time a wish stands."""

    reason: str
    remedy: str
    passes: bool = False
    blockers: tuple[Blocker, ...] = ()


def may_merge(
    asked: AskedToMerge, standing: ReleaseStanding, observation: ReleaseObservation, policy: Policy
) -> MayMerge | InTheWay:
    """Whether exactly what was asked for may be merged now. What the word is judged by when it is said, and what it is
    judged by again before every send.
    """
    pull, verdict = standing.pull, standing.verdict
    if policy.mode is not Mode.FULL:
        reason = NO_MERGE_IN.format(mode=policy.mode.value)
        return InTheWay(reason, "set mode: full in .github/agent-recovery.yml, or a person merges it on GitHub")
    if pull is None or pull.state != "OPEN" or pull.base != observation.into_name:
        return InTheWay("the release has no open PR into its base", "wait: the App puts that right")
    if (asked.pull, asked.head_sha) != (pull.number, pull.head_sha):
        reason = f"it was asked for {asked.head_sha}, and the head is {pull.head_sha}"
        return InTheWay(reason, f"authorize {pull.head_sha} and say merge-release again")
    if isinstance(verdict, NotYet):
        return InTheWay(verdict.reason, verdict.remedy, verdict.unsure)
    if (verdict.pull, verdict.sha, verdict.base) != (pull.number, pull.head_sha, pull.base):
        return InTheWay("what is authorized is something else", "authorize the present head")
    found = release_blockers(observation.evidence, pull, policy.landing, observation.now)
    lasting = [b for b in found if b.code not in PASSING]
    told = (lasting or list(found))[:1]
    if told:
        return InTheWay(told[0].reason, told[0].remedy, not lasting, found)
    return MayMerge()


def withdrawn(
    record: ReleaseRecord, standing: ReleaseStanding, observation: ReleaseObservation
) -> WithdrawMerge | ForgetReleasePermits | None:
    """What is done first about merges that may still come and are not authorized any more."""
    moved, gone = [], []
    for permit in record.merges_open:
        pull = observation.pull(permit.target.number)
        if pull is None or pull.state == "MERGED":
            continue
        if _has_moved(permit, pull, observation):
            moved.append(permit)
        elif permit.state != "withdrawn" and not _stands(permit, standing):
            gone.append((permit, pull))
    if gone:
        pull = gone[0][1]
        mine = tuple(permit for permit, of in gone if of.number == pull.number)
        return WithdrawMerge(mine, pull.number, pull.node_id, pull.head_sha, _why(standing))
    if moved:
        return ForgetReleasePermits(tuple(moved), "the head moved, and a merge is bound to its commit")
    return None


def unasked(permits: tuple[ReleasePermit, ...], observation: ReleaseObservation) -> Iterator[WithdrawMerge]:
    """Merges that were sent by somebody who is gone, and that nobody asks for any more, are taken back too."""
    for permit in permits:
        pull = observation.pull(permit.target.number)
        if pull is not None:
            reason = "whoever sent it is gone, and nobody asks for it any more"
            yield WithdrawMerge((permit,), pull.number, pull.node_id, pull.head_sha, reason)


def next_of_merge(
    record: ReleaseRecord, standing: ReleaseStanding, observation: ReleaseObservation, policy: Policy
) -> Iterator[MergeRelease | SetReleaseDraft | DropAsked | WaitRelease]:
    """What the wish to merge needs now; nothing where there is none."""
    asked, pull = record.asked, standing.pull
    if asked is None:
        return
    way = may_merge(asked, standing, observation, policy)
    over = asked.at + ASKED_FOR
    if observation.now >= over:
        why = f": {way.reason}" if isinstance(way, InTheWay) else ""
        yield DropAsked(f"it was asked for too long ago{why}")
    elif isinstance(way, InTheWay) and not way.passes:
        yield DropAsked(way.reason)
    elif isinstance(way, InTheWay):
        yield WaitRelease(way.reason, min(_until(way, standing, observation), over))
    elif pull is not None and isinstance(standing.verdict, Authorized) and observation.evidence is not None:
        yield from _send(asked, pull, standing.verdict, observation, policy)


def _send(
    asked: AskedToMerge, pull: ReleasePull, verdict: Authorized, observation: ReleaseObservation, policy: Policy
) -> Iterator[MergeRelease | SetReleaseDraft | WaitRelease]:
    if pull.is_draft:
        yield SetReleaseDraft(pull.number, pull.node_id, False, "it is authorized, and to be merged now")
        yield WaitRelease("GitHub works out whether it can be merged", observation.now)
        return
    if not is_green(observation.guard_runs, pull.head_sha):
        yield WaitRelease("the guard is turned green", observation.now + GUARD_AGAIN)
        return
    assert observation.evidence is not None  # without it there is something in the way
    method = release_method(observation.evidence, policy.landing)
    assert method is not None
    title, message = merge_text(pull, verdict) if method != "rebase" else ("", "")
    yield MergeRelease(
        pull.number,
        pull.head_sha,
        pull.base,
        method,
        title,
        message,
        verdict.receipts,
        asked.id,
        "it is authorized for exactly this commit, and a person asked for its merge",
    )


def merge_text(pull: ReleasePull, verdict: Authorized) -> tuple[str, str]:
    """Title and message of the merge commit: numbers and our own words, nothing that anybody else wrote."""
    said = ", ".join(verdict.receipts)
    return (
        f"Merge release PR {pull.number}",
        f"The commit {pull.head_sha} was authorized for exactly this merge (comments {said}).",
    )


def is_green(runs: tuple[GuardRun, ...], sha: str) -> bool:
    """Whether every guard run of ours on the commit is green, and there is one."""
    here = [run for run in runs if run.sha == sha]
    return bool(here) and all(run.status == "completed" and run.conclusion == "success" for run in here)


def _has_moved(permit: ReleasePermit, pull: ReleasePull, observation: ReleaseObservation) -> bool:
    """Both the PR and the branch show another head: GitHub refuses the old commit from then on."""
    trunk = observation.trunk
    return pull.head_sha != permit.target.head_sha and trunk is not None and trunk.sha != permit.target.head_sha


def _stands(permit: ReleasePermit, standing: ReleaseStanding) -> bool:
    verdict, target = standing.verdict, permit.target
    if isinstance(verdict, NotYet):
        # Nobody could read it: that takes nothing back, and nothing is sent before it is read.
        return verdict.unsure and standing.pull is not None and standing.pull.head_sha == target.head_sha
    return (verdict.pull, verdict.sha, verdict.base) == (target.number, target.head_sha, target.base)


def _why(standing: ReleaseStanding) -> str:
    verdict = standing.verdict
    return verdict.reason if isinstance(verdict, NotYet) else "another commit is authorized now"


def _until(way: InTheWay, standing: ReleaseStanding, observation: ReleaseObservation) -> datetime:
    times = [b.until for b in way.blockers if b.until is not None]
    if isinstance(standing.verdict, NotYet) and standing.verdict.until is not None:
        times.append(standing.verdict.until)
    return min(times, default=observation.now + AGAIN)
