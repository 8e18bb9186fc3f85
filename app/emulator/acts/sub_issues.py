"""Sub-issues: one parent each, at most 100 a parent, seven layers, one owner.

Sentences and limits: cli/cli#13413, orgs/community/discussions/207865 and public logs of refused calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from app.emulator.acts.events import announce, record
from app.emulator.errors import ApiError
from app.emulator.render import Render
from app.emulator.state import Actor, Issue
from app.emulator.world import World

MAX_SUB_ISSUES = 100
MAX_LAYERS = 7
_FAILED = "An error occurred while adding the sub-issue to the parent issue. "


def add_sub_issue(world: World, parent: Issue, child: Issue, actor: Actor, *, replace_parent: bool = False) -> None:
    """Make one Issue the last sub-issue of another. Raises 422 with GitHub's reasons, all of them in one sentence."""
    complaints = _complaints(parent, child, replace_parent)
    if complaints:
        raise ApiError(422, _FAILED + " and ".join(complaints))
    if child.parent is not None:
        remove_sub_issue(world, child.parent, child, actor)
    parent.sub_issues.append(child)
    child.parent = parent
    record(world, parent, "sub_issue_added", actor, sub_issue=child)
    record(world, child, "parent_issue_added", actor, parent=parent)
    _tell(world, parent, child, "added", actor)


def _complaints(parent: Issue, child: Issue, replace_parent: bool) -> list[str]:
    if child is parent:
        return ["Sub issue cannot be the same as the parent issue"]
    if child.repo.owner is not parent.repo.owner:
        return ["A sub-issue belongs to the owner of its parent"]
    if child.parent is parent:
        return ["Issue may not contain duplicate sub-issues", "Sub issue may only have one parent"]
    if child.parent is not None and not replace_parent:
        return ["Sub issue may only have one parent"]
    if child in _ancestors(parent):
        return ["An Issue cannot stand below itself"]
    if len(parent.sub_issues) >= MAX_SUB_ISSUES:
        return [f"Parent cannot have more than {MAX_SUB_ISSUES} sub-issues"]
    if len(list(_ancestors(parent))) + 1 + _height(child) > MAX_LAYERS:
        return [f"Sub-issues stand at most {MAX_LAYERS} layers deep"]
    return []


def _ancestors(issue: Issue) -> Iterator[Issue]:
    above = issue.parent
    while above is not None:
        yield above
        above = above.parent


def _height(issue: Issue) -> int:
    return 1 + max((_height(s) for s in issue.sub_issues), default=-1)


def remove_sub_issue(world: World, parent: Issue, child: Issue, actor: Actor) -> None:
    """Take a sub-issue out of its parent. Raises 404 when it is none of its."""
    if child.parent is not parent:
        raise ApiError(404, "The provided sub-issue does not exist")
    parent.sub_issues.remove(child)
    child.parent = None
    record(world, parent, "sub_issue_removed", actor, sub_issue=child)
    record(world, child, "parent_issue_removed", actor, parent=parent)
    _tell(world, parent, child, "removed", actor)


def reprioritize(parent: Issue, child: Issue, *, after: Issue | None, before: Issue | None) -> None:
    """Put a sub-issue after or before another one of the same parent. Raises 404 or 422."""
    if child.parent is not parent:
        raise ApiError(404, "The provided sub-issue does not exist")
    if (after is None) == (before is None):
        raise ApiError(422, "Either after_id or before_id must be provided, but not both.")
    neighbour = after if after is not None else before
    if neighbour is None or neighbour.parent is not parent or neighbour is child:
        raise ApiError(422, "The sub-issue to move next to is not a sub-issue of this issue.")
    parent.sub_issues.remove(child)
    parent.sub_issues.insert(parent.sub_issues.index(neighbour) + (after is not None), child)


def _tell(world: World, parent: Issue, child: Issue, what: str, actor: Actor) -> None:
    """Both ends are told: the parent's repository of a sub-issue, the child's of a parent."""
    render = Render(world)
    both: dict[str, Any] = {
        "parent_issue_id": parent.id,
        "parent_issue": render.issue(parent),
        "sub_issue_id": child.id,
        "sub_issue": render.issue(child),
    }
    shown = {"action": f"sub_issue_{what}", "sub_issue_repo": render.repository(child.repo)} | both
    announce(world, parent.repo, "sub_issues", shown, actor)
    shown = {"action": f"parent_issue_{what}", "parent_issue_repo": render.repository(parent.repo)} | both
    announce(world, child.repo, "sub_issues", shown, actor)
