"""Milestones, as far as Issues need them."""

from __future__ import annotations

from collections.abc import Mapping

from app.emulator.acts.events import announce, record
from app.emulator.acts.issue_events import tell, touch
from app.emulator.errors import invalid, no_member, unreadable
from app.emulator.render import Render
from app.emulator.state import Actor, Issue, Milestone, Repository
from app.emulator.world import World


def create_milestone(
    world: World, repo: Repository, actor: Actor, title: str, description: str | None, due_on: str | None
) -> Milestone:
    """A new milestone; its title must be free."""
    _check_title(repo, title, None)
    now = world.clock.stamp()
    number = max(repo.milestones, default=0) + 1
    milestone = Milestone(world.ids.next("milestone"), number, title, actor.account, now, now, description)
    milestone.due_on = due_on
    repo.milestones[number] = milestone
    _tell(world, repo, milestone, "created", actor)
    return milestone


def edit_milestone(
    world: World, repo: Repository, milestone: Milestone, actor: Actor, values: Mapping[str, str | None]
) -> None:
    """Change ``title``, ``description``, ``due_on`` and ``state`` as far as they are given."""
    state, title = values.get("state"), values.get("title")
    if state not in (None, "open", "closed"):
        raise unreadable(no_member(state, ("open", "closed")))  # slapperwan/gh4a#298
    if title is not None:
        _check_title(repo, title, milestone)
    changes: dict[str, object] = {}
    for name in ("title", "description", "due_on"):
        before = getattr(milestone, name)
        if name in values and values[name] != before:
            changes[name] = {"from": before or ""}
            setattr(milestone, name, values[name])
    milestone.updated_at = world.clock.stamp()
    if changes:
        shown = {"action": "edited", "changes": changes}
        announce(world, repo, "milestone", shown | _shown(world, repo, milestone), actor)
    if state == "closed" and milestone.state == "open":
        milestone.state, milestone.closed_at = "closed", world.clock.stamp()
        _tell(world, repo, milestone, "closed", actor)
    elif state == "open" and milestone.state == "closed":
        milestone.state, milestone.closed_at = "open", None
        _tell(world, repo, milestone, "opened", actor)


def delete_milestone(world: World, repo: Repository, milestone: Milestone, actor: Actor) -> None:
    """Remove a milestone and take it off its Issues."""
    del repo.milestones[milestone.number]
    for issue in repo.issues.values():
        if issue.milestone is milestone:
            set_milestone(world, issue, None, actor)
    _tell(world, repo, milestone, "deleted", actor)


def set_milestone(world: World, issue: Issue, milestone: Milestone | None, actor: Actor) -> None:
    """Put an Issue into a milestone, or into none."""
    before = issue.milestone
    if before is milestone:
        return
    issue.milestone = milestone
    touch(world, issue)
    for action, other in (("demilestoned", before), ("milestoned", milestone)):
        if other is not None:
            record(world, issue, action, actor, milestone=other)
            tell(world, issue, action, actor, milestone=Render(world).milestone(other, issue.repo))


def _check_title(repo: Repository, title: str, own: Milestone | None) -> None:
    if not title.strip():
        raise invalid("Milestone", "title", "missing_field")
    if any(m.title == title and m is not own for m in repo.milestones.values()):
        raise invalid("Milestone", "title", "already_exists")


def _shown(world: World, repo: Repository, milestone: Milestone) -> dict[str, object]:
    return {"milestone": Render(world).milestone(milestone, repo)}


def _tell(world: World, repo: Repository, milestone: Milestone, action: str, actor: Actor) -> None:
    announce(world, repo, "milestone", {"action": action} | _shown(world, repo, milestone), actor)
