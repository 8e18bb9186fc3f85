"""Stacks of pull requests, which GitHub knows by REST; GraphQL only shows them."""

from __future__ import annotations

from typing import Any

from app.emulator.acts import stacks as acts
from app.emulator.errors import not_found
from app.emulator.rest.table import open_repo, render, routes
from app.emulator.routing import Request, Response, paginated
from app.emulator.stack_state import Stack
from app.emulator.state import Repository


def _find(repo: Repository, number: str) -> Stack:
    found = repo.stacks.get(int(number))
    if found is None:
        raise not_found()
    return found


def _numbers(request: Request) -> list[int]:
    given: list[Any] = request.body.need("pull_requests", list)
    return [number for number in given if isinstance(number, int)]


@routes.add("GET", "/repos/{owner}/{repo}/stacks")
def stacks(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "read", "pull_requests")
    wanted = request.query.get("pull_request")
    listed = [s for s in found.stacks.values() if wanted is None or any(str(p.number) == wanted for p in s.pulls)]
    return paginated(request, listed, render(request).stack_in_list)


@routes.add("POST", "/repos/{owner}/{repo}/stacks")
def create_stack(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "write", "pull_requests")
    made = acts.create_stack(request.world, found, _numbers(request), request.identity.actor)
    return Response.json(render(request).stack(made), 201)


@routes.add("GET", "/repos/{owner}/{repo}/stacks/{number:int}")
def stack(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read", "pull_requests")
    return Response.json(render(request).stack(_find(found, number)))


@routes.add("POST", "/repos/{owner}/{repo}/stacks/{number:int}/add")
def add_to_stack(request: Request, owner: str, repo: str, number: str) -> Response:
    target = _find(open_repo(request, owner, repo, "write", "pull_requests"), number)
    acts.add_to_stack(request.world, target, _numbers(request), request.identity.actor)
    return Response.json(render(request).stack(target))


@routes.add("POST", "/repos/{owner}/{repo}/stacks/{number:int}/unstack")
def unstack(request: Request, owner: str, repo: str, number: str) -> Response:
    target = _find(open_repo(request, owner, repo, "write", "pull_requests"), number)
    left = acts.unstack(request.world, target)
    return Response(204) if left is None else Response.json(render(request).stack(left))
