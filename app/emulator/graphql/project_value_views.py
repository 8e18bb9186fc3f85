"""Fields of projects and what items have in them."""

from __future__ import annotations

import html
from datetime import UTC, datetime
from typing import Any

from app.emulator.graphql.connections import connection
from app.emulator.graphql.issue_link_views import MilestoneView
from app.emulator.graphql.views import View, shows, view
from app.emulator.ids import node_id
from app.emulator.routing import Request
from app.emulator.state_projects import FieldOption, Iteration, ProjectField, ProjectItem


@shows(ProjectField)
class ProjectFieldView(View):
    """A field; single-select and iteration fields are types of their own."""

    thing: ProjectField

    @property
    def _View__typename(self) -> str:  # the name under which the executor looks for ``__typename``
        own = {"SINGLE_SELECT": "ProjectV2SingleSelectField", "ITERATION": "ProjectV2IterationField"}
        return own.get(self.thing.type, "ProjectV2Field")

    def __init__(self, request: Any, thing: ProjectField) -> None:
        super().__init__(request, thing)
        self.id, self.databaseId, self.name, self.dataType = thing.node_id, thing.id, thing.name, thing.type
        self.createdAt, self.updatedAt = thing.created_at, thing.updated_at

    @property
    def project(self) -> Any:
        return view(self.request, self.thing.project)

    def options(self, info: Any, names: list[str] | None = None) -> list[dict[str, Any]]:
        return [_option(o) for o in self.thing.options if names is None or o.name in names]

    @property
    def configuration(self) -> dict[str, Any]:
        field = self.thing
        today = datetime.fromtimestamp(self.request.world.clock.now(), UTC).date()
        return {
            "duration": field.duration,
            "startDay": field.iterations[0].start.isoweekday() if field.iterations else 1,
            "iterations": [_iteration(i) for i in field.iterations if not i.completed(today)],
            "completedIterations": [_iteration(i) for i in field.iterations if i.completed(today)],
        }


def _option(option: FieldOption) -> dict[str, Any]:
    return {
        "id": option.id,
        "name": option.name,
        "nameHTML": html.escape(option.name),
        "color": option.color,
        "description": option.description,
        "descriptionHTML": html.escape(option.description),
    }


def _iteration(iteration: Iteration) -> dict[str, Any]:
    return {
        "id": iteration.id,
        "title": iteration.title,
        "titleHTML": html.escape(iteration.title),
        "startDate": iteration.start.isoformat(),
        "duration": iteration.duration,
    }


def item_value(request: Request, item: ProjectItem, field: ProjectField) -> dict[str, Any] | None:
    """What an item has in a field, or None: a value that was set, or one that comes from its content."""
    if field.type == "TITLE":
        title = item.content.title if item.content is not None else item.title
        own_id = node_id("PVTFV", item.project.id, item.id, 0)
        stamps = {"createdAt": item.created_at, "updatedAt": item.updated_at, "creator": view(request, item.creator)}
        place = {"field": view(request, field), "item": view(request, item), "id": own_id, "databaseId": item.id}
        return {"__typename": "ProjectV2ItemFieldTextValue", "text": title} | stamps | place
    if field.id in item.values:
        return _set_value(request, item, field)
    return _content_value(request, item, field)


def _content_value(request: Request, item: ProjectItem, field: ProjectField) -> dict[str, Any] | None:
    content = item.content
    if content is None:
        return None
    shown = {"field": view(request, field)}
    if field.type == "ASSIGNEES" and content.assignees:
        return shown | {
            "__typename": "ProjectV2ItemFieldUserValue",
            "users": lambda info, **page: connection("users", content.assignees, lambda a: view(request, a), **page),
        }
    if field.type == "LABELS" and content.labels:
        return shown | {
            "__typename": "ProjectV2ItemFieldLabelValue",
            "labels": lambda info, **page: connection("labels", content.labels, lambda x: view(request, x), **page),
        }
    if field.type == "MILESTONE" and content.milestone is not None:
        return shown | {
            "__typename": "ProjectV2ItemFieldMilestoneValue",
            "milestone": MilestoneView(request, content.milestone, content.repo),
        }
    if field.type == "REPOSITORY":
        return shown | {
            "__typename": "ProjectV2ItemFieldRepositoryValue",
            "repository": view(request, content.repo),
        }
    return None


def _set_value(request: Request, item: ProjectItem, field: ProjectField) -> dict[str, Any] | None:
    kept = item.values[field.id]
    shown = {
        "id": kept.node_id,
        "databaseId": kept.id,
        "createdAt": kept.created_at,
        "updatedAt": kept.updated_at,
        "creator": view(request, kept.creator),
        "field": view(request, field),
        "item": view(request, item),
    }
    if field.type == "SINGLE_SELECT":
        option = field.option(str(kept.value))
        if option is None:
            return None
        own = _option(option) | {"optionId": option.id}
        return own | shown | {"__typename": "ProjectV2ItemFieldSingleSelectValue"}
    if field.type == "ITERATION":
        iteration = field.iteration(str(kept.value))
        if iteration is None:
            return None
        own = _iteration(iteration) | {"iterationId": iteration.id}
        return own | shown | {"__typename": "ProjectV2ItemFieldIterationValue"}
    member = {"TEXT": "text", "NUMBER": "number", "DATE": "date"}[field.type]
    return shown | {"__typename": f"ProjectV2ItemField{member.capitalize()}Value", member: kept.value}
