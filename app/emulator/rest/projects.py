"""Projects by REST. A person's projects are an empty list to an App, never a refusal."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from app.emulator.acts import project_values, projects
from app.emulator.auth import Identity
from app.emulator.errors import ApiError, forbidden_to_app, no_member, not_found, unreadable
from app.emulator.project_access import may_read, need_write, reaches, sees_content
from app.emulator.render_projects import ProjectRender
from app.emulator.rest.table import find_account, find_issue_by_id, routes
from app.emulator.routing import Request, Response
from app.emulator.state import Account, Issue
from app.emulator.state_projects import WRITABLE, Project, ProjectField, ProjectItem

_KINDS = {"orgs": "Organization", "users": "User"}


def _owner(request: Request, kind: str, login: str) -> Account:
    account = find_account(request, login)
    if account.type != _KINDS[kind]:
        raise not_found()
    if account.type == "Organization" and not reaches(request.identity, account, "read"):
        raise forbidden_to_app() if _is_app(request.identity) else not_found()
    return account


def _is_app(identity: Identity) -> bool:
    return identity.installation is not None


def _project(request: Request, kind: str, login: str, number: str, *, write: bool = False) -> Project:
    owner = _owner(request, kind, login)
    for project in request.world.projects.values():
        if project.owner is owner and project.number == int(number):
            if not may_read(request.world, request.identity, project):
                break
            if write:
                need_write(request.world, request.identity, project)
            return project
    raise not_found()


def _item(project: Project, item_id: str) -> ProjectItem:
    item = project.item_by_id(int(item_id))
    if item is None:
        raise not_found()
    return item


def _shown(request: Request) -> ProjectRender:
    return ProjectRender(request.world, request.base_url)


def _cursored(request: Request, items: list[Any], show: Callable[[Any], Any]) -> Response:
    """One page by ``before``, ``after`` and ``per_page``, with ``Link``: these lists know no page numbers."""
    size = request.query.get("per_page", "")
    count = min(int(size), 100) if size.isdigit() and int(size) > 0 else 30
    start, end = 0, len(items)
    if request.query.get("after"):
        start = _place(request.query["after"]) + 1
    if request.query.get("before"):
        end = _place(request.query["before"])
        start = max(start, end - count)
    end = min(end, start + count)
    query = {k: v for k, v in request.query.items() if k not in ("after", "before")}
    base = f"{request.world.url}{request.prefix}{request.path}"
    links = []
    if start > 0:
        links.append(f'<{base}?{urlencode(query | {"before": _cursor(start)})}>; rel="prev"')
    if end < len(items):
        links.append(f'<{base}?{urlencode(query | {"after": _cursor(end - 1)})}>; rel="next"')
    headers = {"link": ", ".join(links)} if links else {}
    return Response.json([show(item) for item in items[start:end]], headers=headers)


def _cursor(place: int) -> str:
    return base64.urlsafe_b64encode(f"p:{place}".encode()).decode()


def _place(cursor: str) -> int:
    try:
        return int(base64.urlsafe_b64decode(cursor.encode()).decode().removeprefix("p:"))
    except ValueError:
        raise ApiError(422, "The cursor is invalid") from None


def _fields(request: Request, project: Project) -> list[ProjectField]:
    """The fields to show values of: the title alone unless ``fields`` names others by id; unknown ids show nothing."""
    wanted = request.query.get("fields") or request.query.get("fields[]")
    if not wanted:
        return [f for f in project.fields if f.type == "TITLE"]
    found = [project.field_by_id(int(n)) if n.strip().isdigit() else None for n in wanted.split(",")]
    return [f for f in found if f is not None]


def _list(request: Request, kind: str, login: str) -> Response:
    owner = _owner(request, kind, login)
    owned = [p for p in request.world.projects.values() if p.owner is owner]
    seen = [p for p in owned if may_read(request.world, request.identity, p)]
    query = request.query.get("q", "").lower()
    return _cursored(request, [p for p in seen if query in p.title.lower()], _shown(request).project)


def _content(request: Request) -> Issue:
    body = request.body
    kind = body.need("type", str)
    if kind not in ("Issue", "PullRequest"):
        raise unreadable(no_member(kind, ("Issue", "PullRequest")))
    found: Issue | None = None
    if "id" in body:
        wanted = body.need("id", int)
        pulls = [p for r in request.world.repos.values() if request.identity.sees(r) for p in r.pulls()]
        found = find_issue_by_id(request, wanted) if kind == "Issue" else None
        found = found or next((p for p in pulls if kind == "PullRequest" and wanted in (p.pull_id, p.id)), None)
    else:
        repo = request.world.repo(body.need("owner", str), body.need("repo", str))
        if repo is not None and request.identity.sees(repo):
            found = repo.issues.get(body.need("number", int))
    if found is None or found.is_pull != (kind == "PullRequest"):
        raise not_found()
    return found


def _add(request: Request, kind: str, login: str, number: str) -> Response:
    project = _project(request, kind, login, number, write=True)
    item, new = projects.add_item(request.world, project, _content(request), request.identity.actor)
    if not new:
        raise ApiError(422, "Content already exists in this project")
    shown = _shown(request).item(item, [])
    del shown["fields"]
    return Response.json(shown, 201)


def _change(request: Request, kind: str, login: str, number: str, item_id: str) -> Response:
    project = _project(request, kind, login, number, write=True)
    item = _item(project, item_id)
    orders: list[tuple[ProjectField, Any]] = []
    for given in request.body.need("fields", list):
        field = (
            project.field_by_id(given["id"]) if isinstance(given, dict) and isinstance(given.get("id"), int) else None
        )
        if field is None:
            raise ApiError(
                422, "Validation Failed", [{"resource": "ProjectV2Item", "field": "fields", "code": "invalid"}]
            )
        orders.append((field, given.get("value")))
    for field, value in orders:
        if value is None:
            project_values.clear_value(request.world, item, field, request.identity.actor)
        else:
            member = WRITABLE.get(field.type, "text")
            project_values.set_value(request.world, item, field, {member: value}, request.identity.actor)
    return Response.json(_shown(request).item(item, project.fields))


def _register(kind: str, owner: str) -> None:
    base = f"/{kind}/{{{owner}}}/projectsV2"
    project, items = base + "/{number:int}", base + "/{number:int}/items"

    @routes.add("GET", base)
    def listed(request: Request, **path: str) -> Response:
        return _list(request, kind, path[owner])

    @routes.add("GET", project)
    def one(request: Request, number: str, **path: str) -> Response:
        return Response.json(_shown(request).project(_project(request, kind, path[owner], number)))

    @routes.add("GET", project + "/fields")
    def fields(request: Request, number: str, **path: str) -> Response:
        return _cursored(request, _project(request, kind, path[owner], number).fields, _shown(request).field)

    @routes.add("GET", project + "/fields/{field_id:int}")
    def field(request: Request, number: str, field_id: str, **path: str) -> Response:
        found = _project(request, kind, path[owner], number).field_by_id(int(field_id))
        if found is None:
            raise not_found()
        return Response.json(_shown(request).field(found))

    @routes.add("GET", items)
    def item_list(request: Request, number: str, **path: str) -> Response:
        found = _project(request, kind, path[owner], number)
        wanted, shown = _fields(request, found), _shown(request)
        seen = [i for i in found.items if i.archived_at is None and sees_content(request.identity, i)]
        return _cursored(request, seen, lambda i: shown.item(i, wanted))

    @routes.add("POST", items)
    def add(request: Request, number: str, **path: str) -> Response:
        return _add(request, kind, path[owner], number)

    @routes.add("GET", items + "/{item_id:int}")
    def item(request: Request, number: str, item_id: str, **path: str) -> Response:
        found = _project(request, kind, path[owner], number)
        target = _item(found, item_id)
        if not sees_content(request.identity, target):
            raise not_found()
        return Response.json(_shown(request).item(target, _fields(request, found)))

    @routes.add("PATCH", items + "/{item_id:int}")
    def change(request: Request, number: str, item_id: str, **path: str) -> Response:
        return _change(request, kind, path[owner], number, item_id)

    @routes.add("DELETE", items + "/{item_id:int}")
    def delete(request: Request, number: str, item_id: str, **path: str) -> Response:
        found = _project(request, kind, path[owner], number, write=True)
        projects.delete_item(request.world, _item(found, item_id), request.identity.actor)
        return Response(204)


_register("orgs", "org")
_register("users", "login")
