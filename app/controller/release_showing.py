"""What a look at a release is shown as: the text of its comment, and what it says to the guard.

Projections: rewritten when they differ, never read as authority. What if it happened and we did not hear: the next look
compares again. What if two of us do it: both write the same.
"""

import structlog

from app.controller.release_guarding import Spoken
from app.controller.release_looks import ReleaseView
from app.domain.authorization import NotYet
from app.domain.pull_class import Refs
from app.domain.release_comment import release_comment, release_marker
from app.domain.release_external_id import witness
from app.domain.release_frozen import HAVE_IT_BEGUN_ANEW
from app.domain.release_guard import GuardPull
from app.domain.release_standing import ended_lately, standing_of
from app.github.errors import GitHubError, NotFound

MOST_LEFT = 10
"""Former heads of a release that are looked at while its ledger cannot be trusted."""

log = structlog.get_logger()


async def show_comment(view: ReleaseView) -> int:
    """Bring the comment on the release PR up to date, where it stands; returns how many writes that took. Raises
    GitHubError.
    """
    record = view.record
    if record is None or record.pull is None:
        return 0
    pull = view.observation.pull(record.pull)
    marker = release_marker(record.branch)
    ours = [c for c in pull.comments if c.body.startswith(marker)] if pull is not None else []
    known = next((c for c in ours if c.id == record.comment_id), ours[0] if ours else None)
    if pull is None or known is None:
        return 0
    standing = standing_of(record, view.observation, view.policy)
    text = release_comment(record, standing, view.observation, view.policy)
    if known.body.replace("\r\n", "\n").strip() == text.strip() and not known.edited_by_other:
        return 0
    try:
        await view.repo.edit_comment(known.id, text)
    except NotFound:
        return 0
    return 1


def spoken_of(view: ReleaseView) -> Spoken:
    """What a look says of its release to the guard."""
    seen, record = view.observation, view.record
    if view.frozen is not None:
        reason = NotYet(view.frozen.reason.rstrip("."), HAVE_IT_BEGUN_ANEW)
        judged = {p.number: reason for p in seen.pulls}
        # What the guard remembers of the ledger outlives it: with it the next service knows, whatever else was lost.
        return Spoken(judged, view.witness, seen.trunk.sha if seen.trunk is not None else None)
    standing = standing_of(record, seen, view.policy)
    recorded = seen.pull(record.pull) if record is not None else None
    brought = None
    if recorded is not None and recorded.state != "MERGED":
        refs = Refs(recorded.head, recorded.base, True)
        brought = GuardPull(recorded.number, refs, recorded.head_sha, recorded.state == "OPEN", recorded=True)
    left: tuple[GuardPull, ...] = ()
    if standing.pull is not None and record is not None:
        now, refs = standing.pull, Refs(standing.pull.head, standing.pull.base, True)
        shows = (now.number, now.head_sha) if now.state == "OPEN" else None
        said = (*record.standing, *ended_lately(record, seen.now))
        gone = {one.head_sha for one in said if (one.pull, one.head_sha) != shows}
        left = tuple(GuardPull(now.number, refs, sha) for sha in sorted(gone))
    shown = view.standing
    return Spoken(
        judged={standing.pull.number: standing.verdict} if standing.pull is not None else {},
        witness=witness(view.branch, shown.record.sequence, shown.entry.sha) if shown is not None else view.witness,
        trunk=seen.trunk.sha if seen.trunk is not None else None,
        recorded=brought,
        left=left,
    )


async def left_behind(view: ReleaseView) -> tuple[GuardPull, ...]:
    """Commits that the branch of a release had before: while its ledger cannot be trusted, nobody knows which of them
    it once let pass. What was merged is not among them. One request.
    """
    seen = view.observation
    pull = next(iter(seen.pulls), None)
    if pull is None:
        return ()
    try:
        heads = await view.repo.heads_of(view.branch)
    except GitHubError as silence:
        log.warning("former heads not known", release=view.branch, answer=str(silence))
        return ()
    merged = {one.head_sha for one in seen.pulls if one.state == "MERGED"}
    refs = Refs(view.branch, seen.into_name, True)
    return tuple(GuardPull(pull.number, refs, sha) for sha in heads[:MOST_LEFT] if sha not in merged)
