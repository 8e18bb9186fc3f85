"""What of the ticket itself stands in the way of landing: its record, its branch, its Issue, what it depends on."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from app.domain.children import active_names
from app.domain.drafts import drafted_by
from app.domain.effect_journal import unknown
from app.domain.fencing import AtPublished, Foreign, Head, NothingPublished, Tampered, Unheld
from app.domain.hold import why_held
from app.domain.landing_blocker import MOST_NAMES, Blocker, BlockerCode, names
from app.domain.policy import Policy
from app.domain.pull_class import TicketPull
from app.domain.record import Record
from app.domain.situation import Situation, ticket_pull
from app.domain.stack_gate import gating
from app.domain.surroundings import Linked, Surroundings
from app.domain.validation import VERIFY, Failed, judged, present, validations_of, version_of

CONFLICT = "the work conflicts with its trunk"
RESOLVE = "the holder merges the trunk into the branch, resolves it, and pushes"
HEAD_AGAIN = timedelta(seconds=10)
"""GitHub needs seconds to show a push in its pull request."""

_DOING = {
    "unclaimed": "nobody holds the ticket",
    "recovering": "an agent is taking it over",
    "working": "its holder is at work on it",
    "waiting": "its holder waits for an answer",
    "exhausted": "several attempts made no progress",
}


def is_asked_for(record: Record, sha: str) -> bool:
    """Whether a person asked for the landing of exactly this commit."""
    return record.landing.asked is not None and record.landing.asked.head_sha == sha


def blockers(s: Situation) -> Iterator[Blocker]:
    """What is in the way whatever the pull request shows."""
    record, around = s.record, s.observation.around
    yield from _by_people(s)
    yield from _head(record, s.head)
    yield from _readiness(record, s.head)
    yield from _verified(record, s.policy, s.head, around)
    yield from _effects(record)
    if open_children := active_names(record):
        reason = f"children that are neither integrated nor cancelled: {len(open_children)}"
        remedy = "the holder integrates each of them, or cancels it"
        yield Blocker(BlockerCode.CHILDREN, reason, remedy, names(open_children))
    yield from gating(record, s.observation)
    if waits := [linked for linked in around.blocked_by if linked.is_open]:
        reason, remedy = (
            f"the Issue is blocked by {listed(waits)}, still open",
            "close them, or take the dependency away",
        )
        yield Blocker(BlockerCode.BLOCKED_BY, reason, remedy)
    if waits := [linked for linked in around.sub_issues if linked.is_open]:
        reason, remedy = f"the Issue has open sub-issues: {listed(waits)}", "close them, or take them out of the Issue"
        yield Blocker(BlockerCode.SUB_ISSUES, reason, remedy)


def listed(linked: Sequence[Linked]) -> str:
    """Issues by their numbers, which no stranger chooses."""
    more = f" and {len(linked) - MOST_NAMES} more" if len(linked) > MOST_NAMES else ""
    return f"{', '.join(map(str, linked[:MOST_NAMES]))}{more}"


def of_its_pull(s: Situation, pull: TicketPull) -> Iterator[Blocker]:
    """What of its own pull request's place and state is in the way."""
    work = s.record.work
    if work is not None and pull.base != work.trunk:
        reason, remedy = "the PR goes onto another trunk than is recorded", "change its base, or retarget the ticket"
        yield Blocker(BlockerCode.WRONG_BASE, reason, remedy, names([pull.base, work.trunk]))
    seen = ticket_pull(s.record, s.observation)
    if pull.is_draft:
        by = drafted_by(s.record, seen) if seen is not None else None
        reason = "the PR is a draft" if by is None else "a person made the PR a draft"
        remedy = "mark it as ready for review when it may land"
        yield Blocker(BlockerCode.DRAFT, reason, remedy, names([by] if by else []))
    if s.landing is None and seen is not None and seen.mergeable == "CONFLICTING":
        yield Blocker(BlockerCode.CONFLICT, CONFLICT, RESOLVE)
    if isinstance(s.head, AtPublished) and pull.head_sha != s.head.sha:
        yield Blocker(
            BlockerCode.HEAD_MOVING,
            f"GitHub still shows the PR at {pull.head_sha}, its branch is at {s.head.sha}",
            "wait: it is looked at again",
            until=s.now + HEAD_AGAIN,
        )


def _by_people(s: Situation) -> Iterator[Blocker]:
    record, issue = s.record, s.observation.issue
    if record.landing.incident is not None:
        remedy = "a person looks at it and takes the ticket off hold"
        told = names([record.landing.incident])
        yield Blocker(BlockerCode.INCIDENT, "a merge did not go as it was meant to", remedy, told)
    elif record.status == "held":
        said = names([why_held(record)]) if record.held is not None else ()
        yield Blocker(BlockerCode.HELD, "a person put the ticket on hold", "a person takes it off hold", said)
    if issue is None or issue.state != "OPEN":
        what = "is gone" if issue is None else "is closed"
        yield Blocker(BlockerCode.ISSUE_CLOSED, f"Issue #{record.ticket} {what}", "reopen it if the work is wanted")


def _head(record: Record, head: Head) -> Iterator[Blocker]:
    match head:
        case Unheld(head=found):
            reason = f"nobody ever held the ticket, so nobody published {found}"
            remedy = "an agent takes the work over, or a person accepts exactly this commit"
            yield Blocker(BlockerCode.FOREIGN_HEAD, reason, remedy)
        case NothingPublished():
            yield Blocker(BlockerCode.NOT_PUBLISHED, "nothing was published yet", "the holder pushes its work")
        case Tampered():
            reason = "the branch does not contain the published commit any more"
            yield Blocker(BlockerCode.TAMPERED, reason, "wait: the App puts it back and looks again")
        case Foreign(head=foreign):
            reason = f"the branch is at {foreign}, which the ticket's holder did not publish"
            remedy = "the holder adopts it or puts the branch back, or a person accepts exactly this commit"
            yield Blocker(BlockerCode.FOREIGN_HEAD, reason, remedy)
        case AtPublished(sha=sha) if sha in record.burned_shas:
            reason = f"{sha} was taken back while its merge was on the way, and never lands"
            yield Blocker(BlockerCode.BURNED, reason, "the holder publishes a new commit on top of it")
        case AtPublished(sha=sha, fenced=False):
            who = "nobody holds the ticket now" if record.lease is None else f"generation {record.generation} did not"
            reason = f"{sha} was published by an earlier holder; {who}"
            remedy = "the present holder publishes it, or a person accepts exactly this commit"
            yield Blocker(BlockerCode.UNFENCED, reason, remedy)


def _readiness(record: Record, head: Head) -> Iterator[Blocker]:
    if record.status in ("ready", "held") or (isinstance(head, AtPublished) and is_asked_for(record, head.sha)):
        return
    reason = f"it is not ready: {_DOING.get(record.status, record.status)}"
    if record.landing.asked is not None:
        reason += f"; a person asked for the landing of {record.landing.asked.head_sha}, which is not its head now"
    yield Blocker(BlockerCode.NOT_READY, reason, "the holder says ready, or a person says land for this commit")


def _verified(record: Record, policy: Policy, head: Head, around: Surroundings) -> Iterator[Blocker]:
    if not policy.verify or not isinstance(head, AtPublished):
        return
    version, snapshot = version_of(policy.verify), present(record, head.sha, around)
    # A result by tree says the same of the files and opens no gate: what lands is this commit.
    known = {v.profile: v for v in validations_of(record) if v.validated_sha == head.sha}.get(VERIFY)
    if known is not None and known.version == version:
        verdict = judged(known, snapshot)
        if isinstance(verdict, Failed):
            reason = f"verify commands of the policy that failed on {head.sha}: {len(verdict.checks)}"
            yield Blocker(BlockerCode.VERIFY_FAILED, reason, "the holder repairs it and validates again")
            return
        because = getattr(verdict, "reason", None)
        if because is None:
            return
    else:
        because = "they were never run on it" if known is None else "others were run on it than the policy names now"
    reason = f"the policy's verify commands have not passed on exactly {head.sha}: {because}"
    yield Blocker(BlockerCode.VERIFY_MISSING, reason, "the holder runs: agent-recovery validate verify")


def _effects(record: Record) -> Iterator[Blocker]:
    lost = [e.key for e in unknown(record)]
    running = [e.key for e in record.effects if e.state == "dispatching"]
    if lost:
        reason = f"effects outside Git that ended nobody knows how: {len(lost)}"
        remedy = "find out how they ended; the handoff comment names each with the command that says so"
        yield Blocker(BlockerCode.EFFECTS, reason, remedy, names(lost))
    if running:
        reason = f"effects outside Git that are on their way: {len(running)}"
        yield Blocker(BlockerCode.EFFECTS, reason, "the holder waits for their end and notes it", names(running))
