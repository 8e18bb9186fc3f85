"""Fence commits: how a merge that was sent already is kept from happening (the ownership protocol, R12).

A merge names the head it merges. While one may still be carried out, whoever ends or changes what allowed it moves the
branch, in the same update as the ledger, to an empty commit above that head: from then on GitHub refuses the merge. The
withdrawn head is burned: never published and never landed again. Whether the merge came first is read afterwards, once
the PR shows the branch's new head, and only then anybody is answered.
"""

from dataclasses import dataclass

from app.domain.fencing import AtPublished, Foreign, Head, NothingPublished, Tampered
from app.domain.record import Fence, Permit, PermitKind, Record

MERGES: frozenset[PermitKind] = frozenset({"merge", "enqueue"})


def may_still_merge(record: Record) -> tuple[Permit, ...]:
    """The permits under which a merge may still be carried out. GitHub's refusal ends one only if every send under it
    was answered (R6).
    """
    return tuple(p for p in record.open if p.kind in MERGES and (p.state != "blocked" or p.unanswered))


@dataclass(frozen=True)
class Disarming:
    """What a fence commit is made of: an empty commit above `on`, to which the branch moves from `before` (None: there
    is no branch). `keep`: a foreign head that has to be set aside. `takes_over`: the fence commit is what is published
    from now on; not so where it stands above somebody else's commits.
    """

    branch: str
    on: str
    before: str | None
    keep: str | None = None
    takes_over: bool = True

    @property
    def forces(self) -> bool:
        """Whether the branch goes to a commit that does not contain where it stood."""
        return self.before not in (None, self.on)


def disarming(record: Record, head: Head) -> Disarming | None:
    """The fence commit that has to go with the next write that ends or changes what a merge was allowed by; None where
    no merge can come any more.
    """
    merges = may_still_merge(record)
    if not merges or record.work is None:
        return None
    branch = record.work.branch
    match head:
        case AtPublished(sha=sha):
            return Disarming(branch, on=sha, before=sha)
        case Foreign(head=foreign):
            return Disarming(branch, on=foreign, before=foreign, takes_over=False)
        case Tampered(published=published, head=foreign):
            return Disarming(branch, on=published, before=foreign, keep=foreign)
        case NothingPublished(head=found):
            on = found or next((p.target.head_sha for p in merges if p.target.head_sha), None)
            return Disarming(branch, on=on, before=found, takes_over=False) if on is not None else None


def fenced_off(record: Record, made: Disarming, sha: str, because: str) -> Record:
    """The record once the branch stands at the fence commit `sha`: the permits are closed, their heads burned. What was
    published is the fence commit now, under the identity it was published under: the same lease goes on with it, a new
    holder takes it over with its evidence. `because`: what a reader of the branch and the ledger is told.
    """
    gone = may_still_merge(record)
    heads = (p.target.head_sha for p in gone)
    base = next((p.target.base for p in gone), None)
    published, projections = record.published, record.projections
    if made.takes_over and published is not None:
        published = published.model_copy(update={"sha": sha})
    if made.takes_over and made.before != made.on:
        # The branch was taken elsewhere or deleted, which may have closed the PR: no person's close.
        projections = projections.model_copy(update={"reopen_pr": projections.pr_number})
    return record.model_copy(
        update={
            "open": tuple(p for p in record.open if p not in gone),
            "burned_shas": tuple(dict.fromkeys((*record.burned_shas, *(h for h in heads if h is not None)))),
            "published": published,
            "projections": projections,
            "fence": Fence(sha=sha, on=made.on, because=because, base=base),
        }
    )


def to_restore(record: Record, published: str) -> str:
    """Where a branch that was taken elsewhere is put back: never at a head that was withdrawn, which a merge under way
    still names; then at the fence commit above it.
    """
    return record.fence.sha if published in record.burned_shas and record.fence is not None else published


@dataclass(frozen=True)
class PullNow:
    """The ticket's PR as it was read after a fence commit. `queued`: it still has its place in a merge queue."""

    number: int
    state: str
    head_sha: str
    base: str
    queued: bool = False


@dataclass(frozen=True)
class Landed:
    """The merge was carried out before the fence commit could refuse it."""

    pull: PullNow


@dataclass(frozen=True)
class Fenced:
    """The PR is past what was withdrawn, and not merged: no merge of it comes any more."""


@dataclass(frozen=True)
class Unresolved:
    """GitHub still shows the PR at a withdrawn head or in a queue, so nobody can say yet."""

    reason: str


def came_first(record: Record, head_sha: str, base: str) -> bool:
    """Whether the merge of this head into this base is one that a fence commit was made against too late: it was sent
    as it was carried out, and whatever was written with the fence commit came after it.
    """
    return record.fence is not None and head_sha in record.burned_shas and base == record.fence.base


def _landed_later(record: Record, pull: PullNow) -> bool:
    """Whether the merge is one that was allowed after the fence commit: then what was withdrawn stayed withdrawn,
    however long ago that was, and who repeats their word gets their own answer.
    """
    if pull.head_sha in record.burned_shas:
        return False
    merged = record.landing.merged
    asked = any(p.kind in MERGES and p.target.head_sha == pull.head_sha for p in record.open)
    return asked or (merged is not None and merged.head_sha == pull.head_sha)


def resolution(record: Record, pull: PullNow | None) -> Landed | Fenced | Unresolved:
    """What became of the merges that a fence commit was made against."""
    if record.fence is None or pull is None:
        return Fenced()
    if pull.state == "MERGED":
        return Fenced() if _landed_later(record, pull) else Landed(pull)
    if pull.state == "OPEN" and pull.head_sha in record.burned_shas:
        return Unresolved(f"PR #{pull.number} still shows {pull.head_sha[:12]}, which was withdrawn")
    if pull.state == "OPEN" and pull.queued and pull.head_sha == record.fence.sha:
        return Unresolved(f"PR #{pull.number} still is in the merge queue, though its head was withdrawn")
    return Fenced()
