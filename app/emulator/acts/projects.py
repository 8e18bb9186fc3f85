"""Projects and their items: making, adding, archiving, removing, with their events."""

from __future__ import annotations

from typing import Any

from app.emulator.acts.events import announce_to_owner
from app.emulator.acts.project_fields import add_field
from app.emulator.errors import ApiError
from app.emulator.render_projects import ProjectRender
from app.emulator.state import Account, Actor, Issue
from app.emulator.state_projects import BUILT_IN, Project, ProjectItem
from app.emulator.world import World

_STATUS = [{"name": "Todo"}, {"name": "In Progress"}, {"name": "Done"}]


def create_project(world: World, owner: Account, title: str, actor: Actor, *, public: bool) -> Project:
    """A new project with the fields every project has."""
    now = world.clock.stamp()
    number = 1 + max((p.number for p in world.projects.values() if p.owner is owner), default=0)
    project = Project(world.ids.next("project"), number, owner, actor.account, title, now, now, public)
    world.projects[project.id] = project
    for name, kind in BUILT_IN[:2]:
        add_field(world, project, name, kind)
    add_field(world, project, "Status", "SINGLE_SELECT", options=_STATUS)
    for name, kind in BUILT_IN[2:]:
        add_field(world, project, name, kind)
    _tell(world, project, "created", actor)
    return project


def change_project(
    world: World, project: Project, actor: Actor, *, title: str | None, public: bool | None, closed: bool | None
) -> None:
    """Rename, publish, close or open a project as far as it is asked for; what stays as it was is told to nobody."""
    changes: dict[str, Any] = {}
    if title is not None and title != project.title:
        changes["title"] = {"from": project.title, "to": title}
        project.title = title
    if public is not None and public != project.public:
        changes["public"] = {"from": project.public, "to": public}
        project.public = public
    if changes:
        project.updated_at = world.clock.stamp()
        _tell(world, project, "edited", actor, changes=changes)
    if closed is not None and closed != (project.closed_at is not None):
        project.updated_at = world.clock.stamp()
        project.closed_at = project.updated_at if closed else None
        _tell(world, project, "closed" if closed else "reopened", actor)


def _tell(world: World, project: Project, action: str, actor: Actor, **extra: Any) -> None:
    shown = {"action": action, "projects_v2": ProjectRender(world).project(project)} | extra
    announce_to_owner(world, project.owner, "projects_v2", shown, actor)


def add_item(world: World, project: Project, content: Issue, actor: Actor) -> tuple[ProjectItem, bool]:
    """Put an Issue or pull request into a project; the second value tells whether it was not there yet."""
    if project.closed_at is not None:
        raise ApiError(422, "The project is closed")
    for item in project.items:
        if item.content is content:
            return item, False
    return _new_item(world, project, content, actor), True


def add_draft(world: World, project: Project, title: str, body: str, actor: Actor) -> ProjectItem:
    """Put a draft into a project."""
    return _new_item(world, project, None, actor, title, body)


def _new_item(
    world: World, project: Project, content: Issue | None, actor: Actor, title: str = "", body: str = ""
) -> ProjectItem:
    now = world.clock.stamp()
    item = ProjectItem(world.ids.next("project_item"), project, content, actor.account, now, now, title, body)
    project.items.append(item)
    tell_item(world, item, "created", actor)
    return item


def archive(world: World, item: ProjectItem, actor: Actor) -> None:
    """Take an item out of sight; an archived one stays as it is."""
    if item.archived_at is None:
        item.archived_at = world.clock.stamp()
        changes = {"archived_at": {"from": None, "to": item.archived_at}}
        tell_item(world, item, "archived", actor, changes=changes)


def unarchive(world: World, item: ProjectItem, actor: Actor) -> None:
    """Bring an archived item back."""
    if item.archived_at is not None:
        before, item.archived_at = item.archived_at, None
        tell_item(world, item, "restored", actor, changes={"archived_at": {"from": before, "to": None}})


def delete_item(world: World, item: ProjectItem, actor: Actor) -> None:
    """Remove an item; what it was about stays."""
    item.project.items.remove(item)
    tell_item(world, item, "deleted", actor)


def tell_item(world: World, item: ProjectItem, action: str, actor: Actor, **extra: Any) -> None:
    """Announce a change to an item to the Apps of the owner."""
    shown = {"action": action, "projects_v2_item": ProjectRender(world).item_event(item)} | extra
    announce_to_owner(world, item.project.owner, "projects_v2_item", shown, actor)
