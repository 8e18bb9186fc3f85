"""What keeps a release's one PR as it should be: there once the trunk brings anything, open, with its base, a list of
what it brings, one comment of ours, and no standing order to merge it.

Whoever closes it or changes its base is told once why it comes back. Somebody who goes on, or a program that closes
every PR, is answered ever more slowly: from the fourth repair on the App waits, up to an hour.
"""

from collections.abc import Iterator
from datetime import timedelta

from app.domain.authorization import Authorized
from app.domain.model import instant_text
from app.domain.policy import PATH
from app.domain.release_actions import (
    CreateReleaseComment,
    CreateReleasePull,
    Dequeue,
    EditReleaseBase,
    EditReleaseText,
    NoteReleasePull,
    RemoveReleaseComment,
    ReopenReleasePull,
    ReportOnRelease,
    StopAutoMerge,
    WaitRelease,
)
from app.domain.release_comment import release_marker
from app.domain.release_observation import Account, ReleaseObservation, ReleasePull
from app.domain.release_pull import body_with, changed_text, title_of
from app.domain.release_record import ReleaseRecord
from app.domain.release_standing import ReleaseStanding, difference
from app.domain.untrusted import inline

AT_ONCE = 3
"""Repairs of one PR that are made without waiting."""
LONGEST_PAUSE = timedelta(hours=1)
_NAME_BYTES = 120
_STOP = f"To do without this PR, let `trunks` in `{PATH}` not match the branch"

Repair = (
    CreateReleasePull
    | ReopenReleasePull
    | EditReleaseBase
    | EditReleaseText
    | NoteReleasePull
    | CreateReleaseComment
    | RemoveReleaseComment
    | ReportOnRelease
    | StopAutoMerge
    | Dequeue
    | WaitRelease
)


def standing_orders(record: ReleaseRecord, standing: ReleaseStanding, o: ReleaseObservation) -> Iterator[Repair]:
    """Auto-merge and places in a merge queue are taken away from PRs of the release that are not authorized."""
    recorded = o.pull(record.pull)
    open_ = dict.fromkeys((*o.open_pulls, *((recorded,) if recorded is not None and recorded.state == "OPEN" else ())))
    for pull in open_:
        verdict = standing.verdict
        if isinstance(verdict, Authorized) and verdict.pull == pull.number:
            continue
        if pull.auto_merge:
            yield StopAutoMerge(pull.number, pull.node_id, "auto-merge is on, and the release is not authorized")
        if pull.queued:
            yield Dequeue(pull.number, pull.node_id, "it waits in the merge queue, and the release is not authorized")
        if pull.auto_merge or pull.queued:
            what = "auto-merge was switched on" if pull.auto_merge else "it was put into the merge queue"
            yield from _report(
                record,
                pull,
                f"order-{pull.number}-{pull.head_sha[:12]}",
                f"{what} although nobody has authorized {pull.head_sha}; the App took that back",
                f"authorize it first: `/recovery authorize-release {pull.head_sha}`",
            )


def the_one_pull(record: ReleaseRecord, standing: ReleaseStanding, o: ReleaseObservation) -> Iterator[Repair]:
    """There is one PR of the release, and it stays as it should be."""
    pull = standing.pull
    recorded = o.pull(record.pull)
    if standing.twins and pull is not None:
        yield from _twins(record, pull, standing)
    if pull is not None and pull in o.open_pulls:
        if record.pull != pull.number:
            gone = (record.pull,) if record.pull is not None else ()
            yield NoteReleasePull(pull.number, gone, "it is the open PR of this release")
        title, body = changed_text(pull, o)
        if title is not None or body is not None:
            yield EditReleaseText(pull.number, title, body, "what is in the release has changed")
        yield from _comment(record, pull)
    elif recorded is not None and recorded.state == "OPEN":
        yield from _based(record, recorded, o)
    elif recorded is not None and recorded.state == "CLOSED":
        yield from _closed(record, recorded, o)
    else:
        yield from _missing(record, o)


def _missing(record: ReleaseRecord, o: ReleaseObservation) -> Iterator[Repair]:
    found = difference(record, o)
    if found == "unknown" and o.trunk is not None and o.into is not None:
        yield WaitRelease("GitHub does not say in what the release branch differs", o.now + timedelta(minutes=1))
    if found != "some" or o.trunk is None:
        return
    reason = "the release branch brings files that the base of releases lacks, and has no PR"
    yield CreateReleasePull(o.branch, o.trunk.sha, o.into_name, title_of(o), body_with("", o), reason)


def _closed(record: ReleaseRecord, pull: ReleasePull, o: ReleaseObservation) -> Iterator[Repair]:
    if difference(record, o) != "some":
        return
    if pull.number in record.given_up or pull.author is None or not pull.author.ours:
        yield NoteReleasePull(None, (pull.number,), f"PR #{pull.number} is closed, and the App opens another one")
        yield from _missing(record, o)
        return
    waiting = _pause(pull, o)
    if waiting is not None:
        yield waiting
        return
    yield ReopenReleasePull(pull.number, "the release has a difference and its PR was closed")
    if _is_somebody(pull.closed_by):
        reason = "the App opened this PR again, because the release branch still brings files that its base lacks"
        yield from _report(record, pull, f"reopened-{pull.number}", reason, _STOP, pull.closed_by)


def _based(record: ReleaseRecord, pull: ReleasePull, o: ReleaseObservation) -> Iterator[Repair]:
    if o.into is None:
        return
    waiting = _pause(pull, o)
    if waiting is not None:
        yield waiting
        return
    yield EditReleaseBase(pull.number, pull.base, o.into_name, "the base of the release PR was changed")
    into = inline(o.into_name, _NAME_BYTES)
    reason = f"the App gave this PR the base {into}: the policy has releases go there and nowhere else"
    yield from _report(record, pull, f"base-{pull.number}", reason, f"{_STOP}; or name another `release.into` there")


def _twins(record: ReleaseRecord, pull: ReleasePull, standing: ReleaseStanding) -> Iterator[Repair]:
    for other in standing.twins:
        if other.number != pull.number:
            reason = f"this is a second PR of one release: #{pull.number} is the release's, and none passes meanwhile"
            yield from _report(record, other, f"twin-{other.number}-{pull.number}", reason, "close one of the two")


def _comment(record: ReleaseRecord, pull: ReleasePull) -> Iterator[Repair]:
    marker = release_marker(record.branch)
    ours = [c for c in pull.comments if c.body.startswith(marker)]
    if not ours and pull.many_comments and record.comment_id is not None:
        return
    if not ours:
        yield CreateReleaseComment(pull.number, marker, "the release PR has no comment that shows what is authorized")
    for double in ours[1:]:
        yield RemoveReleaseComment(double.id, "such a comment stands already; the oldest stays")


def _pause(pull: ReleasePull, o: ReleaseObservation) -> WaitRelease | None:
    over = pull.repairs - AT_ONCE
    if over < 0 or pull.disturbed_at is None:
        return None
    until = pull.disturbed_at + min(timedelta(minutes=1) * (1 << min(over, 10)), LONGEST_PAUSE)
    if o.now >= until:
        return None
    words = f"PR #{pull.number} was put right {pull.repairs} times already; again at {instant_text(until)}"
    return WaitRelease(words, until)


def _report(
    record: ReleaseRecord, pull: ReleasePull, edge: str, reason: str, remedy: str, who: Account | None = None
) -> Iterator[ReportOnRelease]:
    if edge not in record.reported:
        mention = who.login if who is not None and _is_somebody(who) else None
        yield ReportOnRelease(pull.number, edge, reason, remedy, mention)


def _is_somebody(who: Account | None) -> bool:
    return who is not None and who.kind == "User" and not who.ours
