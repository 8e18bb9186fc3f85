"""Dependencies between Issues: what one is blocked by.

Sentences measured on GitHub by several projects in August and September 2026: a self edge, a repeated edge, a cycle of
two and a pull request as blocker are refused; a longer cycle is accepted, a closed blocker too; removing an absent edge
succeeds; no edge moves ``updated_at``. At most 50 of each kind (docs.github.com "Creating issue dependencies").
"""

from __future__ import annotations

from typing import Any

from app.emulator.acts.events import announce, record
from app.emulator.errors import ApiError
from app.emulator.render import Render
from app.emulator.state import Actor, Issue
from app.emulator.world import World

MAX_DEPENDENCIES = 50
_FAILED = "An error occurred while adding the blocking issue to the issue. Validation failed: "


def add_blocked_by(world: World, issue: Issue, blocker: Issue, actor: Actor) -> None:
    """Let an Issue be blocked by another one. Raises 422 with GitHub's reason."""
    complaint = _complaint(issue, blocker)
    if complaint is not None:
        raise ApiError(422, _FAILED + complaint)
    issue.blocked_by.append(blocker)
    blocker.blocking.append(issue)
    record(world, issue, "blocked_by_added", actor, blocking_issue=blocker)
    record(world, blocker, "blocking_added", actor, blocked_issue=issue)
    _tell(world, issue, blocker, "added", actor)


def _complaint(issue: Issue, blocker: Issue) -> str | None:
    if blocker is issue:
        return "Target issue cannot be the same as the source issue"
    if blocker.is_pull:
        return "Target issue may only be an issue"
    if blocker in issue.blocked_by:
        return "Target issue has already been taken"
    if issue in blocker.blocked_by:
        return "this dependency would create a cycle where the target is already blocked by the source"
    if len(issue.blocked_by) >= MAX_DEPENDENCIES or len(blocker.blocking) >= MAX_DEPENDENCIES:
        return f"Source issue cannot have more than {MAX_DEPENDENCIES} dependencies"
    return None


def remove_blocked_by(world: World, issue: Issue, blocker: Issue, actor: Actor) -> None:
    """Remove a dependency; one that is not there is no error and raises no event."""
    if blocker not in issue.blocked_by:
        return
    issue.blocked_by.remove(blocker)
    blocker.blocking.remove(issue)
    record(world, issue, "blocked_by_removed", actor, blocking_issue=blocker)
    record(world, blocker, "blocking_removed", actor, blocked_issue=issue)
    _tell(world, issue, blocker, "removed", actor)


def _tell(world: World, issue: Issue, blocker: Issue, what: str, actor: Actor) -> None:
    """Both ends are told: the blocked Issue's repository and the blocker's."""
    render = Render(world)
    both: dict[str, Any] = {
        "blocked_issue_id": issue.id,
        "blocked_issue": render.issue(issue),
        "blocking_issue_id": blocker.id,
        "blocking_issue": render.issue(blocker),
    }
    shown = {"action": f"blocked_by_{what}", "blocking_issue_repo": render.repository(blocker.repo)} | both
    announce(world, issue.repo, "issue_dependencies", shown, actor)
    shown = {"action": f"blocking_{what}", "blocked_issue_repo": render.repository(issue.repo)} | both
    announce(world, blocker.repo, "issue_dependencies", shown, actor)
