"""Locked conversations."""

from __future__ import annotations

from app.emulator.acts.events import record
from app.emulator.acts.issue_events import tell, touch
from app.emulator.errors import ApiError
from app.emulator.state import Actor, Issue
from app.emulator.world import World

REASONS = ("off-topic", "too heated", "resolved", "spam")


def lock(world: World, issue: Issue, reason: str | None, actor: Actor) -> None:
    """Let only people with write access comment. A locked conversation keeps its reason and raises no event."""
    if reason is not None and reason not in REASONS:
        listed = ", ".join(REASONS)
        raise ApiError(422, f"Invalid request.\n\n{reason} is not a member of [{listed}].")
    if issue.locked:
        return
    issue.locked, issue.lock_reason = True, reason
    touch(world, issue)
    record(world, issue, "locked", actor, lock_reason=reason)
    tell(world, issue, "locked", actor)


def unlock(world: World, issue: Issue, actor: Actor) -> None:
    """Let everybody comment again."""
    if not issue.locked:
        return
    issue.locked, issue.lock_reason = False, None
    touch(world, issue)
    record(world, issue, "unlocked", actor)
    tell(world, issue, "unlocked", actor)
