"""Who can be assigned, and who is."""

from __future__ import annotations

from app.emulator.acts import assignees as acts
from app.emulator.errors import not_found
from app.emulator.rest.table import find_issue, names, open_repo, render, routes
from app.emulator.routing import Request, Response, paginated
from app.emulator.state import Repository


@routes.add("GET", "/repos/{owner}/{repo}/assignees")
def assignees(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "read", "issues", "pull_requests")
    people = [a for a in request.world.accounts.values() if acts.assignable(found, a)]
    return paginated(request, people, render(request).account)


@routes.add("GET", "/repos/{owner}/{repo}/assignees/{login}")
def check_assignee(request: Request, owner: str, repo: str, login: str) -> Response:
    found = open_repo(request, owner, repo, "read", "issues", "pull_requests")
    return _checked(request, found, login)


@routes.add("GET", "/repos/{owner}/{repo}/issues/{number:int}/assignees/{login}")
def check_issue_assignee(request: Request, owner: str, repo: str, number: str, login: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    find_issue(request, found, number)
    return _checked(request, found, login)


def _checked(request: Request, repo: Repository, login: str) -> Response:
    account = request.world.account(login)
    if account is None or not acts.assignable(repo, account):
        raise not_found()
    return Response(204)


def _logins(people: list[object]) -> list[str]:
    """Logins, which may also come as objects with a login."""
    return names([p.get("login") if isinstance(p, dict) else p for p in people])


@routes.add("POST", "/repos/{owner}/{repo}/issues/{number:int}/assignees")
def add_assignees(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    target = find_issue(request, found, number, "write")
    people = _logins(request.body.get("assignees", list, []))
    acts.set_assignees(request.world, target, people, request.identity.actor)
    return Response.json(render(request).issue(target), 201)


@routes.add("DELETE", "/repos/{owner}/{repo}/issues/{number:int}/assignees")
def remove_assignees(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    target = find_issue(request, found, number, "write")
    people = [request.world.account(x) for x in _logins(request.body.need("assignees", list))]
    acts.unassign(request.world, target, [p for p in people if p is not None], request.identity.actor)
    return Response.json(render(request).issue(target))
