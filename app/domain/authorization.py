"""Whether a person's word for a release still counts, and whether enough persons gave theirs.

A receipt is one person's word for exactly one commit of one PR into one base. It is never the proof: at every use its
source comment is read again, and its author's role. Wanted: whatever was forged, copied, edited, deleted, said by a
program or by somebody who may not, or said of another commit, PR or base, is void; what could not be read is neither
live nor void, so it permits nothing now and destroys nothing.

Accepted loss: a comment proves an account, not a person; the account's owner may have lent it.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.domain.authorizers import MayNot, listed, may_authorize, may_not_count
from app.domain.policy import Policy
from app.domain.release_observation import ReleaseObservation, ReleasePull, Unread
from app.domain.release_record import Authorization, Person, VoidCode
from app.domain.source_comment import CommentGone, SourceComment

SKEW = timedelta(seconds=60)
"""A moment that lies further in the future than this is no moment that GitHub told."""
AGAIN = timedelta(minutes=1)
"""When to look again after GitHub did not answer."""
HEAD_AGAIN = timedelta(seconds=5)
_ANEW = "a permitted person authorizes the present head anew"


@dataclass(frozen=True)
class Live:
    """It counts at this moment, and until `until` if nothing happens."""

    receipt: Authorization
    until: datetime


@dataclass(frozen=True)
class Void:
    """It counts no more, for good: another word is needed. `why` says which rule; the rest is for people."""

    receipt: Authorization
    why: VoidCode
    reason: str
    remedy: str


@dataclass(frozen=True)
class Unsure:
    """Nobody can say now: GitHub did not answer. It does not count before that is read; nothing is voided by it."""

    receipt: Authorization
    reason: str
    again: datetime


Judgement = Live | Void | Unsure


@dataclass(frozen=True)
class Authorized:
    """Exactly this commit of this PR may be merged into exactly this base, until then, at the word of these."""

    pull: int
    base: str
    sha: str
    by: tuple[Person, ...]
    receipts: tuple[str, ...]
    until: datetime


@dataclass(frozen=True)
class NotYet:
    """It may not be merged: what is missing, and what to do. `until`: when another look is worth it by itself. `codes`:
    why receipts that there are do not count. `unsure`: only because GitHub did not answer; it may be authorized.
    """

    reason: str
    remedy: str
    until: datetime | None = None
    codes: tuple[VoidCode, ...] = ()
    unsure: bool = False


def digest_of(body: str) -> str:
    """SHA-256 of a comment's text, as receipts keep it. GitHub keeps line ends as they were sent, so they count."""
    return hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()


def judge(receipt: Authorization, observation: ReleaseObservation, policy: Policy, now: datetime) -> Judgement:
    """Whether one receipt counts now. What is void is told before what is unsure: no answer of GitHub's can save it."""
    unsure: Unsure | None = None
    for rule in _RULES:
        found = rule(receipt, observation, policy, now)
        if isinstance(found, Void):
            return found
        unsure = unsure or found
    return unsure or Live(receipt, _until(receipt, policy))


def enough(
    judgements: Sequence[Judgement], pull: ReleasePull | None, observation: ReleaseObservation, policy: Policy
) -> Authorized | NotYet:
    """Whether the live receipts together authorize the PR's present head. Those of its other heads and bases are void.
    Several words of one account are one.
    """
    if pull is None or pull.state != "OPEN":
        return NotYet("the release has no open PR", "wait: the App opens it once the trunk brings something")
    live = [j for j in judgements if isinstance(j, Live) and j.receipt.pull == pull.number]
    found = together(live, policy, lambda receipt: worked_in_it(receipt.by, observation) is False)
    if found is not None:
        counted, until = found
        by = tuple(j.receipt.by for j in counted)
        return Authorized(pull.number, pull.base, pull.head_sha, by, tuple(j.receipt.id for j in counted), until)
    return _missing(judgements, _one_each(live), pull, observation, policy)


def together(
    live: Sequence[Live], policy: Policy, is_independent: Callable[[Authorization], bool]
) -> tuple[tuple[Live, ...], datetime] | None:
    """The words that are enough, one for each account, and until when they are; None where they are not.
    `is_independent`: whether a receipt's author is known not to have worked in the release.
    """
    for until in sorted({j.until for j in live}, reverse=True):
        counted = _one_each([j for j in live if j.until >= until])
        if len(counted) >= policy.release.approvals and any(is_independent(j.receipt) for j in counted):
            return counted, until
    return None


def worked_in_it(by: Person, observation: ReleaseObservation) -> bool | None:
    """Whether an account held or started a lease in this release; None where nobody can say now."""
    if isinstance(observation.lease_accounts, Unread):
        return None
    return by.login.lower() in observation.lease_accounts


def judged(
    receipts: Sequence[Authorization], pull: ReleasePull | None, observation: ReleaseObservation, policy: Policy
) -> tuple[tuple[Judgement, ...], Authorized | NotYet]:
    """Every receipt judged now, and what they come to together."""
    found = tuple(judge(receipt, observation, policy, observation.now) for receipt in receipts)
    return found, enough(found, pull, observation, policy)


def _until(receipt: Authorization, policy: Policy) -> datetime:
    # A policy that was tightened since holds for what was said before, too.
    return min(receipt.expires_at, receipt.at + policy.release.expires)


def _voided(receipt: Authorization, o: ReleaseObservation, policy: Policy, now: datetime) -> Void | None:
    if receipt.voided is None:
        return None
    by = f" by {receipt.voided.by}" if receipt.voided.by is not None else ""
    return Void(receipt, receipt.voided.why, f"{VOID_MEANINGS[receipt.voided.why]}{by}", _ANEW)


def _of_this(receipt: Authorization, o: ReleaseObservation, policy: Policy, now: datetime) -> Void | Unsure | None:
    """One PR, one base, one head."""
    pull = o.pull(receipt.pull)
    if pull is None or pull.head != o.branch:
        return Void(receipt, "other_pull", f"it was said of PR #{receipt.pull}, which is not this release's", _ANEW)
    if pull.state == "MERGED":
        return Void(receipt, "merged", f"PR #{receipt.pull} was merged", "nothing is left to authorize there")
    if receipt.base != pull.base or receipt.base != o.into_name:
        return Void(receipt, "changed_base", "it was said of another base than the PR has now", _ANEW)
    at_trunk = o.trunk is not None and o.trunk.sha == receipt.head_sha
    if receipt.head_sha != pull.head_sha and not at_trunk:
        return Void(receipt, "new_head", f"it was said of {receipt.head_sha}, and the head is another one now", _ANEW)
    # GitHub's PR follows a push a moment later, and the two may have been read on both sides of one.
    if receipt.head_sha != pull.head_sha or not at_trunk:
        return Unsure(receipt, "the release branch and its PR do not show the same head", now + HEAD_AGAIN)
    return None


def _in_time(receipt: Authorization, o: ReleaseObservation, policy: Policy, now: datetime) -> Void | None:
    if receipt.at > now + SKEW or receipt.expires_at < receipt.at:
        return Void(receipt, "malformed", "its times cannot be", _ANEW)
    if now >= _until(receipt, policy):
        return Void(receipt, "expired", "its time is over", _ANEW)
    return None


def _source(receipt: Authorization, o: ReleaseObservation, policy: Policy, now: datetime) -> Void | Unsure | None:
    found = o.sources.get(receipt.source.comment_id, Unread("the comment that it came from was not read again"))
    if isinstance(found, Unread):
        return Unsure(receipt, found.reason, now + AGAIN)
    if isinstance(found, CommentGone):
        return Void(receipt, "comment_deleted", "the comment that it came from was deleted", _ANEW)
    why = _mismatch(receipt, found)
    return Void(receipt, why, VOID_MEANINGS[why], _ANEW) if why is not None else None


def _mismatch(receipt: Authorization, found: SourceComment) -> VoidCode | None:
    source = receipt.source
    if found.author is None or found.author.id != receipt.by.id:
        return "other_author"
    if found.via_app is not None:
        return "via_app"
    if found.author.kind != "User":
        return "not_a_person"
    if found.edited or digest_of(found.body) != source.body_digest:
        return "comment_edited"
    # One comment is one receipt's, by its id, and said on the very PR; the commit stands in it letter by letter.
    same = receipt.id == str(found.id) == str(source.comment_id) and found.number == receipt.pull == source.number
    at = found.created_at.replace(microsecond=0)
    if not same or at != source.created_at or receipt.head_sha not in found.body.lower():
        return "malformed"
    return None


def _permission(receipt: Authorization, o: ReleaseObservation, policy: Policy, now: datetime) -> Void | Unsure | None:
    may = may_authorize(receipt.by, o, policy)
    if isinstance(may, Unread):
        return Unsure(receipt, may.reason, now + AGAIN)
    if isinstance(may, MayNot):
        return Void(receipt, "lost_permission", may.reason, may.remedy)
    return None


def _own(receipt: Authorization, o: ReleaseObservation, policy: Policy, now: datetime) -> Void | Unsure | None:
    pull = o.pull(receipt.pull)
    against = may_not_count(receipt.by, pull, o, policy) if pull is not None else None
    if against is not None:
        own = pull is not None and pull.author is not None and pull.author.id == receipt.by.id
        return Void(receipt, "own_pull" if own else "last_pusher", against.reason, against.remedy)
    if policy.release.not_last_pusher and o.last_pusher is None:
        return Unsure(receipt, "GitHub does not say who pushed this commit, and the policy wants to know", now + AGAIN)
    return None


_Rule = Callable[[Authorization, ReleaseObservation, Policy, datetime], Void | Unsure | None]
_RULES: tuple[_Rule, ...] = (_voided, _of_this, _in_time, _source, _permission, _own)


def _one_each(live: Sequence[Live]) -> tuple[Live, ...]:
    """One word an account, the one that lives longest."""
    best: dict[int, Live] = {}
    for j in sorted(live, key=lambda j: (j.until, j.receipt.at, j.receipt.id)):
        best[j.receipt.by.id] = j
    return tuple(sorted(best.values(), key=lambda j: (j.receipt.at, j.receipt.id)))


def _missing(
    judgements: Sequence[Judgement], live: Sequence[Live], pull: ReleasePull, o: ReleaseObservation, policy: Policy
) -> NotYet:
    codes = tuple(dict.fromkeys(j.why for j in judgements if isinstance(j, Void)))
    again = f"one of these comments `/recovery authorize-release {pull.head_sha}`: {listed(policy.release)}"
    unsure = next((j for j in judgements if isinstance(j, Unsure)), None)
    if unsure is not None:
        return NotYet(
            f"it is not known whether the word of {unsure.receipt.by.login} still counts: {unsure.reason}",
            "wait: it is looked up again",
            unsure.again,
            codes,
            unsure=True,
        )
    if live and isinstance(o.lease_accounts, Unread):
        reason = f"it is not known who worked in this release: {o.lease_accounts.reason}"
        return NotYet(reason, "wait: it is looked up again", o.now + AGAIN, codes, unsure=True)
    if live and len(live) >= policy.release.approvals:
        names = ", ".join(j.receipt.by.login for j in live)
        reason = f"everybody who authorized it ({names}) held or started a lease in this release"
        return NotYet(reason, f"somebody who did not work in it authorizes it as well: {again}", None, codes)
    if live:
        names = ", ".join(j.receipt.by.login for j in live)
        reason = f"{len(live)} of {policy.release.approvals} have authorized {pull.head_sha}: {names}"
        return NotYet(reason, again, min(j.until for j in live), codes)
    newest = next((j for j in reversed(judgements) if isinstance(j, Void)), None)
    if newest is not None:
        return NotYet(
            f"the authorization by {newest.receipt.by.login} counts no more: {newest.reason}", again, None, codes
        )
    return NotYet(f"nobody has authorized {pull.head_sha}", again)


VOID_MEANINGS: dict[VoidCode, str] = {
    "revoked": "it was revoked",
    "new_head": "the release branch has another head now",
    "changed_base": "the base of the PR was changed",
    "other_pull": "it was said of another PR",
    "expired": "its time is over",
    "comment_deleted": "the comment that it came from was deleted",
    "comment_edited": "the comment that it came from was edited",
    "other_author": "the comment that it came from has another author",
    "via_app": "the comment that it came from was made through another App",
    "not_a_person": "the comment that it came from is no person's",
    "own_pull": "its author opened the release PR",
    "lost_permission": "its author may not authorize releases any more",
    "last_pusher": "its author pushed the commit",
    "merged": "the PR was merged",
    "superseded": "its author said it anew",
    "rebuilt": "the ledger was rebuilt",
    "malformed": "it does not agree with the comment that it names",
}
"""Why a receipt counts no more, in words of ours."""
