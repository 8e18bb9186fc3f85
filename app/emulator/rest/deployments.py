"""Deployments and their statuses by REST."""

from __future__ import annotations

from app.emulator.acts import deployments as acts
from app.emulator.errors import not_found
from app.emulator.rest.table import open_repo, render, routes
from app.emulator.routing import Request, Response, paginated
from app.emulator.shipping_state import Deployment
from app.emulator.state import Repository

_FILTERS = ("sha", "ref", "task", "environment")


@routes.add("GET", "/repos/{owner}/{repo}/deployments")
def list_deployments(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "read", "deployments")
    asked = {name: value for name in _FILTERS if (value := request.query.get(name, "none")) != "none"}
    listed = [d for d in reversed(found.deployments) if all(getattr(d, name) == v for name, v in asked.items())]
    return paginated(request, listed, render(request).deployment)


@routes.add("POST", "/repos/{owner}/{repo}/deployments")
def create_deployment(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "write", "deployments")
    made = acts.create_deployment(request.world, found, request.identity.actor, request.body)
    if isinstance(made, str):
        return Response.json({"message": made}, 202)
    return Response.json(render(request).deployment(made), 201)


@routes.add("GET", "/repos/{owner}/{repo}/deployments/{number:int}")
def get_deployment(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read", "deployments")
    return Response.json(render(request).deployment(_deployment(found, number)))


@routes.add("DELETE", "/repos/{owner}/{repo}/deployments/{number:int}")
def delete_deployment(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "write", "deployments")
    acts.delete_deployment(_deployment(found, number))
    return Response(204)


@routes.add("GET", "/repos/{owner}/{repo}/deployments/{number:int}/statuses")
def list_statuses(request: Request, owner: str, repo: str, number: str) -> Response:
    deployment = _deployment(open_repo(request, owner, repo, "read", "deployments"), number)
    shown = render(request)
    return paginated(request, list(reversed(deployment.statuses)), lambda s: shown.deployment_status(deployment, s))


@routes.add("POST", "/repos/{owner}/{repo}/deployments/{number:int}/statuses")
def create_status(request: Request, owner: str, repo: str, number: str) -> Response:
    deployment = _deployment(open_repo(request, owner, repo, "write", "deployments"), number)
    status = acts.add_status(request.world, deployment, request.identity.actor, request.body)
    return Response.json(render(request).deployment_status(deployment, status), 201)


@routes.add("GET", "/repos/{owner}/{repo}/deployments/{number:int}/statuses/{status:int}")
def get_status(request: Request, owner: str, repo: str, number: str, status: str) -> Response:
    deployment = _deployment(open_repo(request, owner, repo, "read", "deployments"), number)
    said = next((s for s in deployment.statuses if s.id == int(status)), None)
    if said is None:
        raise not_found()
    return Response.json(render(request).deployment_status(deployment, said))


def _deployment(repo: Repository, number: str) -> Deployment:
    deployment = next((d for d in repo.deployments if d.id == int(number)), None)
    if deployment is None:
        raise not_found()
    return deployment
