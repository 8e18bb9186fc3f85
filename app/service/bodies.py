"""Request bodies of the agent API: bounded before they are read, strict before they are believed."""

import json
from collections.abc import Callable
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.domain.outcome import Blocked, Code, Refused
from app.service.errors import error_response

LARGEST_BODY = 256 * 1024
"""Bytes. A checkpoint may have 40 KiB; what an agent wraps around it is far smaller than the rest."""

_JSON = "application/json"
DEEPEST = 32
"""Levels of nesting; a checkpoint needs five."""


class BoundedBodies:
    """ASGI middleware: a body above the limit is refused before it is parsed, and never held in memory whole."""

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app = app
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(self._prefix):
            await self._app(scope, receive, send)
            return
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        if len(announced) > 12 or not announced.isdigit() or int(announced) > LARGEST_BODY:
            await self._refuse(scope, receive, send)
            return
        body = b""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            if len(body) > LARGEST_BODY:
                await self._refuse(scope, receive, send)
                return
            if not message.get("more_body", False):
                break
        await self._app(scope, _replay(body, receive), send)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        carries_checkpoint = scope["path"].endswith(("/checkpoint", "/handoff"))
        blocked = Blocked(
            Code.CHECKPOINT_TOO_LARGE if carries_checkpoint else Code.USAGE,
            f"The request's body is larger than {LARGEST_BODY} bytes.",
            "Send less: a checkpoint holds facts, decisions and next steps, at most 40 KiB.",
        )
        response = error_response(blocked, 413, {"Connection": "close"})
        await response(scope, receive, send)


def _replay(body: bytes, receive: Receive) -> Receive:
    told = False

    async def replay() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


class StrictRoute(APIRoute):
    """A route whose body must be strict JSON: UTF-8, finite numbers, no lone surrogates, bounded depth."""

    def get_route_handler(self) -> Callable[[Request], Any]:
        handle = super().get_route_handler()

        async def strict(request: Request) -> Response:
            body = await request.body()
            if body and request.headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
                raise _not_json("The header Content-Type is missing or is not application/json.")
            # Parsed here, where a refusal keeps its reason; FastAPI itself would answer a bare 400.
            parsed = _ParsedRequest(request.scope, _replay(body, request.receive))
            parsed.value = _parse(body) if body else None
            return await handle(parsed)

        return strict


class _ParsedRequest(Request):
    value: Any = None

    async def json(self) -> Any:
        return self.value


def _parse(body: bytes) -> Any:
    try:
        value = json.loads(body.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise _not_json("The body is not JSON.") from None
    _check(value)
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _check(value: object) -> None:
    level = [value]
    for _ in range(DEEPEST):
        below: list[object] = []
        for part in level:
            if isinstance(part, str):
                _check_text(part)
            elif isinstance(part, float) and part in (float("inf"), float("-inf")):
                raise _not_json("The body holds a number that is too large.")
            elif isinstance(part, dict):
                below.extend(part)
                below.extend(part.values())
            elif isinstance(part, list):
                below.extend(part)
        if not below:
            return
        level = below
    raise _not_json(f"The body is nested deeper than {DEEPEST} levels.")


def _check_text(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise _not_json("The body holds text that is not Unicode (a lone surrogate).") from None


def _not_json(reason: str) -> Refused:
    return Refused(Blocked(Code.USAGE, reason, "Send a JSON object in UTF-8, Content-Type: application/json."))
