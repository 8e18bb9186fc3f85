"""Configuration variables of a repository by REST."""

from __future__ import annotations

from app.emulator.actions_state import Variable
from app.emulator.acts.action_values import variables_of, write_variable
from app.emulator.errors import ApiError, not_found
from app.emulator.rest.table import open_repo, render, routes
from app.emulator.routing import Request, Response, paginated
from app.emulator.state import Repository

_BASE = "/repos/{owner}/{repo}/actions/variables"


def _find(request: Request, repo: Repository, name: str) -> Variable:
    found = request.world.actions.variables.get(repo.id, {}).get(name.upper())
    if found is None:
        raise not_found()
    return found


@routes.add("GET", _BASE)
def variables(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "read", "actions_variables")
    return paginated(request, variables_of(request.world, found), render(request).variable, key="variables")


@routes.add("POST", _BASE)
def create_variable(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "write", "actions_variables")
    name = request.body.need("name", str)
    if name.upper() in request.world.actions.variables.get(found.id, {}):
        raise ApiError(409, "Already exists - Variable already exists")
    write_variable(request.world, found, name, request.body.need("value", str))
    return Response.json({}, 201)


@routes.add("GET", f"{_BASE}/{{name}}")
def variable(request: Request, owner: str, repo: str, name: str) -> Response:
    found = open_repo(request, owner, repo, "read", "actions_variables")
    return Response.json(render(request).variable(_find(request, found, name)))


@routes.add("PATCH", f"{_BASE}/{{name}}")
def change_variable(request: Request, owner: str, repo: str, name: str) -> Response:
    found = open_repo(request, owner, repo, "write", "actions_variables")
    target = _find(request, found, name)
    changed = write_variable(
        request.world,
        found,
        request.body.get("name", str, target.name),
        request.body.get("value", str, target.value),
    )
    if changed.name != target.name:
        del request.world.actions.variables[found.id][target.name]
    return Response(204)


@routes.add("DELETE", f"{_BASE}/{{name}}")
def delete_variable(request: Request, owner: str, repo: str, name: str) -> Response:
    found = open_repo(request, owner, repo, "write", "actions_variables")
    target = _find(request, found, name)
    del request.world.actions.variables[found.id][target.name]
    return Response(204)
