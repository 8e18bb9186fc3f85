"""What an ordered fault does to a request: before its effect, to its effect, or to its answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.emulator.faults import Fault, Faults, Occurrence
from app.emulator.lag import Lag, is_write
from app.emulator.limits import SECONDARY_WORDS, Refused
from app.emulator.rationing import bucket_of, secondary_refusal
from app.emulator.routing import Request, Response
from app.emulator.switches import refused_for_now
from app.emulator.traffic import Entry

if TYPE_CHECKING:
    from app.emulator.server import Server

_SECONDARY_WAIT_S = 60


@dataclass
class Deferred:
    """A request whose effect comes late: after ``left`` more requests."""

    left: int
    request: Request
    entry: Entry


@dataclass
class Paused:
    """A request that waits until somebody releases it."""

    fault: int
    n: int
    gate: asyncio.Event


class Disturber:
    """Carries the orders out."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.faults = Faults()
        self.deferred: list[Deferred] = []
        self.paused: list[Paused] = []
        self.lag = Lag()

    async def serve(self, request: Request, entry: Entry) -> Response | None:
        """The answer, or None when the connection is to be cut."""
        members: dict[str, str | None] = {
            "method": request.method,
            "path": request.path,
            "kind": entry.kind,
            "identity": request.identity.label,
            # Packs are large, and hardly any order asks for a body.
            "body": request.raw.decode("utf-8", "replace") if self.faults.ask_for_bodies else None,
        }
        writes = is_write(request, entry)
        fault = self.faults.take(Occurrence(entry.n, members, tuple(entry.operations), writes))
        if writes and any(f.kind == "lag" for f in self.faults.orders):
            self.lag.remember(request.world, entry.n)
        response = await self._with(fault, request, entry)
        entry.status = response.status if response is not None else -1
        return response

    async def _with(self, fault: Fault | None, request: Request, entry: Entry) -> Response | None:
        if fault is None:
            return await self._server.answer(request, entry)
        if fault.kind == "drop_before":
            return None
        if fault.kind == "late":
            self.deferred.append(Deferred(fault.after + 1, request, entry))
            return None
        if fault.kind in _INSTEAD:
            return _INSTEAD[fault.kind](fault)
        if fault.kind in _BEFORE:
            await _BEFORE[fault.kind](self, fault, request, entry)
        with refused_for_now(_REFUSED.get(fault.kind)):
            response = await self._server.answer(request, entry)
        if fault.kind == "drop_after":
            return None
        if fault.kind == "lag":
            return self.lag.answer(self._server, fault, request, entry, response)
        if fault.kind in _AFTER:
            response = await _AFTER[fault.kind](self, fault, response, entry)
        return response

    async def wait(self, fault: Fault, entry: Entry) -> None:
        """Wait until released."""
        paused = Paused(fault.id, entry.n, asyncio.Event())
        self.paused.append(paused)
        await paused.gate.wait()

    def release(self, fault: int | None = None) -> int:
        """Let the requests go that an order has paused, or all of them; how many."""
        chosen = [p for p in self.paused if fault in (None, p.fault)]
        self.paused = [p for p in self.paused if p not in chosen]
        for paused in chosen:
            paused.gate.set()
        return len(chosen)

    async def run_deferred(self) -> None:
        """A request has passed: execute what is late by enough requests now."""
        for late in self.deferred:
            late.left -= 1
        due = [late for late in self.deferred if late.left <= 0]
        self.deferred = [late for late in self.deferred if late.left > 0]
        for late in due:
            await self._server.answer(late.request, late.entry)


def _forced(fault: Fault) -> Response:
    headers = {"content-type": "application/json; charset=utf-8"} | fault.headers
    return Response(fault.code, fault.payload("Server Error"), headers)


def _graphql_error(fault: Fault) -> Response:
    message = fault.body if isinstance(fault.body, str) else "Something went wrong (ordered fault)"
    return Response.json({"data": None, "errors": [{"message": message}]})


def _secondary_limit(fault: Fault) -> Response:
    return secondary_refusal(Refused(SECONDARY_WORDS, int(fault.seconds) or _SECONDARY_WAIT_S), 403)


async def _delay(disturber: Disturber, fault: Fault, request: Request, entry: Entry) -> None:
    await asyncio.sleep(fault.seconds)


async def _pause(disturber: Disturber, fault: Fault, request: Request, entry: Entry) -> None:
    await disturber.wait(fault, entry)


async def _rate_limit(disturber: Disturber, fault: Fault, request: Request, entry: Entry) -> None:
    rates, key = request.world.rates, request.identity.key
    rates.window(key, bucket_of(entry.kind)).used = rates.limit(key)


async def _revoke_token(disturber: Disturber, fault: Fault, request: Request, entry: Entry) -> None:
    # The request has been authenticated: it goes through, and is the last that does.
    if request.identity.token is not None:
        request.identity.token.revoked = True


async def _clock_jump(disturber: Disturber, fault: Fault, request: Request, entry: Entry) -> None:
    request.world.clock.advance(fault.seconds)


async def _delay_after(disturber: Disturber, fault: Fault, response: Response, entry: Entry) -> Response:
    await asyncio.sleep(fault.seconds)
    return response


async def _pause_after(disturber: Disturber, fault: Fault, response: Response, entry: Entry) -> Response:
    await disturber.wait(fault, entry)
    return response


async def _status_after(disturber: Disturber, fault: Fault, response: Response, entry: Entry) -> Response:
    return _forced(fault)


async def _partial(disturber: Disturber, fault: Fault, response: Response, entry: Entry) -> Response:
    """Half of an answer: GraphQL data with an error beside it and its last top-level field null, or half a list."""
    try:
        data = json.loads(response.body)
    except ValueError:
        return response
    if isinstance(data, dict) and isinstance(data.get("data"), dict) and data["data"]:
        last = list(data["data"])[-1]
        data["data"][last] = None
        error = {
            "type": "RESOURCE_LIMITS_EXCEEDED",
            "path": [last],
            "message": "Resource limits for this query exceeded.",
        }
        data["errors"] = [*data.get("errors", []), error]
    elif isinstance(data, list):
        data = data[: len(data) // 2]
    return Response.json(data, response.status, {k: v for k, v in response.headers.items() if k != "etag"})


_INSTEAD: dict[str, Callable[[Fault], Response]] = {
    "status": _forced,
    "graphql_error": _graphql_error,
    "secondary_limit": _secondary_limit,
}
_BEFORE: dict[str, Callable[[Disturber, Fault, Request, Entry], Awaitable[None]]] = {
    "delay": _delay,
    "pause": _pause,
    "rate_limit": _rate_limit,
    "revoke_token": _revoke_token,
    "clock_jump": _clock_jump,
}
_AFTER: dict[str, Callable[[Disturber, Fault, Response, Entry], Awaitable[Response]]] = {
    "delay_after": _delay_after,
    "pause_after": _pause_after,
    "status_after": _status_after,
    "partial": _partial,
}
_REFUSED = {"refuse_custom_refs": "custom_refs", "refuse_update_refs": "update_refs"}
