"""Mutations of project items and their values."""

from __future__ import annotations

from typing import Any

from app.emulator.acts import project_values, projects
from app.emulator.errors import GraphQLRefusal
from app.emulator.graphql.issue_link_mutations import validation
from app.emulator.graphql.mutation_base import MutationBase
from app.emulator.graphql.views import view
from app.emulator.project_access import may_read, need_write
from app.emulator.state import Issue
from app.emulator.state_projects import Project, ProjectField, ProjectItem


class ProjectMutations(MutationBase):
    """The fields of ``Mutation`` about projects. No one of them compares before it sets."""

    def _project(self, value: str) -> Project:
        found = self.request.world.node(value)
        world, identity = self.request.world, self.request.identity
        if not isinstance(found, Project) or (identity.installation is None and not may_read(world, identity, found)):
            raise GraphQLRefusal("NOT_FOUND", f"Could not resolve to a node with the global id of '{value}'")
        need_write(world, identity, found)
        return found

    def _item(self, project: Project, value: str) -> ProjectItem:
        found = self.request.world.node(value)
        if not isinstance(found, ProjectItem):
            raise GraphQLRefusal("NOT_FOUND", f"Could not resolve to a node with the global id of '{value}'")
        if found.project is not project:
            raise GraphQLRefusal("VALIDATION", "The item does not exist in the project")
        return found

    def _field(self, project: Project, value: str) -> ProjectField:
        found = self.request.world.node(value)
        if not isinstance(found, ProjectField):
            raise GraphQLRefusal("NOT_FOUND", f"Could not resolve to a node with the global id of '{value}'")
        if found.project is not project:
            raise GraphQLRefusal("VALIDATION", "The field does not exist in the project")
        return found

    def addProjectV2ItemById(self, info: Any, input: dict[str, Any]) -> Any:
        """The item of that content; an existing one is returned as it is."""
        project = self._project(input["projectId"])
        content: Issue = self._find(input["contentId"], Issue, "Issue or PullRequest")
        with validation():
            item, _ = projects.add_item(self.request.world, project, content, self.request.identity.actor)
        return self._payload(input, item=view(self.request, item))

    def addProjectV2DraftIssue(self, info: Any, input: dict[str, Any]) -> Any:
        project, actor = self._project(input["projectId"]), self.request.identity.actor
        if not input["title"].strip():
            raise GraphQLRefusal("VALIDATION", "Title can't be blank")
        item = projects.add_draft(self.request.world, project, input["title"], input.get("body") or "", actor)
        return self._payload(input, projectItem=view(self.request, item))

    def updateProjectV2ItemFieldValue(self, info: Any, input: dict[str, Any]) -> Any:
        project = self._project(input["projectId"])
        item, field = self._item(project, input["itemId"]), self._field(project, input["fieldId"])
        with validation():
            project_values.set_value(self.request.world, item, field, input["value"], self.request.identity.actor)
        return self._payload(input, projectV2Item=view(self.request, item))

    def clearProjectV2ItemFieldValue(self, info: Any, input: dict[str, Any]) -> Any:
        project = self._project(input["projectId"])
        item, field = self._item(project, input["itemId"]), self._field(project, input["fieldId"])
        with validation():
            project_values.clear_value(self.request.world, item, field, self.request.identity.actor)
        return self._payload(input, projectV2Item=view(self.request, item))

    def archiveProjectV2Item(self, info: Any, input: dict[str, Any]) -> Any:
        item = self._item(self._project(input["projectId"]), input["itemId"])
        projects.archive(self.request.world, item, self.request.identity.actor)
        return self._payload(input, item=view(self.request, item))

    def unarchiveProjectV2Item(self, info: Any, input: dict[str, Any]) -> Any:
        item = self._item(self._project(input["projectId"]), input["itemId"])
        projects.unarchive(self.request.world, item, self.request.identity.actor)
        return self._payload(input, item=view(self.request, item))

    def deleteProjectV2Item(self, info: Any, input: dict[str, Any]) -> Any:
        item = self._item(self._project(input["projectId"]), input["itemId"])
        projects.delete_item(self.request.world, item, self.request.identity.actor)
        return self._payload(input, deletedItemId=item.node_id)
