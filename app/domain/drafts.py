"""Draft or ready: the PR's draft state follows the record, and a person's own click wins.

A click of somebody else than the App is taken note of once. Where it goes against what the record asks for, it stands
until the record asks for the other state: a click on "ready" while the ticket is worked on leaves the PR ready and
lands nothing, and a click on "draft" on a ready ticket keeps it from landing. A person's word that a commit shall land
asks for a PR that is ready, and is newer than a click before it. What nobody clicked is brought in line, also a PR that
was opened as ready before the ticket was.

Where the repository's plan has no drafts, the policy's `draft_label` says the same, if the policy names one and the
repository has it; the check-run says it in any case. The title is never touched.

Accepted loss: a click that was made while the App did not look, before the record changed, counts as made after it. It
is shown, and one more click undoes it.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from app.domain.fencing import AtPublished, Foreign, Head
from app.domain.observation import Pull
from app.domain.plan import Note, SetDraft
from app.domain.pull_acts import latest, undone_by_others
from app.domain.record import AskedToLand, Drafting, Record
from app.domain.upkeep_actions import AddLabels, RemoveLabel

REFUSED_FOR = timedelta(days=1)
"""How long what GitHub refused is not tried again: a plan or a permission has to change first."""

NO_DRAFTS = "the repository's plan has no draft PRs, so this one shows as ready while work goes on"

_NO_OPINION = frozenset({"held", "exhausted"})
"""Statuses in which the PR stays as it is: nobody works on the ticket, and it waits for a person's word."""


def asked_state(record: Record, head: Head) -> bool | None:
    """Whether the record asks for a PR that is ready (True) or a draft (False); None: it says nothing of it now."""
    if not isinstance(head, AtPublished | Foreign) or record.status in _NO_OPINION:
        return None
    if not isinstance(head, AtPublished):
        return False
    # A child that completed holds no lease any more: what it published under its last one is what it gave.
    return record.status == "completed" or (
        head.fenced and (record.status == "ready" or _asked(record, head) is not None)
    )


def _asked(record: Record, head: Head) -> AskedToLand | None:
    """A person's word that exactly this head shall land."""
    asked = record.landing.asked
    return asked if asked is not None and isinstance(head, AtPublished) and asked.head_sha == head.sha else None


def drafted_by(record: Record, pull: Pull) -> str | None:
    """Who made the PR of a ready ticket a draft: as long as their word stands, it does not land."""
    at = record.projections.drafting
    if not pull.is_draft or record.status != "ready":
        return None
    if at.by is not None and at.ready:
        return at.by
    click = latest(pull.acts, "ready", "draft")
    is_news = click is not None and click.kind == "draft" and not click.ours and click.id != at.clicked
    return click.who if click is not None and is_news else None


def decide_draft(
    record: Record, pull: Pull, head: Head, label: str | None, *, now: datetime
) -> Iterator[SetDraft | Note | AddLabels | RemoveLabel]:
    """What the draft state of the ticket's open PR needs; its timeline was read. `label`: the one the policy names."""
    ready = asked_state(record, head)
    if ready is None:
        return
    at, differs = record.projections.drafting, pull.is_draft == ready
    click = latest(pull.acts, "ready", "draft")
    if click is not None and not click.ours and click.id != at.clicked:
        against = differs and (click.kind == "draft") == pull.is_draft
        noted = {"clicked": click.id, "by": click.who if against else None, "ready": ready}
        words = "ready for review" if click.kind == "ready" else "a draft"
        yield Note(at.model_copy(update=noted), f"{click.who} made the PR {words}")
        return
    asked = _asked(record, head)
    is_older = asked is not None and click is not None and click.at < asked.at
    if at.by is not None and at.ready == ready and not is_older:
        return
    if at.by is not None:
        over = at.model_copy(update={"by": None, "ready": ready})
        yield Note(over, f"what the ticket asks for changed since {at.by} clicked, so the PR follows it again")
    if differs and not _refused(at, ready, now):
        reason = "the holder says the work is ready" if ready else "the ticket is being worked on"
        yield SetDraft(pull.number, pull.node_id, not ready, reason)
    yield from _label(at, pull, ready, label)


def _refused(at: Drafting, ready: bool, now: datetime) -> bool:
    same = at.refused == ("ready" if ready else "draft")
    return same and at.refused_at is not None and now < at.refused_at + REFUSED_FOR


def _label(at: Drafting, pull: Pull, ready: bool, label: str | None) -> Iterator[AddLabels | RemoveLabel]:
    present = {name.lower() for name in pull.labels}
    if at.label is not None and (ready or pull.is_draft or not at.unsupported) and at.label.lower() in present:
        yield RemoveLabel(pull.number, at.label, "the PR's own state says it now")
    wanted = label is not None and at.unsupported and not ready and not pull.is_draft
    if label is None or not wanted or at.label == label or label.lower() in present:
        return
    if label.lower() not in undone_by_others(pull.acts, "unlabeled"):
        yield AddLabels(pull.number, (label,), "the repository has no drafts, so a label says that work goes on")


def refused(at: Drafting, draft: bool, words: str, *, now: datetime) -> Drafting:
    """What is known after GitHub refused to make the PR a draft, or ready, in these words."""
    unsupported = at.unsupported or (draft and "not supported" in words.lower())
    what = "draft" if draft else "ready"
    return at.model_copy(update={"refused": what, "refused_at": now, "unsupported": unsupported})
