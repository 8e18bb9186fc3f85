"""How REST answers and webhook payloads show projects, their fields and items."""

from __future__ import annotations

import html
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from app.emulator.render import Render
from app.emulator.state import PullRequest
from app.emulator.state_projects import Project, ProjectField, ProjectItem

Json = dict[str, Any]


def _text(text: str) -> Json:
    return {"raw": text, "html": html.escape(text)}


class ProjectRender(Render):
    """The renderer with projects."""

    def _url(self, project: Project) -> str:
        kind = "orgs" if project.owner.type == "Organization" else "users"
        return f"{self.api}/{kind}/{project.owner.login}/projectsV2/{project.number}"

    def project(self, project: Project) -> Json:
        return {
            "id": project.id,
            "node_id": project.node_id,
            "owner": self.account(project.owner),
            "creator": self.account(project.creator),
            "title": project.title,
            "description": project.short_description,
            "public": project.public,
            "closed_at": project.closed_at,
            "created_at": project.created_at,
            "updated_at": project.updated_at,
            "number": project.number,
            "short_description": project.short_description,
            "deleted_at": None,
            "deleted_by": None,
            "state": "open" if project.closed_at is None else "closed",
            "is_template": False,
        }

    def field(self, field: ProjectField) -> Json:
        shown: Json = {
            "id": field.id,
            "node_id": field.node_id,
            "project_url": self._url(field.project),
            "name": field.name,
            "data_type": field.type.lower(),
            "created_at": field.created_at,
            "updated_at": field.updated_at,
        }
        if field.type == "SINGLE_SELECT":
            shown["options"] = [self._option(field, o.id) for o in field.options]
        if field.type == "ITERATION":
            shown["configuration"] = {
                "start_day": field.iterations[0].start.isoweekday() if field.iterations else 1,
                "duration": field.duration,
                "iterations": [self._iteration(field, i.id) for i in field.iterations],
            }
        return shown

    def _option(self, field: ProjectField, option_id: str) -> Json | None:
        option = field.option(option_id)
        if option is None:
            return None
        return {
            "id": option.id,
            "name": _text(option.name),
            "color": option.color,
            "description": _text(option.description),
        }

    def _iteration(self, field: ProjectField, iteration_id: str) -> Json | None:
        found = field.iteration(iteration_id)
        if found is None:
            return None
        today = datetime.fromtimestamp(self.world.clock.now(), UTC).date()
        return {
            "id": found.id,
            "title": _text(found.title),
            "start_date": found.start.isoformat(),
            "duration": found.duration,
            "completed": found.completed(today),
        }

    def item(self, item: ProjectItem, fields: Sequence[ProjectField]) -> Json:
        """An item with the fields that were asked for."""
        content = item.content
        if content is None:
            about: Json = {
                "id": item.id,
                "node_id": item.content_node_id,
                "title": item.title,
                "body": item.body,
                "user": self.account(item.creator),
                "created_at": item.created_at,
                "updated_at": item.updated_at,
            }
        else:
            about = self.pull(content) if isinstance(content, PullRequest) else self.issue(content)
        return {
            "id": item.id,
            "node_id": item.node_id,
            "project_url": self._url(item.project),
            "content": about,
            "content_type": item.content_type,
            "creator": self.account(item.creator),
            "created_at": item.created_at,
            "updated_at": item.updated_at,
            "archived_at": item.archived_at,
            "item_url": f"{self._url(item.project)}/items/{item.id}",
            "fields": [
                {"id": f.id, "name": f.name, "data_type": f.type.lower(), "value": self._value(item, f)} for f in fields
            ],
        }

    def _value(self, item: ProjectItem, field: ProjectField) -> Any:
        content, kept = item.content, item.values.get(field.id)
        if field.type == "TITLE":
            return self._title(item)
        if content is not None and field.type == "ASSIGNEES":
            return [self.account(a) for a in content.assignees]
        if content is not None and field.type == "LABELS":
            return [self.label(x, content.repo) for x in content.labels]
        if content is not None and field.type == "MILESTONE":
            return self.milestone_or_none(content.milestone, content.repo)
        if content is not None and field.type == "REPOSITORY":
            return self.repository(content.repo)
        if kept is None:
            return None
        if field.type == "SINGLE_SELECT":
            return self._option(field, str(kept.value))
        if field.type == "ITERATION":
            return self._iteration(field, str(kept.value))
        if field.type == "TEXT":
            return _text(str(kept.value))
        if field.type == "DATE":
            return f"{kept.value}T00:00:00+00:00"
        return kept.value

    def _title(self, item: ProjectItem) -> Json:
        content = item.content
        if content is None:
            return _text(item.title)
        kind = "pull" if content.is_pull else "issues"
        return _text(content.title) | {
            "number": content.number,
            "url": f"{self.html}/{content.repo.full_name}/{kind}/{content.number}",
            "issue_id": content.id,
            "state": content.state,
            "state_reason": content.state_reason,
            "is_draft": isinstance(content, PullRequest) and content.draft,
        }

    def item_event(self, item: ProjectItem) -> Json:
        """An item in a webhook, which names its content and no value."""
        return {
            "id": item.id,
            "node_id": item.node_id,
            "project_node_id": item.project.node_id,
            "content_node_id": item.content_node_id,
            "content_type": item.content_type,
            "creator": self.account(item.creator),
            "created_at": item.created_at,
            "updated_at": item.updated_at,
            "archived_at": item.archived_at,
        }
