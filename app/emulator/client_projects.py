"""Control calls about projects, for :class:`app.emulator.client.Emulator`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from app.emulator.client_identities import Calls

Json = dict[str, Any]


class ProjectCalls:
    """Projects with their fields; the answers name fields and options with their ids."""

    def project(
        self: Calls,
        owner: str,
        title: str = "Project",
        *,
        fields: Sequence[Mapping[str, Any]] = (),
        public: bool = False,
        creator: str | None = None,
    ) -> Json:
        """A project with more fields than every project has: ``name``, ``type``, ``options`` or ``iterations``."""
        given = [dict(f) for f in fields]
        return self._post("/projects", owner=owner, title=title, fields=given, public=public, creator=creator)

    def project_field(self: Calls, project: int, name: str, type: str, **more: Any) -> Json:
        """One more field."""
        return self._post(f"/projects/{project}/fields", name=name, type=type, **more)

    def change_project_field(self: Calls, project: int, field: str, /, **changes: Any) -> Json:
        """Rename a field (``name``) or give it other ``options``, whose ids are new."""
        return self._object("PATCH", f"/projects/{project}/fields/{quote(field)}", changes)

    def remove_project_field(self: Calls, project: int, name: str) -> Json:
        """Remove a field and everything items had in it."""
        return self._object("DELETE", f"/projects/{project}/fields/{quote(name)}")

    def change_project(self: Calls, project: int, **changes: Any) -> Json:
        """Change title, public, closed."""
        return self._object("PATCH", f"/projects/{project}", changes)
