"""Whose approval counts for a head: the last word of each account that still exists, given to this head after its push.

GitHub may or may not move a review's commit id along with a force-push, so neither it nor the time is trusted alone.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

DECIDES = frozenset({"APPROVED", "CHANGES_REQUESTED", "DISMISSED"})
"""A comment takes no earlier verdict back."""


@dataclass(frozen=True)
class Review:
    """A submitted review. `login` is None where the account is gone."""

    login: str | None
    state: str
    commit_id: str
    submitted_at: datetime


def approvers(reviews: Iterable[Review], *, head_sha: str, head_pushed_at: datetime) -> tuple[str, ...]:
    """The accounts that approve this head, in the order of their reviews."""
    last: dict[str, Review] = {}
    for review in sorted(reviews, key=lambda r: r.submitted_at):
        if review.login is not None and review.state in DECIDES:
            last[review.login] = review
    return tuple(
        login
        for login, review in last.items()
        if review.state == "APPROVED" and review.commit_id == head_sha and review.submitted_at > head_pushed_at
    )
