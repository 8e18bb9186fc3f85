"""Apps, installations, installation tokens."""

from __future__ import annotations

from typing import Any

from app.emulator.acts import installations
from app.emulator.api_versions import FIRST, asked_for
from app.emulator.clock import to_stamp
from app.emulator.errors import ApiError, forbidden_to_app, no_member, not_found, unreadable
from app.emulator.rest.table import render, routes
from app.emulator.routing import Request, Response, paginated
from app.emulator.state import App, Installation, Permissions, Repository

_LEVELS = {"read": 1, "write": 2, "admin": 3}
MAX_TOKEN_REPOSITORIES = 500


def bare_app(request: Request) -> App:
    """The App that asks as itself, by its JWT. Raises 401."""
    app = request.identity.app
    if app is None or request.identity.installation is not None:
        raise ApiError(401, "A JSON web token could not be decoded")
    return app


def _own_installation(request: Request, number: str) -> Installation:
    app = bare_app(request)
    installation = request.world.installations.get(int(number))
    if installation is None or installation.app is not app:
        raise not_found()
    return installation


@routes.add("GET", "/app")
def current_app(request: Request) -> Response:
    app = bare_app(request)
    count = sum(1 for i in request.world.installations.values() if i.app is app)
    return Response.json(render(request).app(app, count))


@routes.add("GET", "/apps/{slug}")
def app_by_slug(request: Request, slug: str) -> Response:
    app = request.world.apps.get(slug)
    if app is None:
        raise not_found()
    return Response.json(render(request).app(app))


@routes.add("GET", "/app/installations")
def own_installations(request: Request) -> Response:
    app = bare_app(request)
    own = [i for i in request.world.installations.values() if i.app is app]
    return paginated(request, own, render(request).installation)


@routes.add("GET", "/app/installations/{number:int}")
def installation(request: Request, number: str) -> Response:
    return Response.json(render(request).installation(_own_installation(request, number)))


@routes.add("DELETE", "/app/installations/{number:int}")
def uninstall(request: Request, number: str) -> Response:
    found = _own_installation(request, number)
    installations.uninstall(request.world, found)
    return Response(204 if asked_for(request) == FIRST else 202)


@routes.add("GET", "/repos/{owner}/{repo}/installation")
def installation_of_repo(request: Request, owner: str, repo: str) -> Response:
    app = bare_app(request)
    found = request.world.repo(owner, repo)
    for candidate in request.world.installations_on(found, suspended=True) if found else []:
        if candidate.app is app:
            return Response.json(render(request).installation(candidate))
    raise not_found()


@routes.add("GET", "/users/{login}/installation")
@routes.add("GET", "/orgs/{login}/installation")
def installation_of_account(request: Request, login: str) -> Response:
    app = bare_app(request)
    for candidate in request.world.installations.values():
        if candidate.app is app and candidate.account.login.lower() == login.lower():
            return Response.json(render(request).installation(candidate))
    raise not_found()


@routes.add("POST", "/app/installations/{number:int}/access_tokens")
def create_token(request: Request, number: str) -> Response:
    found = _own_installation(request, number)
    if found.suspended_at is not None:
        raise ApiError(403, "This installation has been suspended")
    permissions = _narrowed(found, request.body.get("permissions", dict, {}))
    repos = _chosen(request, found)
    token = request.world.add_installation_token(
        found,
        None if repos is None else {r.id for r in repos},
        permissions,
        stateless=request.headers.get("x-github-stateless-s2s-token") != "disabled",
    )
    shown: dict[str, Any] = {
        "token": token.value,
        "expires_at": to_stamp(token.expires_at or 0),
        "permissions": permissions,
        "repository_selection": "all" if repos is None and found.repositories is None else "selected",
    }
    if repos is not None:
        shown["repositories"] = [render(request).repository(r) for r in repos]
    return Response.json(shown, 201)


def _narrowed(installation: Installation, wanted: dict[str, Any]) -> Permissions:
    if not wanted:
        return dict(installation.permissions)
    for name, level in wanted.items():
        if level not in _LEVELS:
            raise unreadable(no_member(level, list(_LEVELS)))
        held = installation.permissions.get(name, "")
        if not held:
            raise ApiError(422, "The permissions requested are not granted to this installation.")
        if _LEVELS[level] > _LEVELS[held]:
            raise ApiError(422, "The level of access for permissions requested are not granted to this installation.")
    return {"metadata": "read"} | wanted


def _chosen(request: Request, installation: Installation) -> list[Repository] | None:
    body = request.body
    wanted_names = body.get("repositories", list, [])
    wanted_ids = body.get("repository_ids", list, [])
    if not wanted_names and not wanted_ids:
        return None
    if len(wanted_names) + len(wanted_ids) > MAX_TOKEN_REPOSITORIES:
        raise ApiError(422, "There are too many repositories requested.")
    covered = [r for r in request.world.repos.values() if installation.covers(r)]
    chosen = [r for r in covered if r.id in wanted_ids or r.name in wanted_names]
    if len(chosen) < len({*wanted_names, *wanted_ids}):
        raise ApiError(
            422,
            "There is at least one repository that does not exist or is not accessible to the parent installation.",
        )
    return chosen


@routes.add("DELETE", "/installation/token")
def revoke_token(request: Request) -> Response:
    token = request.identity.token
    if token is None or request.identity.installation is None:
        raise forbidden_to_app()
    token.revoked = True
    return Response(204)


@routes.add("GET", "/installation/repositories")
def installation_repositories(request: Request) -> Response:
    if request.identity.installation is None:
        raise forbidden_to_app()
    repos = [r for r in request.world.repos.values() if request.identity.covers(r)]
    return paginated(request, repos, render(request).repository, key="repositories")
