"""The control path of projects: making one, renaming and removing its fields, changing a field's choices.

GitHub offers these to people; here they arrange what a client then finds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.emulator.acts import project_fields, projects
from app.emulator.control import router
from app.emulator.errors import ApiError
from app.emulator.identity_controls import account_of
from app.emulator.render_projects import ProjectRender
from app.emulator.routing import Request
from app.emulator.state import Actor
from app.emulator.state_projects import WRITABLE, Project, ProjectField
from app.emulator.world import World

if TYPE_CHECKING:
    from app.emulator.server import Server


@router.add("POST", "/projects")
def add_project(server: Server, request: Request) -> Any:
    """A project; ``fields`` lists name, type and options or iterations, Status included to change its options."""
    world, body = server.world, request.body
    owner = account_of(world, body.need("owner", str))
    creator = account_of(world, body.get("creator", str, owner.login))
    title, public = body.get("title", str, "Project"), body.get("public", bool, False)
    project = projects.create_project(world, owner, title, Actor(creator), public=public)
    for given in body.get("fields", list, []):
        _add(world, project, dict(given))
    return _shown(world, project)


def _add(world: World, project: Project, given: dict[str, Any]) -> ProjectField:
    kind = str(given["type"]).upper()
    if kind not in WRITABLE:
        raise ApiError(422, f"Fields of type {kind} cannot be made")
    present = next((f for f in project.fields if f.name == given["name"]), None)
    if present is not None and present.type == kind == "SINGLE_SELECT":
        project_fields.replace_options(world, present, _named(given.get("options")))
        return present
    return project_fields.add_field(
        world,
        project,
        str(given["name"]),
        kind,
        options=_named(given.get("options")),
        iterations=given.get("iterations") or (),
        duration=int(given.get("duration") or 14),
    )


def _named(options: Any) -> list[dict[str, Any]]:
    return [{"name": o} if isinstance(o, str) else dict(o) for o in options or ()]


def _shown(world: World, project: Project) -> dict[str, Any]:
    """The project with its fields as REST shows them, options by plain name."""
    render = ProjectRender(world)
    fields = [render.field(f) for f in project.fields]
    for shown in fields:
        for option in shown.get("options", []):
            option["name"] = option["name"]["raw"]
    return render.project(project) | {"fields": fields}


def _field(server: Server, project_id: str, name: str) -> ProjectField:
    project = server.world.projects.get(int(project_id))
    field = next((f for f in project.fields if f.name == name), None) if project is not None else None
    if field is None:
        raise ApiError(404, f"There is no field {name}")
    return field


@router.add("GET", "/projects/{project_id:int}")
def project(server: Server, request: Request, project_id: str) -> Any:
    found = server.world.projects.get(int(project_id))
    if found is None:
        raise ApiError(404, "There is no such project")
    return _shown(server.world, found)


@router.add("POST", "/projects/{project_id:int}/fields")
def add_field(server: Server, request: Request, project_id: str) -> Any:
    found = server.world.projects.get(int(project_id))
    if found is None:
        raise ApiError(404, "There is no such project")
    _add(server.world, found, request.body.data)
    return _shown(server.world, found)


@router.add("PATCH", "/projects/{project_id:int}/fields/{name}")
def change_field(server: Server, request: Request, project_id: str, name: str) -> Any:
    """Rename a field, or give it other options: their ids are new and items lose what they had."""
    field, body = _field(server, project_id, name), request.body
    field.name = body.get("name", str, field.name)
    if "options" in body:
        project_fields.replace_options(server.world, field, _named(body.need("options", list)))
    return _shown(server.world, field.project)


@router.add("DELETE", "/projects/{project_id:int}/fields/{name}")
def remove_field(server: Server, request: Request, project_id: str, name: str) -> Any:
    field = _field(server, project_id, name)
    project_fields.remove_field(field)
    return _shown(server.world, field.project)


@router.add("PATCH", "/projects/{project_id:int}")
def change_project(server: Server, request: Request, project_id: str) -> Any:
    """Close, open, publish or rename a project."""
    found, body = server.world.projects.get(int(project_id)), request.body
    if found is None:
        raise ApiError(404, "There is no such project")
    projects.change_project(
        server.world,
        found,
        Actor(found.owner),
        title=body.maybe("title", str),
        public=body.maybe("public", bool),
        closed=body.maybe("closed", bool),
    )
    return _shown(server.world, found)
