"""An App's webhook: its configuration and its deliveries (docs.github.com, "REST API endpoints for GitHub App
webhooks")."""

from __future__ import annotations

import json
import re
from typing import Any

from app.emulator.clock import from_stamp
from app.emulator.errors import ApiError, invalid, no_member, not_found, unreadable
from app.emulator.rest.apps import bare_app
from app.emulator.rest.table import routes
from app.emulator.routing import Request, Response, page_bounds
from app.emulator.state import App
from app.emulator.webhooks import Delivery

# docs.github.com, "Redelivering webhooks": deliveries of the past three days.
KEPT_S = 3 * 24 * 3600
_CURSOR = re.compile(r"v1_(\d{1,18})\Z")


@routes.add("GET", "/app/hook/config")
def config(request: Request) -> Response:
    return Response.json(_config(bare_app(request)))


@routes.add("PATCH", "/app/hook/config")
def change_config(request: Request) -> Response:
    app, body = bare_app(request), request.body
    url = body.get("url", str, app.webhook_url or "")
    if url and not url.startswith(("http://", "https://")):
        raise invalid("Hook", "url")
    content_type = body.get("content_type", str, app.hook_content_type)
    if content_type not in ("json", "form"):
        raise invalid("Hook", "content_type")
    # A number or a text; "0" alone asks for verification.
    unverified = str(body.data.get("insecure_ssl", app.hook_insecure_ssl)).partition(".")[0] != "0"
    app.hook_content_type, app.hook_insecure_ssl = content_type, str(int(unverified))
    app.webhook_url = url or None
    app.webhook_secret = body.get("secret", str, app.webhook_secret or "") or None
    return Response.json(_config(app))


def _config(app: App) -> dict[str, Any]:
    shown = {"content_type": app.hook_content_type, "insecure_ssl": app.hook_insecure_ssl}
    url = {"url": app.webhook_url} if app.webhook_url else {}
    return shown | url | ({"secret": "********"} if app.webhook_secret else {})


def _kept(request: Request, app: App) -> list[Delivery]:
    """The App's deliveries that have been tried, the newest first."""
    oldest = request.world.clock.now() - KEPT_S
    return [
        d
        for d in reversed(request.world.deliveries.log)
        if d.app is app and d.status != "pending" and from_stamp(d.delivered_at) >= oldest
    ]


def _delivery(delivery: Delivery) -> dict[str, Any]:
    return {
        "id": delivery.id,
        "guid": delivery.guid,
        "delivered_at": delivery.delivered_at,
        "redelivery": delivery.redelivery,
        "duration": delivery.duration,
        "status": delivery.status,
        "status_code": delivery.status_code,
        "event": delivery.event,
        "action": delivery.action,
        "installation_id": delivery.installation_id,
        "repository_id": delivery.repository_id,
        "throttled_at": None,
    }


@routes.add("GET", "/app/hook/deliveries")
def deliveries(request: Request) -> Response:
    own = _kept(request, bare_app(request))
    _, size = page_bounds(request)
    # Codes outside both ranges, such as 0 for a target that never answered, are in neither filter.
    wanted = request.query.get("status")
    if wanted is not None and wanted not in ("success", "failure"):
        raise unreadable(no_member(wanted, ("success", "failure")))
    if wanted == "success":
        own = [d for d in own if 200 <= d.status_code < 400]
    elif wanted == "failure":
        own = [d for d in own if 400 <= d.status_code < 600]
    if "cursor" in request.query:
        cursor = _CURSOR.match(request.query["cursor"])
        if cursor is None:
            raise ApiError(400, "Invalid cursor")
        own = [d for d in own if d.id <= int(cursor[1])]
    shown, following = own[:size], own[size : size + 1]
    headers = {}
    if following:
        query = f"per_page={size}" + (f"&status={wanted}" if wanted else "") + f"&cursor=v1_{following[0].id}"
        headers["link"] = f'<{request.base_url}{request.path}?{query}>; rel="next"'
    return Response.json([_delivery(d) for d in shown], headers=headers)


def _own_delivery(request: Request, number: str) -> Delivery:
    for delivery in _kept(request, bare_app(request)):
        if delivery.id == int(number):
            return delivery
    raise not_found()


@routes.add("GET", "/app/hook/deliveries/{number:int}")
def delivery(request: Request, number: str) -> Response:
    found = _own_delivery(request, number)
    shown = _delivery(found) | {
        "url": found.url,
        "request": {"headers": found.headers(), "payload": json.loads(found.body)},
        "response": {"headers": found.response_headers, "payload": found.response_body},
    }
    return Response.json(shown)


@routes.add("POST", "/app/hook/deliveries/{number:int}/attempts")
def redeliver(request: Request, number: str) -> Response:
    request.world.deliveries.redeliver(_own_delivery(request, number))
    return Response.json({}, 202)
