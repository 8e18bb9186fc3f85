"""Control calls about webhook deliveries: what was sent, and how it is to travel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.emulator.control import router
from app.emulator.errors import ApiError
from app.emulator.routing import Request

if TYPE_CHECKING:
    from app.emulator.server import Server

_FLUSH_S = 5.0


@router.add("GET", "/deliveries")
def deliveries(server: Server, request: Request) -> Any:
    held = {w.delivery.id for w in server.world.deliveries.queue}
    return [
        {
            "id": d.id,
            "guid": d.guid,
            "app": d.app.slug,
            "event": d.event,
            "action": d.action,
            "status": d.status,
            "status_code": d.status_code,
            "redelivery": d.redelivery,
            "delivered_at": d.delivered_at,
            "installation_id": d.installation_id,
            "repository_id": d.repository_id,
            "queued": d.id in held,
            "payload": d.body.decode(),
        }
        for d in server.world.deliveries.log
    ]


@router.add("POST", "/deliveries/flush")
async def flush(server: Server, request: Request) -> Any:
    server.world.background.run_all()
    seconds = request.body.seconds("timeout_s", _FLUSH_S)
    return {"pending": await server.world.deliveries.flush(seconds)}


@router.add("POST", "/deliveries/mode")
def delivery_mode(server: Server, request: Request) -> Any:
    """How all travel; ``timeout_s`` shortens the 10 seconds a target has."""
    body, sent = request.body, server.world.deliveries
    sent.timeout_s = body.seconds("timeout_s", sent.timeout_s)
    sent.set_mode(body.get("mode", str, sent.mode))
    return {"mode": sent.mode, "timeout_s": sent.timeout_s, "pending": sent.pending}


@router.add("POST", "/deliveries/hold")
def hold(server: Server, request: Request) -> Any:
    """Hold queued deliveries, named by id or GUID in ``deliveries``."""
    return {"held": server.world.deliveries.hold(request.body.need("deliveries", list))}


@router.add("POST", "/deliveries/release")
def release(server: Server, request: Request) -> Any:
    """Let ``deliveries`` go in the order given, or all that wait."""
    return {"released": server.world.deliveries.release(request.body.maybe("deliveries", list))}


@router.add("POST", "/deliveries/replay")
def replay(server: Server, request: Request) -> Any:
    """Deliver again by id or by GUID, the newest attempt's bytes."""
    wanted = request.body.data
    for delivery in reversed(server.world.deliveries.log):
        if delivery.id == wanted.get("id") or delivery.guid == wanted.get("guid"):
            return {"id": server.world.deliveries.redeliver(delivery).id, "guid": delivery.guid}
    raise ApiError(404, "There is no such delivery")
