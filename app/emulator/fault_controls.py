"""Control calls about faults, the clock, and limits that are reached now."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from app.emulator.clock import from_stamp, to_stamp
from app.emulator.control import router, since
from app.emulator.errors import ApiError
from app.emulator.routing import Request

if TYPE_CHECKING:
    from app.emulator.server import Server


@router.add("POST", "/faults")
def add_faults(server: Server, request: Request) -> Any:
    """Order one fault, or load a list of ``orders``: all of them, or none when one cannot be read."""
    data, faults = request.body.data, server.disturber.faults
    if not isinstance(data.get("orders", []), list):
        raise ApiError(422, "orders is a list")
    loaded = faults.load(data.get("orders", [data]))
    return {"orders": len(faults.orders), "ids": [fault.id for fault in loaded]}


@router.add("GET", "/faults")
def list_faults(server: Server, request: Request) -> Any:
    return [fault.shown() for fault in server.disturber.faults.orders]


@router.add("DELETE", "/faults")
def clear_faults(server: Server, request: Request) -> Any:
    """Forget the orders and let go whom they hold; what is late stays late."""
    server.disturber.faults.clear()
    return {"orders": 0, "deferred": len(server.disturber.deferred), "released": server.disturber.release()}


@router.add("GET", "/faults/log")
def fault_log(server: Server, request: Request) -> Any:
    """What struck so far, and the ``orders`` that repeat it; the answer can be sent to ``POST /faults`` as it is.

    ``?since=ID`` leaves out what orders up to this one did.
    """
    return server.disturber.faults.log(since(request))


@router.add("GET", "/faults/paused")
def paused(server: Server, request: Request) -> Any:
    """The requests that wait to be released, the oldest first."""
    entries = {entry.n: entry for entry in server.traffic.entries}
    return [{"fault": p.fault, "request": asdict(entries[p.n])} for p in server.disturber.paused if p.n in entries]


@router.add("POST", "/faults/release")
def release(server: Server, request: Request) -> Any:
    """Let paused requests go: those of the order ``id``, or all."""
    return {"released": server.disturber.release(request.body.maybe("id", int))}


@router.add("POST", "/rate/exhaust")
def exhaust(server: Server, request: Request) -> Any:
    """Spend an identity's whole hour at once, in both buckets or in one."""
    body, rates = request.body, server.world.rates
    identity = body.need("identity", str)
    buckets = [body.get("bucket", str, "")] if "bucket" in body else ["core", "graphql"]
    for bucket in buckets:
        rates.window(identity, bucket).used = rates.limit(identity)
    return {bucket: rates.shown(identity, bucket) for bucket in buckets}


@router.add("GET", "/clock")
def clock(server: Server, request: Request) -> Any:
    present = server.world.clock
    now = present.now()
    return {"now": to_stamp(now), "epoch": now, "frozen": present.frozen}


@router.add("POST", "/clock")
def set_clock(server: Server, request: Request) -> Any:
    """Stop the clock or let it run (``frozen``), ``set`` it, ``advance_s``: in this order. Raises 422."""
    body, present = request.body, server.world.clock
    frozen = body.maybe("frozen", bool)
    if frozen is not None:
        present.freeze() if frozen else present.run()
    try:
        if "set" in body:
            wanted = body.data["set"]
            present.set(from_stamp(wanted) if isinstance(wanted, str) else float(wanted))
        if "advance_s" in body:
            present.advance(float(body.data["advance_s"]))
    except (TypeError, ValueError, OverflowError) as error:
        raise ApiError(422, f"The clock cannot be set so: {error}") from None
    return clock(server, request)
