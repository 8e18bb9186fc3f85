"""Classic branch protection, whole and in parts; all of it needs administration."""

from __future__ import annotations

from app.emulator.acts import protection as acts
from app.emulator.errors import ApiError, not_found
from app.emulator.guard_state import Protection
from app.emulator.render_protection import RenderProtection
from app.emulator.rest.rulesets import guardable
from app.emulator.rest.table import open_repo, render, routes
from app.emulator.routing import Request, Response
from app.emulator.state import Repository

_BRANCH = "/repos/{owner}/{repo}/branches/{branch*}/protection"


def _open(request: Request, owner: str, repo: str, branch: str, level: str = "write") -> Repository:
    user = request.identity.user
    if user is not None and open_repo(request, owner, repo, "read").role_of(user) != "admin":
        raise not_found()  # who may not set protection is not told of it
    found = guardable(open_repo(request, owner, repo, level, "administration"))
    if found.git.branch(branch) is None:
        raise ApiError(404, "Branch not found")
    return found


def _need(request: Request, owner: str, repo: str, branch: str, level: str) -> tuple[Repository, Protection]:
    found = _open(request, owner, repo, branch, level)
    protection = found.guard.protections.get(branch)
    if protection is None:
        raise ApiError(404, "Branch not protected")
    return found, protection


def _render(request: Request, repo: Repository, branch: str) -> RenderProtection:
    return RenderProtection(render(request), repo, branch)


@routes.add("GET", _BRANCH)
def protection(request: Request, owner: str, repo: str, branch: str) -> Response:
    found, held = _need(request, owner, repo, branch, "read")
    return Response.json(_render(request, found, branch).whole(held))


@routes.add("PUT", _BRANCH)
def protect(request: Request, owner: str, repo: str, branch: str) -> Response:
    found = _open(request, owner, repo, branch)
    made = acts.protect(request.world, found, branch, request.body, request.identity.actor)
    return Response.json(_render(request, found, branch).whole(made))


@routes.add("DELETE", _BRANCH)
def unprotect(request: Request, owner: str, repo: str, branch: str) -> Response:
    found, held = _need(request, owner, repo, branch, "write")
    acts.unprotect(request.world, found, held, request.identity.actor)
    return Response(204)


def _edited(request: Request, repo: Repository, held: Protection) -> None:
    acts.changed(request.world, repo, held, "edited", request.identity.actor)


@routes.add("GET", _BRANCH + "/enforce_admins")
def admins(request: Request, owner: str, repo: str, branch: str) -> Response:
    found, held = _need(request, owner, repo, branch, "read")
    return Response.json(_render(request, found, branch).admins(held))


@routes.add("POST", _BRANCH + "/enforce_admins")
def bind_admins(request: Request, owner: str, repo: str, branch: str) -> Response:
    found, held = _need(request, owner, repo, branch, "write")
    held.enforce_admins = True
    _edited(request, found, held)
    return Response.json(_render(request, found, branch).admins(held))


@routes.add("DELETE", _BRANCH + "/enforce_admins")
def free_admins(request: Request, owner: str, repo: str, branch: str) -> Response:
    found, held = _need(request, owner, repo, branch, "write")
    held.enforce_admins = False
    _edited(request, found, held)
    return Response(204)


@routes.add("GET", _BRANCH + "/required_signatures")
def signatures(request: Request, owner: str, repo: str, branch: str) -> Response:
    found, held = _need(request, owner, repo, branch, "read")
    return Response.json(_render(request, found, branch).signatures(held))


@routes.add("POST", _BRANCH + "/required_signatures")
def require_signatures(request: Request, owner: str, repo: str, branch: str) -> Response:
    found, held = _need(request, owner, repo, branch, "write")
    held.signatures = True
    _edited(request, found, held)
    return Response.json(_render(request, found, branch).signatures(held))


@routes.add("DELETE", _BRANCH + "/required_signatures")
def free_signatures(request: Request, owner: str, repo: str, branch: str) -> Response:
    found, held = _need(request, owner, repo, branch, "write")
    held.signatures = False
    _edited(request, found, held)
    return Response(204)


def _with_checks(request: Request, owner: str, repo: str, branch: str, level: str) -> tuple[Repository, Protection]:
    found, held = _need(request, owner, repo, branch, level)
    if held.checks is None:
        raise ApiError(404, "Required status checks not enabled")
    return found, held


@routes.add("GET", _BRANCH + "/required_status_checks")
def checks(request: Request, owner: str, repo: str, branch: str) -> Response:
    found, held = _with_checks(request, owner, repo, branch, "read")
    return Response.json(_render(request, found, branch).checks(held))


@routes.add("PATCH", _BRANCH + "/required_status_checks")
def change_checks(request: Request, owner: str, repo: str, branch: str) -> Response:
    found, held = _with_checks(request, owner, repo, branch, "write")
    acts.set_checks(found, held, request.body)
    _edited(request, found, held)
    return Response.json(_render(request, found, branch).checks(held))


@routes.add("DELETE", _BRANCH + "/required_status_checks")
def free_checks(request: Request, owner: str, repo: str, branch: str) -> Response:
    found, held = _with_checks(request, owner, repo, branch, "write")
    held.checks = None
    _edited(request, found, held)
    return Response(204)


@routes.add("GET", _BRANCH + "/required_status_checks/contexts")
def contexts(request: Request, owner: str, repo: str, branch: str) -> Response:
    _, held = _with_checks(request, owner, repo, branch, "read")
    return Response.json([c.context for c in held.checks or []])


@routes.add("POST", _BRANCH + "/required_status_checks/contexts")
@routes.add("PUT", _BRANCH + "/required_status_checks/contexts")
@routes.add("DELETE", _BRANCH + "/required_status_checks/contexts")
def change_contexts(request: Request, owner: str, repo: str, branch: str) -> Response:
    found, held = _with_checks(request, owner, repo, branch, "write")
    named = [acts.required_context(found, c) for c in request.body.need("contexts", list)]
    kept = [c for c in held.checks or [] if c.context not in [n.context for n in named]]
    held.checks = {"POST": [*kept, *named], "PUT": named, "DELETE": kept}[request.method]
    _edited(request, found, held)
    return Response.json([c.context for c in held.checks])


def _with_reviews(request: Request, owner: str, repo: str, branch: str, level: str) -> tuple[Repository, Protection]:
    found, held = _need(request, owner, repo, branch, level)
    if held.reviews is None:
        raise ApiError(404, "Pull request reviews are not required")
    return found, held


@routes.add("GET", _BRANCH + "/required_pull_request_reviews")
def reviews(request: Request, owner: str, repo: str, branch: str) -> Response:
    found, held = _with_reviews(request, owner, repo, branch, "read")
    return Response.json(_render(request, found, branch).reviews(held))


@routes.add("PATCH", _BRANCH + "/required_pull_request_reviews")
def change_reviews(request: Request, owner: str, repo: str, branch: str) -> Response:
    found, held = _need(request, owner, repo, branch, "write")
    acts.set_reviews(request.world, found, held, request.body)
    _edited(request, found, held)
    return Response.json(_render(request, found, branch).reviews(held))


@routes.add("DELETE", _BRANCH + "/required_pull_request_reviews")
def free_reviews(request: Request, owner: str, repo: str, branch: str) -> Response:
    found, held = _with_reviews(request, owner, repo, branch, "write")
    held.reviews = None
    _edited(request, found, held)
    return Response(204)


@routes.add("GET", _BRANCH + "/restrictions")
def restrictions(request: Request, owner: str, repo: str, branch: str) -> Response:
    found, held = _need(request, owner, repo, branch, "read")
    if held.restrictions is None:
        raise ApiError(404, "Push restrictions not enabled")
    return Response.json(_render(request, found, branch).restrictions(held.restrictions))


@routes.add("DELETE", _BRANCH + "/restrictions")
def free_restrictions(request: Request, owner: str, repo: str, branch: str) -> Response:
    found, held = _need(request, owner, repo, branch, "write")
    held.restrictions = None
    _edited(request, found, held)
    return Response(204)
