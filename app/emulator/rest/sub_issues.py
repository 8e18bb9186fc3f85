"""Sub-issues. They are named by database id, not by number."""

from __future__ import annotations

from app.emulator.acts import sub_issues as acts
from app.emulator.errors import ApiError, not_found
from app.emulator.hidden import seen_issues
from app.emulator.rest.table import find_issue, find_issue_by_id, open_repo, render, routes
from app.emulator.routing import Request, Response, paginated
from app.emulator.state import Issue

_ISSUE = "/repos/{owner}/{repo}/issues/{number:int}"


def _plain(request: Request, owner: str, repo: str, number: str, level: str = "read") -> Issue:
    found = open_repo(request, owner, repo, "read")
    issue = find_issue(request, found, number, level)
    if issue.is_pull:
        raise not_found()
    return issue


def _child(request: Request, member: str = "sub_issue_id") -> Issue:
    child = find_issue_by_id(request, request.body.need(member, int))
    if child is None or child.is_pull:
        raise ApiError(404, "The provided sub-issue does not exist")
    return child


@routes.add("GET", _ISSUE + "/sub_issues")
def sub_issues(request: Request, owner: str, repo: str, number: str) -> Response:
    parent = _plain(request, owner, repo, number)
    seen = seen_issues(request.identity, parent.sub_issues)
    return paginated(request, seen, render(request).issue_with_repository)


@routes.add("POST", _ISSUE + "/sub_issues")
def add_sub_issue(request: Request, owner: str, repo: str, number: str) -> Response:
    parent = _plain(request, owner, repo, number, "write")
    child, replace = _child(request), request.body.get("replace_parent", bool, False)
    acts.add_sub_issue(request.world, parent, child, request.identity.actor, replace_parent=replace)
    return Response.json(render(request).issue_with_repository(parent), 201)


@routes.add("DELETE", _ISSUE + "/sub_issue")
def remove_sub_issue(request: Request, owner: str, repo: str, number: str) -> Response:
    parent = _plain(request, owner, repo, number, "write")
    acts.remove_sub_issue(request.world, parent, _child(request), request.identity.actor)
    return Response.json(render(request).issue_with_repository(parent))


@routes.add("PATCH", _ISSUE + "/sub_issues/priority")
def reprioritize(request: Request, owner: str, repo: str, number: str) -> Response:
    parent = _plain(request, owner, repo, number, "write")
    after, before = (_child(request, k) if k in request.body else None for k in ("after_id", "before_id"))
    acts.reprioritize(parent, _child(request), after=after, before=before)
    return Response.json(render(request).issue_with_repository(parent))


@routes.add("GET", _ISSUE + "/parent")
def parent(request: Request, owner: str, repo: str, number: str) -> Response:
    above = _plain(request, owner, repo, number).parent
    if above is None or not request.identity.sees(above.repo):
        raise not_found()
    return Response.json(render(request).issue_with_repository(above))
