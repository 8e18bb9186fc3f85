"""Refs by REST: create if absent, fast-forward, delete; there is no expected old value here."""

from __future__ import annotations

from pygit2 import reference_is_valid_name

from app.emulator.acts.refs import RefRefusal, RuleRefusal, move
from app.emulator.errors import ApiError, not_found, unreadable
from app.emulator.repos import ZERO, RefChange
from app.emulator.rest.git_data import check_not_empty
from app.emulator.rest.table import open_repo, render, routes
from app.emulator.routing import Body, Request, Response, paginated
from app.emulator.state import Repository


@routes.add("GET", "/repos/{owner}/{repo}/git/matching-refs/{prefix*}")
def matching_refs(request: Request, owner: str, repo: str, prefix: str) -> Response:
    found = open_repo(request, owner, repo, "read", "contents")
    check_not_empty(found)
    refs = found.git.refs(f"refs/{prefix}")
    return paginated(request, refs, lambda r: render(request).ref(found, *r))


@routes.add("GET", "/repos/{owner}/{repo}/git/ref/{ref*}")
def get_ref(request: Request, owner: str, repo: str, ref: str) -> Response:
    found = open_repo(request, owner, repo, "read", "contents")
    check_not_empty(found)
    oid = found.git.ref(f"refs/{ref}")
    if oid is None:
        raise not_found()
    return Response.json(render(request).ref(found, f"refs/{ref}", oid))


@routes.add("POST", "/repos/{owner}/{repo}/git/refs")
def create_ref(request: Request, owner: str, repo: str) -> Response:
    found = open_repo(request, owner, repo, "write", "contents")
    body = request.body
    body.need_all("ref", "sha")
    name, sha = body.need("ref", str), _whole_sha(body)
    check_not_empty(found)
    _check_name(name)
    if found.git.kind(sha) is None:
        raise ApiError(422, "Object does not exist")
    if found.git.ref(name) is not None:
        raise ApiError(422, "Reference already exists")
    _move(request, found, RefChange(name, ZERO, sha), force=False)
    return Response.json(render(request).ref(found, name, sha), 201)


@routes.add("PATCH", "/repos/{owner}/{repo}/git/refs/{ref*}")
def update_ref(request: Request, owner: str, repo: str, ref: str) -> Response:
    found = open_repo(request, owner, repo, "write", "contents")
    body = request.body
    name, sha, force = f"refs/{ref}", _whole_sha(body), body.get("force", bool, False)
    check_not_empty(found)
    old = found.git.ref(name)
    if old is None:
        raise ApiError(422, "Reference does not exist")
    if found.git.kind(sha) is None:
        # github/rest-api-description#714: "a 500, and no payload whatsoever".
        return Response(500)
    if name.startswith("refs/heads/") and found.git.kind(sha) != "commit":
        raise ApiError(422, "Object is not a commit")
    if not force and not found.git.goes_on(old, sha):
        raise ApiError(422, "Update is not a fast forward")
    _move(request, found, RefChange(name, old, sha), force=force)
    return Response.json(render(request).ref(found, name, sha))


@routes.add("DELETE", "/repos/{owner}/{repo}/git/refs/{ref*}")
def delete_ref(request: Request, owner: str, repo: str, ref: str) -> Response:
    found = open_repo(request, owner, repo, "write", "contents")
    check_not_empty(found)
    old = found.git.ref(f"refs/{ref}")
    if old is None:
        raise ApiError(422, "Reference does not exist")
    if ref == f"heads/{found.default_branch}":
        raise ApiError(422, "Cannot delete the default branch")
    _move(request, found, RefChange(f"refs/{ref}", old, ZERO), force=True)
    return Response(204)


def _move(request: Request, repo: Repository, change: RefChange, *, force: bool) -> None:
    try:
        move(request.world, repo, [change], request.identity.actor, force=[force])
    except RuleRefusal as refusal:
        raise ApiError(422, refusal.violations.message) from refusal
    except RefRefusal as refusal:
        raise ApiError(422, "Reference update failed") from refusal


def _check_name(name: str) -> None:
    """Refuse what can be no ref's name (octokit/octokit.rb#675). Raises 422."""
    if not name.startswith("refs/"):
        raise ApiError(422, "Reference name must start with 'refs/'.")
    if name.count("/") < 2:
        raise ApiError(422, "Reference name must contain at least three slash-separated components.")
    if not reference_is_valid_name(name):
        raise ApiError(422, f"{name} is not a valid ref name.")


def _whole_sha(body: Body) -> str:
    """The object's name, which may not be shortened (Kb2uka/openhpsdr-zeus#443). Raises 422."""
    sha = body.need("sha", str)
    if len(sha) < 40:
        raise unreadable(f"At least 40 characters are required; only {len(sha)} were supplied.")
    return sha
