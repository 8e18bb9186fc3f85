"""What a person may say about a release, and what each word makes of its record. Pure.

Wanted: the same word again changes nothing and is answered the same; an authorization is one person's word for exactly
one commit of one PR into one base; nothing but merge-release merges, and it merges only what is authorized when it is
said and again when it is done. A revoke that comes after the merge is answered with "merged".
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from app.domain.authorization import NotYet, Unsure, Void, judge, worked_in_it
from app.domain.model import instant_text
from app.domain.outcome import Blocked, Code
from app.domain.plain_text import one_line
from app.domain.policy import Mode, Policy
from app.domain.release_merge_next import InTheWay, may_merge
from app.domain.release_observation import ReleaseObservation, ReleasePull
from app.domain.release_rebuild import said_before
from app.domain.release_record import (
    KEPT_VOIDED,
    MOST_STANDING,
    AskedToMerge,
    Authorization,
    Person,
    ReleaseRecord,
    Source,
    Voided,
)
from app.domain.release_standing import ReleaseStanding, standing_of

_FULL_SHA = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class ReleaseGrounds:
    """What a person's word about a release is judged by. `pull`: the PR that it was said on."""

    record: ReleaseRecord
    observation: ReleaseObservation
    policy: Policy
    pull: int

    @property
    def now(self) -> datetime:
        return self.observation.now


@dataclass(frozen=True)
class HeardRelease:
    """The record after a word, and the answer to whoever said it. `because`: what the word comes to in a few words of
    ours; empty where it changes nothing. `withdraws`: a merge may be under way that this word takes back: the guard is
    red, and the PR read, before the answer is given (the ownership protocol, R22).
    """

    record: ReleaseRecord
    answer: str
    because: str = ""
    withdraws: bool = False


ReleaseVerb = Callable[[ReleaseGrounds], HeardRelease | Blocked]


def authorize(g: ReleaseGrounds, *, by: Person, sha: str, source: Source) -> HeardRelease | Blocked:
    """This person's word that exactly this commit may be merged. It is judged at once as it will be at every use, so
    nobody hears "authorized" who may not, or whose comment is edited, a program's, or said elsewhere.
    """
    if (late := said_before(g.record, source.created_at)) is not None:
        return late
    standing = standing_of(g.record, g.observation, g.policy)
    pull = _its_pull(g, standing)
    if isinstance(pull, Blocked):
        return pull
    if _FULL_SHA.fullmatch(sha) is None:
        remedy = f"name the whole commit: `/recovery authorize-release {pull.head_sha}`"
        return Blocked(Code.USAGE, "a release is authorized by the 40 characters of its commit", remedy)
    if sha != pull.head_sha:
        reason = f"PR #{pull.number} stands at {pull.head_sha}, not at {sha}"
        remedy = f"look at what is there now; then `/recovery authorize-release {pull.head_sha}`"
        return Blocked(Code.BRANCH_MOVED, reason, remedy)
    receipt = _receipt(g, pull, by, source)
    found = judge(receipt, g.observation, g.policy, g.now)
    if isinstance(found, Void):
        return Blocked(Code.FORBIDDEN, found.reason, found.remedy)
    if isinstance(found, Unsure):
        return Blocked(Code.UNAVAILABLE, found.reason, "say it again in a moment", retryable=True)
    if g.record.authorization(receipt.id) is not None:
        return HeardRelease(g.record, _told(g.record, g))
    kept = _without_double(g.record, receipt, now=g.now)
    if sum(a.voided is None for a in kept) >= MOST_STANDING:
        reason = f"{MOST_STANDING} authorizations stand at once"
        return Blocked(Code.RECORD_FULL, reason, "say revoke-release, then authorize it again")
    after = g.record.model_copy(update={"authorizations": _fitting((*kept, receipt))})
    return HeardRelease(after, _told(after, g), f"{sha[:12]} authorized, by {by.login}")


def revoke(g: ReleaseGrounds, *, by: Person) -> HeardRelease | Blocked:
    """Nothing is authorized any more. Whoever may write may say so: it only takes away."""
    if (merged := _merged(g)) is not None:
        return merged
    record = g.record
    under_way = any(p.state != "withdrawn" for p in record.merges_open)
    if not record.standing and record.asked is None and not under_way:
        return HeardRelease(
            record, f"nothing of {_shown(record.branch)} is authorized", withdraws=bool(record.merges_open)
        )
    void = Voided(why="revoked", at=g.now, by=by.login)
    receipts = tuple(
        a if a.voided is not None else a.model_copy(update={"voided": void}) for a in record.authorizations
    )
    after = record.model_copy(update={"authorizations": _fitting(receipts), "asked": None})
    answer = f"nothing of {_shown(record.branch)} is authorized any more"
    return HeardRelease(after, answer, f"authorization revoked, by {by.login}", withdraws=bool(record.merges_open))


def merge(g: ReleaseGrounds, *, id: str, by: Person) -> HeardRelease | Blocked:
    """A wish for the merge of the authorized commit, now. The wish merges nothing: it is judged again, and once more
    right before the merge is sent.
    """
    if (merged := _merged(g)) is not None:
        return merged
    standing = standing_of(g.record, g.observation, g.policy)
    pull = _its_pull(g, standing)
    if isinstance(pull, Blocked):
        return pull
    asked = AskedToMerge(id=id, by=by, at=g.now, pull=pull.number, head_sha=pull.head_sha)
    way = may_merge(asked, standing, g.observation, g.policy)
    if isinstance(way, InTheWay) and not way.passes:
        code = Code.MODE_REPAIR if g.policy.mode is not Mode.FULL else Code.FORBIDDEN
        return Blocked(code, way.reason, way.remedy)
    if isinstance(way, InTheWay) and isinstance(standing.verdict, NotYet):
        return Blocked(Code.UNAVAILABLE, way.reason, "say it again in a moment", retryable=True)
    before = g.record.asked
    words = f"PR #{pull.number} is merged at {pull.head_sha} into {_shown(pull.base)}"
    answer = f"{words} once this has passed: {way.reason}" if isinstance(way, InTheWay) else f"{words} now"
    if before is not None and (before.pull, before.head_sha) == (asked.pull, asked.head_sha):
        return HeardRelease(g.record, answer)
    # What GitHub refused before is asked for again at once: a person may have put right what its words named.
    left = tuple(p for p in g.record.open if not (p.kind == "release_merge" and p.state == "blocked"))
    after = g.record.model_copy(update={"asked": asked, "open": left})
    return HeardRelease(after, answer, f"asked to merge {pull.head_sha[:12]}, by {by.login}")


def _its_pull(g: ReleaseGrounds, standing: ReleaseStanding) -> ReleasePull | Blocked:
    """The release's PR, where the word was said on it and it can be merged at all."""
    pull = standing.pull
    if g.policy.mode is Mode.OBSERVE:
        remedy = "set mode: repair or full in .github/agent-recovery.yml"
        return Blocked(Code.MODE_OBSERVE, "the policy says mode: observe, in which the App writes nothing", remedy)
    if pull is None or pull.number != g.pull:
        known = f"; it is said of #{pull.number}" if pull is not None else ""
        return Blocked(Code.NOT_FOUND, f"#{g.pull} is not the PR of this release", f"say it on the release PR{known}")
    if standing.twins:
        names = ", ".join(f"#{p.number}" for p in standing.twins)
        return Blocked(Code.FORBIDDEN, f"there are several PRs of this release: {names}", "close all but one of them")
    if pull.state != "OPEN":
        return Blocked(Code.ISSUE_CLOSED, f"PR #{pull.number} is {pull.state.lower()}", "wait: the App opens it again")
    if pull.base != g.observation.into_name:
        reason = f"the base of PR #{pull.number} was changed"
        return Blocked(Code.BRANCH_BLOCKED, reason, "wait: the App gives it back its base")
    return pull


def _merged(g: ReleaseGrounds) -> Blocked | None:
    pull, known = g.observation.pull(g.pull), g.record.was_merged(g.pull)
    if known is None and (pull is None or pull.state != "MERGED"):
        return None
    head = known.head_sha if known is not None else pull.head_sha if pull is not None else ""
    base = known.base if known is not None else pull.base if pull is not None else ""
    reason = f"PR #{g.pull} was merged into {_shown(base)} at {head} before that"
    return Blocked(Code.LANDED, reason, "nothing is left to do here; to take it out again is a new pull request")


def _receipt(g: ReleaseGrounds, pull: ReleasePull, by: Person, source: Source) -> Authorization:
    return Authorization(
        id=str(source.comment_id),
        pull=pull.number,
        base=pull.base,
        head_sha=pull.head_sha,
        by=by,
        at=g.now,
        expires_at=g.now + g.policy.release.expires,
        source=source,
        worked=worked_in_it(by, g.observation),
    )


def _without_double(record: ReleaseRecord, new: Authorization, *, now: datetime) -> tuple[Authorization, ...]:
    """The receipts, of which those of the same account for the same commit make place for the new one."""
    void = Voided(why="superseded", at=now)

    def after(old: Authorization) -> Authorization:
        same = (old.by.id, old.pull, old.head_sha) == (new.by.id, new.pull, new.head_sha)
        return old.model_copy(update={"voided": void}) if same and old.voided is None else old

    return tuple(after(a) for a in record.authorizations)


def _fitting(receipts: tuple[Authorization, ...]) -> tuple[Authorization, ...]:
    """All that stand, and the newest of those that do not: the record is small, and they are told of and no more."""
    voided = [a for a in receipts if a.voided is not None][-KEPT_VOIDED:]
    return tuple(a for a in receipts if a.voided is None or a in voided)


def _told(record: ReleaseRecord, g: ReleaseGrounds) -> str:
    verdict = standing_of(record, g.observation, g.policy).verdict
    if isinstance(verdict, NotYet):
        return f"your word is noted, and more is missing: {verdict.reason}. What helps: {verdict.remedy}"
    base = _shown(verdict.base)
    return f"PR #{verdict.pull} may be merged at {verdict.sha} into {base} until {instant_text(verdict.until)}"


def _shown(branch: str) -> str:
    return repr(one_line(branch))
