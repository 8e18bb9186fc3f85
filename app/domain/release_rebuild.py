"""Beginning the ledger of a release anew, where what stands in its place cannot be trusted (the ownership protocol,
R20). Pure.

Only a person asks for it. The new record begins above everything that was ever seen of the lost one. No word, no wish
and no permit comes over: the release is authorized anew, and a merge that was under way from the lost ledger is one
that nobody's word stands for, so it is told as an incident when it comes.

Accepted loss: of what was merged before the App told that the ledger cannot be trusted, only the newest PR is looked
at, and it is no incident where the App's own comment on it showed its head as authorized.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.domain.command_noted import command, noted
from app.domain.model import instant_text
from app.domain.outcome import Blocked, Code
from app.domain.plain_text import one_line
from app.domain.record import Rebuilt
from app.domain.release_actions import report_marker
from app.domain.release_comment import release_marker, shows_authorized
from app.domain.release_frozen import edges_at
from app.domain.release_observation import OwnComment, ReleaseObservation, ReleasePull
from app.domain.release_record import KEPT_VOIDED, Authorization, ReleaseRecord, Voided, begun

VERB = "recover"


@dataclass(frozen=True)
class ReleaseRebuild:
    """The record to begin with, and what a person is told of it. `voided`: receipts that counted in the last record
    that can be read, and count no more.
    """

    record: ReleaseRecord
    voided: tuple[Authorization, ...]
    answer: str


def rebuilt_release(
    observation: ReleaseObservation,
    last: ReleaseRecord | None,
    witnessed: Sequence[int],
    *,
    edge: str,
    id: str,
    by: str,
) -> ReleaseRebuild:
    """The record that follows everything witnessed. `last`: the record that stands there, where the service sealed it
    and it is only not the newest; `witnessed`: the sequences that witnesses show; `edge`: under which the loss is told
    of; `id`: the command's.
    """
    o = observation
    top = max(witnessed, default=0)
    before = last or begun(o.branch, o.into_name)
    since = told_at(o, (edge, *edges_at(top))) or o.now
    pull = found_again(o, since)
    comment = _comment_on(pull, o) if pull is not None else None
    sequence = max(top, before.sequence) + 1
    voids = Voided(why="rebuilt", at=o.now, by=by)
    receipts = tuple(a if a.voided is not None else a.model_copy(update={"voided": voids}) for a in _kept(before))
    record = before.model_copy(
        update={
            "into": o.into_name,
            "sequence": sequence,
            "status": "open",
            "begun_at": since,
            "pull": pull.number if pull is not None else None,
            "comment_id": comment.id if comment is not None else None,
            "round": None,
            "open": (),
            "authorizations": receipts,
            "asked": None,
            "rebuilt": Rebuilt(by=by, at=o.now, sequence=sequence),
        }
    )
    answer = _answer(record, pull)
    return ReleaseRebuild(noted(record, command(id, VERB, by, answer, now=o.now)), before.standing, answer)


def found_again(o: ReleaseObservation, since: datetime) -> ReleasePull | None:
    """The release's PR, where what GitHub shows leaves no doubt: the only one of ours that is open; else the newest,
    where it was closed, or merged and nothing of ours shows that it might be.
    """
    ours = [p for p in o.pulls if (p.author is not None and p.author.ours) or _comment_on(p, o) is not None]
    open_ = [p for p in ours if p.state == "OPEN"]
    if open_:
        return open_[0] if len(open_) == 1 else None
    newest = max(ours, key=lambda p: p.number, default=None)
    return None if newest is None or _was_let_through(newest, o, since) else newest


def told_at(o: ReleaseObservation, edges: Sequence[str]) -> datetime | None:
    """When the App first told of this loss on a PR of the release: `edges` are the names that it may have there."""
    markers = tuple(report_marker(edge) for edge in edges)
    told = [c.created_at for p in o.pulls for c in p.comments if c.body.startswith(markers)]
    return min(told, default=None)


def said_before(record: ReleaseRecord, said_at: datetime) -> Blocked | None:
    """Why a word that was written before the ledger was begun anew is none about what is there now."""
    # GitHub tells whole seconds: a word of the same one may have come before.
    if record.rebuilt is None or said_at > record.rebuilt.at:
        return None
    at = instant_text(record.rebuilt.at)
    reason = f"the release's ledger was begun anew at {at}, and what was said before that counts no more"
    return Blocked(Code.FORBIDDEN, reason, "look at what is there now, then say it again in a new comment")


def sound(record: ReleaseRecord | None) -> Blocked:
    """Why a ledger that nothing speaks against is not begun anew."""
    reason = "the release's ledger is sound, or there is none and nothing remembers one"
    if record is not None and record.rebuilt is not None:
        anew = record.rebuilt
        reason = f"the release's ledger is sound: {anew.by} had it begun anew at {instant_text(anew.at)}"
    return Blocked(Code.USAGE, reason, "nothing is to be begun anew: the release is authorized as usual")


def _kept(record: ReleaseRecord) -> tuple[Authorization, ...]:
    """The newest receipts: none of them counts any more, and the record stays small."""
    standing = record.standing
    ended = [a for a in record.authorizations if a.voided is not None]
    room = max(KEPT_VOIDED - len(standing), 0)
    kept = (*standing, *(ended[-room:] if room else ()))
    return tuple(a for a in record.authorizations if a in kept)


def _was_let_through(pull: ReleasePull, o: ReleaseObservation, since: datetime) -> bool:
    """Whether a PR was merged before the loss was told, and our comment on it showed its head as authorized."""
    if pull.state != "MERGED" or (pull.merged_at is not None and pull.merged_at >= since):
        return False
    comment = _comment_on(pull, o)
    return comment is not None and not comment.edited_by_other and shows_authorized(comment.body, pull.head_sha)


def _comment_on(pull: ReleasePull, o: ReleaseObservation) -> OwnComment | None:
    marker = release_marker(o.branch)
    return next((c for c in pull.comments if c.body.startswith(marker)), None)


def _answer(record: ReleaseRecord, pull: ReleasePull | None) -> str:
    begun_anew = (
        f"the ledger of the release {one_line(record.branch)!r} is begun anew at sequence {record.sequence}; nothing "
        "is authorized, and what was asked for is forgotten"
    )
    if pull is None:
        return f"{begun_anew}; its PR is found again, or opened, by itself"
    if pull.state == "MERGED":
        return (
            f"{begun_anew}; PR #{pull.number} was merged at {pull.head_sha} meanwhile, and nobody's word stands for it"
        )
    if pull.state == "CLOSED":
        return f"{begun_anew}; PR #{pull.number} was closed meanwhile and is opened again where it is needed"
    return (
        f"{begun_anew}; once somebody has looked at PR #{pull.number}, it is authorized anew: "
        f"`/recovery authorize-release {pull.head_sha}`"
    )
