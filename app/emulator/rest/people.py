"""Users, the caller, rate limits."""

from __future__ import annotations

from app.emulator.errors import ApiError, forbidden_to_app
from app.emulator.rest.table import find_account, render, routes
from app.emulator.routing import Request, Response


@routes.add("GET", "/user")
def current_user(request: Request) -> Response:
    if request.identity.user is None:
        raise forbidden_to_app() if request.identity.app else ApiError(401, "Requires authentication")
    user = request.identity.user
    return Response.json(render(request).profile(user) | {"email": user.email})


@routes.add("GET", "/users/{login}")
def user(request: Request, login: str) -> Response:
    account = find_account(request, login)
    return Response.json(render(request).profile(account))


@routes.add("GET", "/user/{account_id:int}")
def user_by_id(request: Request, account_id: str) -> Response:
    for account in request.world.accounts.values():
        if account.id == int(account_id):
            return Response.json(render(request).profile(account))
    raise ApiError(404, "Not Found")


@routes.add("GET", "/meta")
def meta(request: Request) -> Response:
    return Response.json({"verifiable_password_authentication": False})


@routes.add("GET", "/rate_limit")
def rate_limit(request: Request) -> Response:
    """What is left of each limit; asking costs nothing."""
    rates, key = request.world.rates, request.identity.key
    core, graphql = (rates.shown(key, bucket) for bucket in ("core", "graphql"))
    search = core | {"limit": 30, "used": 0, "remaining": 30, "reset": int(request.world.clock.now()) + 60}
    return Response.json({"resources": {"core": core, "graphql": graphql, "search": search}, "rate": core})
