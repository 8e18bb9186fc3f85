"""Dependencies between Issues. Blockers are named by database id, not by number."""

from __future__ import annotations

from app.emulator.acts import dependencies as acts
from app.emulator.errors import not_found
from app.emulator.hidden import seen_issues
from app.emulator.rest.table import find_issue, find_issue_by_id, open_repo, render, routes
from app.emulator.routing import Request, Response, paginated
from app.emulator.state import Issue

_ISSUE = "/repos/{owner}/{repo}/issues/{number:int}/dependencies"


def _plain(request: Request, owner: str, repo: str, number: str, level: str = "read") -> Issue:
    found = open_repo(request, owner, repo, "read")
    issue = find_issue(request, found, number, level)
    if issue.is_pull:
        raise not_found()
    return issue


def _by_id(request: Request, issue_id: int) -> Issue:
    issue = find_issue_by_id(request, issue_id)
    if issue is None:
        raise not_found()
    return issue


def _listed(request: Request, issues: list[Issue]) -> Response:
    seen = seen_issues(request.identity, issues)
    return paginated(request, seen, render(request).issue_with_repository)


@routes.add("GET", _ISSUE + "/blocked_by")
def blocked_by(request: Request, owner: str, repo: str, number: str) -> Response:
    return _listed(request, _plain(request, owner, repo, number).blocked_by)


@routes.add("GET", _ISSUE + "/blocking")
def blocking(request: Request, owner: str, repo: str, number: str) -> Response:
    return _listed(request, _plain(request, owner, repo, number).blocking)


@routes.add("POST", _ISSUE + "/blocked_by")
def add_blocked_by(request: Request, owner: str, repo: str, number: str) -> Response:
    issue = _plain(request, owner, repo, number, "write")
    blocker = _by_id(request, request.body.need("issue_id", int))
    acts.add_blocked_by(request.world, issue, blocker, request.identity.actor)
    return Response.json(render(request).issue_with_repository(issue), 201)


@routes.add("DELETE", _ISSUE + "/blocked_by/{issue_id:int}")
def remove_blocked_by(request: Request, owner: str, repo: str, number: str, issue_id: str) -> Response:
    issue = _plain(request, owner, repo, number, "write")
    acts.remove_blocked_by(request.world, issue, _by_id(request, int(issue_id)), request.identity.actor)
    return Response.json(render(request).issue_with_repository(issue))
