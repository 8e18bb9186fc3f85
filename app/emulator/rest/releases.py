"""Releases by REST. Drafts are shown to those alone who may push."""

from __future__ import annotations

from app.emulator.acts import releases as acts
from app.emulator.errors import not_found
from app.emulator.rest.table import open_repo, render, routes
from app.emulator.routing import Request, Response, paginated
from app.emulator.shipping_state import Release
from app.emulator.state import Repository


@routes.add("GET", "/repos/{owner}/{repo}/releases")
def list_releases(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "read", "contents")
    return paginated(request, _visible(request, found), render(request).release)


@routes.add("POST", "/repos/{owner}/{repo}/releases")
def create_release(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "write", "contents")
    release = acts.create_release(request.world, found, request.identity.actor, request.body)
    shown = render(request).release(release)
    return Response.json(shown, 201, {"location": shown["url"]})


@routes.add("GET", "/repos/{owner}/{repo}/releases/latest")
def latest_release(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "read", "contents")
    full = [r for r in found.releases if not r.draft and not r.prerelease]
    if not full:
        raise not_found()
    return Response.json(render(request).release(max(full, key=lambda r: (r.created_at, r.id))))


@routes.add("GET", "/repos/{owner}/{repo}/releases/tags/{tag*}")
def release_of_tag(request: Request, owner: str, repo: str, tag: str) -> Response:
    found = open_repo(request, owner, repo, "read", "contents")
    release = next((r for r in found.releases if r.tag == tag and not r.draft), None)
    if release is None:
        raise not_found()
    return Response.json(render(request).release(release))


@routes.add("GET", "/repos/{owner}/{repo}/releases/{number:int}")
def get_release(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "read", "contents")
    return Response.json(render(request).release(_release(request, found, number)))


@routes.add("PATCH", "/repos/{owner}/{repo}/releases/{number:int}")
def update_release(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "write", "contents")
    release = _release(request, found, number)
    acts.update_release(request.world, release, request.identity.actor, request.body)
    return Response.json(render(request).release(release))


@routes.add("DELETE", "/repos/{owner}/{repo}/releases/{number:int}")
def delete_release(request: Request, owner: str, repo: str, number: str) -> Response:
    found = open_repo(request, owner, repo, "write", "contents")
    acts.delete_release(request.world, _release(request, found, number), request.identity.actor)
    return Response(204)


def _visible(request: Request, repo: Repository) -> list[Release]:
    """The releases this identity may see, newest first."""
    pushes = request.identity.allows(repo, "contents", "write")
    return [r for r in reversed(repo.releases) if pushes or not r.draft]


def _release(request: Request, repo: Repository, number: str) -> Release:
    release = next((r for r in _visible(request, repo) if r.id == int(number)), None)
    if release is None:
        raise not_found()
    return release
