"""Standing orders to merge, and how they end without a merge."""

from __future__ import annotations

from app.emulator.acts.events import record
from app.emulator.acts.issue_events import tell, touch
from app.emulator.errors import ApiError
from app.emulator.state import Actor, PullRequest
from app.emulator.world import World


def disable_auto_merge(world: World, pull: PullRequest, actor: Actor, reason: str | None = None) -> None:
    """Withdraw the order. Raises 422 when there is none."""
    if pull.auto_merge is None:
        raise ApiError(422, "Can't disable auto-merge for this pull request.")
    forget_auto_merge(pull)
    touch(world, pull)
    record(world, pull, "auto_merge_disabled", actor, _reason=reason)
    tell(world, pull, "auto_merge_disabled", actor, reason=reason or "")


def forget_auto_merge(pull: PullRequest) -> None:
    """The order is carried out, or void."""
    pull.auto_merge = None
    pull.repo.guard.armed.discard(pull.number)
