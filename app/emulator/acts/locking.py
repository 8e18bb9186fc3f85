"""Locked conversations."""

from __future__ import annotations

from app.emulator.acts.events import record
from app.emulator.acts.issue_events import tell, touch
from app.emulator.errors import no_member, unreadable
from app.emulator.state import Actor, Issue
from app.emulator.world import World

REASONS = ("off-topic", "too heated", "resolved", "spam")


def shut_out(issue: Issue, actor: Actor) -> bool:
    """Is the conversation locked to this actor? It stays open to people with write access.

    An App is shut out whatever its permissions (observed with "contents: write", renovatebot/renovate#6215).
    """
    may_write = actor.account.type != "Bot" and issue.repo.role_of(actor.account) in ("write", "maintain", "admin")
    return issue.locked and not may_write


def lock(world: World, issue: Issue, reason: str | None, actor: Actor) -> None:
    """Let only people with write access comment. A locked conversation keeps its reason and raises no event."""
    if reason is not None and reason not in REASONS:
        raise unreadable(no_member(reason, REASONS))
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
