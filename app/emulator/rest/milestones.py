"""Milestones."""

from __future__ import annotations

from app.emulator.acts import milestones as acts
from app.emulator.errors import invalid, not_found
from app.emulator.rest.table import open_repo, render, routes
from app.emulator.routing import Request, Response, paginated
from app.emulator.state import Milestone, Repository


@routes.add("GET", "/repos/{owner}/{repo}/milestones")
def milestones(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "read", "issues", "pull_requests")
    state = request.query.get("state", "open")
    listed = [m for m in found.milestones.values() if state in (m.state, "all")]
    return paginated(request, listed, lambda m: render(request).milestone(m, found))


@routes.add("POST", "/repos/{owner}/{repo}/milestones")
def create_milestone(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "write", "issues", "pull_requests")
    body = request.body
    if not body.data.get("title"):
        raise invalid("Milestone", "title", "missing_field")
    made = acts.create_milestone(
        request.world,
        found,
        request.identity.actor,
        body.need("title", str),
        body.maybe("description", str),
        body.maybe("due_on", str),
    )
    return Response.json(render(request).milestone(made, found), 201)


def _milestone(repo: Repository, number: str) -> Milestone:
    milestone = repo.milestones.get(int(number))
    if milestone is None:
        raise not_found()
    return milestone


@routes.add("GET", "/repos/{owner}/{repo}/milestones/{number:int}")
def milestone(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read", "issues", "pull_requests")
    return Response.json(render(request).milestone(_milestone(found, number), found))


@routes.add("PATCH", "/repos/{owner}/{repo}/milestones/{number:int}")
def change_milestone(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "write", "issues", "pull_requests")
    target, body = _milestone(found, number), request.body
    given = {k: body.maybe(k, str) for k in ("title", "description", "due_on", "state") if k in body}
    if given.get("title", "") is None:
        del given["title"]
    acts.edit_milestone(request.world, found, target, request.identity.actor, given)
    return Response.json(render(request).milestone(target, found))


@routes.add("DELETE", "/repos/{owner}/{repo}/milestones/{number:int}")
def delete_milestone(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "write", "issues", "pull_requests")
    acts.delete_milestone(request.world, found, _milestone(found, number), request.identity.actor)
    return Response(204)
