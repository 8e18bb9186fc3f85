"""Labels of repositories and of Issues."""

from __future__ import annotations

from app.emulator.acts import labels as acts
from app.emulator.errors import ApiError, invalid, not_found
from app.emulator.rest.table import find_issue, names, open_repo, render, routes
from app.emulator.routing import Body, Request, Response, paginated
from app.emulator.state import Issue, Label, Repository


@routes.add("GET", "/repos/{owner}/{repo}/labels")
def labels(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "read", "issues", "pull_requests")
    return paginated(request, list(found.labels.values()), lambda x: render(request).label(x, found))


@routes.add("POST", "/repos/{owner}/{repo}/labels")
def create_label(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "write", "issues", "pull_requests")
    body = request.body
    if not body.data.get("name"):
        raise invalid("Label", "name", "missing_field")
    label = acts.create_label(
        request.world,
        found,
        request.identity.actor,
        body.need("name", str),
        body.maybe("color", str),
        body.maybe("description", str),
    )
    return Response.json(render(request).label(label, found), 201)


def _label(repo: Repository, name: str) -> Label:
    label = repo.labels.get(name.lower())
    if label is None:
        raise not_found()
    return label


@routes.add("GET", "/repos/{owner}/{repo}/labels/{name}")
def label(request: Request, owner: str, repo: str, name: str) -> Response:
    found = open_repo(request, owner, repo, "read", "issues", "pull_requests")
    return Response.json(render(request).label(_label(found, name), found))


@routes.add("PATCH", "/repos/{owner}/{repo}/labels/{name}")
def change_label(request: Request, owner: str, repo: str, name: str) -> Response:
    found = open_repo(request, owner, repo, "write", "issues", "pull_requests")
    target, body = _label(found, name), request.body
    acts.edit_label(
        request.world,
        found,
        target,
        request.identity.actor,
        name=body.maybe("new_name", str),
        color=body.maybe("color", str),
        description=body.maybe("description", str),
    )
    return Response.json(render(request).label(target, found))


@routes.add("DELETE", "/repos/{owner}/{repo}/labels/{name}")
def delete_label(request: Request, owner: str, repo: str, name: str) -> Response:
    found = open_repo(request, owner, repo, "write", "issues", "pull_requests")
    acts.delete_label(request.world, found, _label(found, name), request.identity.actor)
    return Response(204)


# On Issues


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


@routes.add("DELETE", "/repos/{owner}/{repo}/issues/{number:int}/labels")
def remove_all_labels(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read")
    target = find_issue(request, found, number, "write")
    acts.set_labels(request.world, target, [], request.identity.actor)
    return Response(204)


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
