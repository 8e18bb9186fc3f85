"""Projects, their items, and who owns them."""

from __future__ import annotations

from typing import Any

from app.emulator.errors import GraphQLRefusal
from app.emulator.graphql.connections import connection
from app.emulator.graphql.project_value_views import item_value
from app.emulator.graphql.views import View, shows, view, viewer_of
from app.emulator.project_access import may_read, may_write, sees_content
from app.emulator.state import Account, Issue
from app.emulator.state_projects import Project, ProjectField, ProjectItem


class ProjectOwnerFields(View):
    """The fields of an organization or person about projects.

    What may not be seen is as if it were not there: an empty list, or a number that does not resolve.
    """

    thing: Account

    def _projects(self) -> list[Project]:
        world, identity = self.request.world, self.request.identity
        owned = [p for p in world.projects.values() if p.owner is self.thing]
        return [p for p in owned if may_read(world, identity, p)]

    def projectV2(self, info: Any, number: int) -> Any:
        for project in self._projects():
            if project.number == number:
                return view(self.request, project)
        raise GraphQLRefusal("NOT_FOUND", f"Could not resolve to a ProjectV2 with the number {number}.")

    def projectsV2(
        self,
        info: Any,
        query: str | None = None,
        orderBy: dict[str, Any] | None = None,
        minPermissionLevel: str | None = None,
        **page: Any,
    ) -> Any:
        found = [p for p in self._projects() if not query or query.lower() in p.title.lower()]
        if minPermissionLevel in ("WRITE", "ADMIN"):
            found = [p for p in found if may_write(self.request.world, self.request.identity, p)]
        order = orderBy or {"field": "NUMBER", "direction": "DESC"}
        members = {"NUMBER": "number", "CREATED_AT": "id", "TITLE": "title", "UPDATED_AT": "updated_at"}
        found.sort(key=lambda p: getattr(p, members[order["field"]]), reverse=order["direction"] == "DESC")
        return connection("projectsV2", found, viewer_of(self.request), **page)


class ProjectContentFields(View):
    """The field of an Issue or pull request that lists the projects it is in."""

    thing: Issue

    def projectItems(self, info: Any, includeArchived: bool = True, **page: Any) -> Any:
        world, identity = self.request.world, self.request.identity
        readable = [p for p in world.projects.values() if may_read(world, identity, p)]
        found = [i for p in readable for i in p.items if i.content is self.thing]
        shown = [i for i in found if includeArchived or i.archived_at is None]
        return connection("projectItems", shown, viewer_of(self.request), **page)


@shows(Project)
class ProjectView(View):
    """A project."""

    thing: Project
    __typename = "ProjectV2"

    def __init__(self, request: Any, thing: Project) -> None:
        super().__init__(request, thing)
        self.id, self.number, self.title = thing.node_id, thing.number, thing.title
        self.databaseId, self.fullDatabaseId = thing.id, str(thing.id)
        self.closed, self.closedAt = thing.closed_at is not None, thing.closed_at
        self.createdAt, self.updatedAt = thing.created_at, thing.updated_at
        self.public, self.template = thing.public, False
        self.shortDescription, self.readme = thing.short_description, None
        kind = "orgs" if thing.owner.type == "Organization" else "users"
        self.resourcePath = f"/{kind}/{thing.owner.login}/projects/{thing.number}"
        self.url = request.world.url + self.resourcePath

    @property
    def owner(self) -> Any:
        return view(self.request, self.thing.owner)

    @property
    def creator(self) -> Any:
        return view(self.request, self.thing.creator)

    @property
    def viewerCanUpdate(self) -> bool:
        return may_write(self.request.world, self.request.identity, self.thing)

    def field(self, info: Any, name: str) -> Any:
        return view(self.request, next((f for f in self.thing.fields if f.name == name), None))

    def fields(self, info: Any, orderBy: dict[str, Any] | None = None, **page: Any) -> Any:
        found = list(self.thing.fields)
        order = orderBy or {"field": "POSITION", "direction": "ASC"}
        if order["field"] == "NAME":
            found.sort(key=lambda f: f.name.lower())
        if order["direction"] == "DESC":
            found.reverse()
        return connection("fields", found, viewer_of(self.request), **page)

    def items(self, info: Any, orderBy: dict[str, Any] | None = None, **page: Any) -> Any:
        found = list(self.thing.items)
        if orderBy is not None and orderBy["direction"] == "DESC":
            found.reverse()
        return connection("items", found, viewer_of(self.request), **page)


@shows(ProjectItem)
class ProjectItemView(View):
    """An item. One whose content this identity may not read is redacted: its type says so and nothing else is told."""

    thing: ProjectItem
    __typename = "ProjectV2Item"

    def __init__(self, request: Any, thing: ProjectItem) -> None:
        super().__init__(request, thing)
        self.id, self.databaseId, self.fullDatabaseId = thing.node_id, thing.id, str(thing.id)
        self.createdAt, self.updatedAt = thing.created_at, thing.updated_at
        self.isArchived = thing.archived_at is not None
        self._open = sees_content(request.identity, thing)
        words = {"Issue": "ISSUE", "PullRequest": "PULL_REQUEST", "DraftIssue": "DRAFT_ISSUE"}
        self.type = words[thing.content_type] if self._open else "REDACTED"

    @property
    def creator(self) -> Any:
        return view(self.request, self.thing.creator)

    @property
    def project(self) -> Any:
        return view(self.request, self.thing.project)

    @property
    def content(self) -> Any:
        if not self._open:
            return None
        if self.thing.content is None:
            return DraftView(self.request, self.thing)
        return view(self.request, self.thing.content)

    def _value(self, field: ProjectField) -> Any:
        return item_value(self.request, self.thing, field) if self._open else None

    def fieldValueByName(self, info: Any, name: str) -> Any:
        field = next((f for f in self.thing.project.fields if f.name == name), None)
        return self._value(field) if field is not None else None

    def fieldValues(self, info: Any, orderBy: dict[str, Any] | None = None, **page: Any) -> Any:
        found = [v for v in (self._value(f) for f in self.thing.project.fields) if v is not None]
        if orderBy is not None and orderBy["direction"] == "DESC":
            found.reverse()
        return connection("fieldValues", found, lambda value: value, **page)


class DraftView(View):
    """What a draft item holds."""

    thing: ProjectItem
    _View__typename = "DraftIssue"

    def __init__(self, request: Any, thing: ProjectItem) -> None:
        super().__init__(request, thing)
        self.id, self.title, self.body = thing.content_node_id, thing.title, thing.body
        self.createdAt, self.updatedAt = thing.created_at, thing.updated_at

    @property
    def creator(self) -> Any:
        return view(self.request, self.thing.creator)
