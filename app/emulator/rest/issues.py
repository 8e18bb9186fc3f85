"""Issues, their labels, assignees and timelines."""

from __future__ import annotations

from app.emulator.acts import issues as acts
from app.emulator.acts import pulls as pull_acts
from app.emulator.auth import require
from app.emulator.errors import ApiError, invalid
from app.emulator.rest.table import find_issue, names, open_repo, render, routes
from app.emulator.routing import Body, Request, Response, paginated
from app.emulator.state import Issue, PullRequest, Repository

_REASONS = ("completed", "not_planned", "reopened", "duplicate")


@routes.add("GET", "/repos/{owner}/{repo}/issues")
def issues(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "read", "issues", "pull_requests")
    query = request.query
    state = query.get("state", "open")
    listed = [i for i in found.issues.values() if state == "all" or i.state == state]
    if query.get("labels"):
        wanted = {x.strip().lower() for x in query["labels"].split(",")}
        listed = [i for i in listed if wanted <= {x.name.lower() for x in i.labels}]
    if query.get("assignee") == "none":
        listed = [i for i in listed if not i.assignees]
    elif query.get("assignee") not in (None, "", "*"):
        listed = [i for i in listed if any(a.login.lower() == query["assignee"].lower() for a in i.assignees)]
    if query.get("creator"):
        listed = [i for i in listed if i.author.login.lower() == query["creator"].lower()]
    if query.get("since"):
        listed = [i for i in listed if i.updated_at >= query["since"]]
    by_update = query.get("sort") == "updated"
    listed.sort(key=lambda i: (i.updated_at if by_update else "", i.number), reverse=query.get("direction") != "asc")
    return paginated(request, listed, render(request).issue)


@routes.add("POST", "/repos/{owner}/{repo}/issues")
def create_issue(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "read", "metadata")
    if request.identity.installation is not None:
        require(request.identity, found, "write", "issues")
    body = request.body
    title = str(body.data.get("title") or "")
    labels, people = names(body.get("labels", list, [])), names(body.get("assignees", list, []))
    if not request.identity.allows(found, "issues", "write"):
        labels, people = [], []
    issue = acts.open_issue(
        request.world, found, request.identity.actor, title, body.maybe("body", str), labels, people
    )
    return Response.json(render(request).issue(issue), 201)


@routes.add("GET", "/repos/{owner}/{repo}/issues/{number:int}")
def issue(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    return Response.json(render(request).issue(find_issue(request, found, number)))


@routes.add("PATCH", "/repos/{owner}/{repo}/issues/{number:int}")
def change_issue(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    target = find_issue(request, found, number)
    body = request.body
    if request.identity.user is None or target.author is not request.identity.user:
        find_issue(request, found, number, "write")
    state, reason = body.maybe("state", str), body.maybe("state_reason", str)
    if state not in (None, "open", "closed"):
        raise invalid("Issue", "state")
    if reason is not None and reason not in _REASONS:
        raise invalid("Issue", "state_reason")
    actor, world = request.identity.actor, request.world
    text = (body.data.get("body") or "") if "body" in body else None
    acts.edit_text(world, target, actor, body.maybe("title", str), text)
    _change_state(request, target, state, reason)
    if "labels" in body:
        acts.set_labels(world, target, names(body.get("labels", list, [])), actor)
    if "assignees" in body:
        acts.set_assignees(world, target, names(body.get("assignees", list, [])), actor, only_add=False)
    return Response.json(render(request).issue(target))


def _change_state(request: Request, target: Issue, state: str | None, reason: str | None) -> None:
    world, actor = request.world, request.identity.actor
    if isinstance(target, PullRequest):
        if state == "closed":
            pull_acts.close_pull(world, target, actor)
        elif state == "open":
            pull_acts.reopen_pull(world, target, actor)
    elif state == "closed":
        acts.close_issue(world, target, actor, reason)
    elif state == "open":
        acts.reopen_issue(world, target, actor)


@routes.add("GET", "/repos/{owner}/{repo}/issues/{number:int}/labels")
def issue_labels(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    target = find_issue(request, found, number)
    return paginated(request, target.labels, lambda x: render(request).label(x, found))


def _label_names(request: Request) -> list[str]:
    if request.raw.lstrip().startswith(b"["):
        return names(Body(b'{"labels":' + request.raw + b"}").get("labels", list, []))
    return names(request.body.get("labels", list, []))


@routes.add("POST", "/repos/{owner}/{repo}/issues/{number:int}/labels")
def add_labels(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    target = find_issue(request, found, number, "write")
    acts.add_labels(request.world, target, _label_names(request), request.identity.actor)
    return _labels(request, found, target)


@routes.add("PUT", "/repos/{owner}/{repo}/issues/{number:int}/labels")
def set_labels(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    target = find_issue(request, found, number, "write")
    acts.set_labels(request.world, target, _label_names(request), request.identity.actor)
    return _labels(request, found, target)


@routes.add("DELETE", "/repos/{owner}/{repo}/issues/{number:int}/labels/{name}")
def remove_label(request: Request, owner: str, repo: str, number: str, name: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    target = find_issue(request, found, number, "write")
    for label in target.labels:
        if label.name.lower() == name.lower():
            acts.remove_label(request.world, target, label, request.identity.actor)
            return _labels(request, found, target)
    raise ApiError(404, "Label does not exist")


def _labels(request: Request, repo: Repository, target: Issue) -> Response:
    return Response.json([render(request).label(x, repo) for x in target.labels])


@routes.add("POST", "/repos/{owner}/{repo}/issues/{number:int}/assignees")
def add_assignees(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    target = find_issue(request, found, number, "write")
    people = names(request.body.get("assignees", list, []))
    acts.set_assignees(request.world, target, people, request.identity.actor)
    return Response.json(render(request).issue(target), 201)


@routes.add("DELETE", "/repos/{owner}/{repo}/issues/{number:int}/assignees")
def remove_assignees(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    target = find_issue(request, found, number, "write")
    people = [request.world.account(x) for x in names(request.body.get("assignees", list, []))]
    acts.unassign(request.world, target, [p for p in people if p is not None], request.identity.actor)
    return Response.json(render(request).issue(target))


@routes.add("GET", "/repos/{owner}/{repo}/issues/{number:int}/timeline")
def timeline(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    target = find_issue(request, found, number)
    shown = render(request)
    return paginated(request, target.timeline, lambda e: shown.timeline_event(e, target))


@routes.add("GET", "/repos/{owner}/{repo}/issues/{number:int}/events")
def issue_events(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    target = find_issue(request, found, number)
    shown = render(request)
    listed = [e for e in target.timeline if e.event not in ("commented", "cross-referenced", "committed")]
    return paginated(request, listed, lambda e: shown.timeline_event(e, target))
