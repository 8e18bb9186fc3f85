"""Control calls about rate limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.emulator.control import router
from app.emulator.errors import ApiError
from app.emulator.limits import GITHUBS_POINTS
from app.emulator.routing import Request

if TYPE_CHECKING:
    from app.emulator.server import Server

_BOUNDS = ("concurrent", "content_a_minute", "content_an_hour")


@router.add("GET", "/limits")
def limits(server: Server, request: Request) -> Any:
    secondary = server.world.secondary
    return {
        "secondary": secondary.on,
        "status": server.world.rates.status,
        "concurrent": secondary.concurrent,
        "points": secondary.points,
        "content_a_minute": secondary.content_a_minute,
        "content_an_hour": secondary.content_an_hour,
        "hourly": dict(server.world.rates.limits),
    }


@router.add("POST", "/limits")
def set_limits(server: Server, request: Request) -> Any:
    """Switch the secondary limits on or off, change their bounds, choose the status of refusals (403 or 429).

    ``points`` are counted once they are given: per bucket, or ``"github"`` for 900 and 2,000 a minute.
    """
    body, secondary = request.body, server.world.secondary
    secondary.on = body.get("secondary", bool, secondary.on)
    for name in _BOUNDS:
        setattr(secondary, name, body.get(name, int, getattr(secondary, name)))
    if "points" in body:
        wanted = body.data["points"]
        secondary.points = dict(GITHUBS_POINTS) if wanted == "github" else body.need("points", dict)
    status = body.get("status", int, server.world.rates.status)
    if status not in (403, 429):
        raise ApiError(422, "GitHub refuses with 403 or 429")
    server.world.rates.status = status
    return limits(server, request)
