"""Faults a test orders: which requests they hit, how often, and what happens to the answer."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from app.emulator.errors import ApiError

KINDS = (
    "drop_before",
    "drop_after",
    "status",
    "status_after",
    "delay",
    "late",
    "graphql_error",
    "partial",
)


@dataclass
class Fault:
    """One order. ``times`` counts down; it is spent at zero."""

    kind: str
    times: int
    method: str | None = None
    path_regex: re.Pattern[str] | None = None
    operation: str | None = None
    request_kind: str | None = None
    identity: str | None = None
    code: int = 502
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    after: int = 1
    hits: int = 0

    @classmethod
    def from_order(cls, order: dict[str, Any]) -> Fault:
        """Read an order of the control path. Raises 422."""
        match = order.get("match", {})
        if order.get("kind") not in KINDS:
            raise ApiError(422, f"Unknown fault kind {order.get('kind')!r}; known: {', '.join(KINDS)}")
        unknown = set(match) - {"method", "path_regex", "operation", "kind", "identity"}
        if unknown:
            raise ApiError(422, f"Unknown match members: {', '.join(sorted(unknown))}")
        return cls(
            kind=order["kind"],
            times=int(order.get("times", 1)),
            method=match.get("method"),
            path_regex=re.compile(match["path_regex"]) if match.get("path_regex") else None,
            operation=match.get("operation"),
            request_kind=match.get("kind"),
            identity=match.get("identity"),
            code=int(order.get("code", 502)),
            body=order.get("body"),
            headers={k.lower(): str(v) for k, v in order.get("headers", {}).items()},
            seconds=float(order.get("seconds", 0)),
            after=int(order.get("after", 1)),
        )

    def fits(self, method: str, path: str, kind: str, operations: list[str], identity: str) -> bool:
        """Does the fault hit this request? Every member that is given must agree."""
        return (
            self.times > 0
            and self.method in (None, method)
            and (self.path_regex is None or self.path_regex.search(path) is not None)
            and (self.operation is None or self.operation in operations)
            and self.request_kind in (None, kind)
            and self.identity in (None, identity)
        )

    def payload(self, default: str) -> bytes:
        """The body of a forced answer."""
        if isinstance(self.body, str):
            return self.body.encode()
        return json.dumps(self.body if self.body is not None else {"message": default}).encode()


class Faults:
    """All orders, the oldest first."""

    def __init__(self) -> None:
        self.orders: list[Fault] = []

    def take(self, method: str, path: str, kind: str, operations: list[str], identity: str) -> Fault | None:
        """The first fault that hits the request, counted down; None when the request goes its way."""
        for fault in self.orders:
            if fault.fits(method, path, kind, operations, identity):
                fault.times -= 1
                fault.hits += 1
                return fault
        return None
