"""Faults somebody orders: what they hit, how often, and the log from which a run can be played again.

An order counts every occurrence that fits it, whether or not it strikes. From the ``nth`` on it strikes ``times``
times; with a ``probability`` it draws for each occurrence from its own ``seed``. Orders are asked in the order they
were loaded, and at most one strikes an occurrence.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import asdict, dataclass, field
from typing import Any

from app.emulator.errors import ApiError

REQUEST_KINDS = (
    "drop_before",
    "drop_after",
    "status",
    "status_after",
    "delay",
    "delay_after",
    "pause",
    "pause_after",
    "late",
    "graphql_error",
    "partial",
    "rate_limit",
    "secondary_limit",
    "revoke_token",
    "refuse_custom_refs",
    "refuse_update_refs",
    "clock_jump",
    "lag",
)
DELIVERY_KINDS = (
    "delivery_drop",
    "delivery_duplicate",
    "delivery_hold",
    "delivery_delay",
    "delivery_reorder",
)
_REQUEST_MATCH = ("method", "path_regex", "body_regex", "operation", "kind", "identity")
_DELIVERY_MATCH = ("event", "action", "app")
_HOW_OFTEN = ("nth", "times", "probability", "seed")
CENTURY_S = 100 * 365 * 24 * 3600.0
_WHAT = ("code", "body", "headers", "seconds", "after")


@dataclass(frozen=True)
class Occurrence:
    """Something an order may hit: a request (``n`` is its number in the log) or a delivery (by its id)."""

    n: int
    members: dict[str, str | None]
    operations: tuple[str, ...] = ()
    writes: bool = False

    def fits(self, match: dict[str, Any]) -> bool:
        """Do all members of the match agree?"""
        for name, wanted in match.items():
            if name == "operation":
                if wanted not in self.operations:
                    return False
            elif name in ("path_regex", "body_regex"):
                if re.search(wanted, self.members[name.removesuffix("_regex")] or "") is None:
                    return False
            elif self.members[name] != wanted:
                return False
        return True


@dataclass
class Fault:
    """One order. ``times`` None strikes for ever."""

    id: int
    kind: str
    match: dict[str, Any]
    nth: int = 1
    times: int | None = 1
    probability: float = 1.0
    seed: int = 0
    code: int = 502
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    after: int = 1
    seen: int = 0
    hits: int = 0

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    @classmethod
    def from_order(cls, number: int, order: dict[str, Any]) -> Fault:
        """Read an order of the control path. Raises 422."""
        kind = order.get("kind")
        if kind not in REQUEST_KINDS + DELIVERY_KINDS:
            known = ", ".join(REQUEST_KINDS + DELIVERY_KINDS)
            raise ApiError(422, f"Unknown fault kind {kind!r}; known: {known}")
        unknown = set(order) - {"kind", "match", *_HOW_OFTEN, *_WHAT}
        if unknown:
            raise ApiError(422, f"Unknown members of an order: {', '.join(sorted(unknown))}")
        given, headers = order.get("match", {}), order.get("headers", {})
        if not isinstance(given, dict) or not isinstance(headers, dict):
            raise ApiError(422, "match and headers are objects")
        match = {k: v for k, v in given.items() if v is not None}
        unknown = set(match) - set(_REQUEST_MATCH if kind in REQUEST_KINDS else _DELIVERY_MATCH)
        if unknown:
            raise ApiError(422, f"Unknown match members: {', '.join(sorted(unknown))}")
        odd = sorted(name for name, wanted in match.items() if not isinstance(wanted, str))
        if odd:
            raise ApiError(422, f"Members of match are texts: {', '.join(odd)}")
        try:
            re.compile(match.get("path_regex", ""))
            re.compile(match.get("body_regex", ""))
            return cls(
                id=number,
                kind=kind,
                match=match,
                nth=int(order.get("nth", 1)),
                times=None if order.get("times", 1) is None else int(order.get("times", 1)),
                probability=float(order.get("probability", 1)),
                seed=int(order.get("seed", 0)),
                code=int(order.get("code", 502)),
                body=order.get("body"),
                headers={k.lower(): str(v) for k, v in headers.items()},
                seconds=float(order.get("seconds", 0)),
                after=int(order.get("after", 1)),
            )._in_range()
        except (TypeError, ValueError, OverflowError, re.error) as error:
            raise ApiError(422, f"An order cannot be read: {error}") from None

    def _in_range(self) -> Fault:
        """The order itself. Raises ValueError for one that could never do what its numbers say."""
        good = {
            "nth is 1 or more": self.nth >= 1,
            "times is 1 or more, or null for ever": self.times is None or self.times >= 1,
            "probability is between 0 and 1": 0 <= self.probability <= 1,
            "code is between 200 and 599": 200 <= self.code <= 599,
            "seconds is less than a century, below 0 for clock_jump alone": abs(self.seconds) < CENTURY_S
            and (self.seconds >= 0 or self.kind == "clock_jump"),
            "after is 0 or more": self.after >= 0,
        }
        if wrong := [words for words, holds in good.items() if not holds]:
            raise ValueError("; ".join(wrong))
        return self

    @property
    def left(self) -> int | None:
        """How often it may strike still; None is for ever."""
        return None if self.times is None else self.times - self.hits

    def strikes(self) -> bool:
        """Count an occurrence that fits: does it strike?"""
        self.seen += 1
        # Drawn for every occurrence, so that the n-th has the same luck whatever struck before.
        lucky = self.probability >= 1 or self._random.random() < self.probability
        return lucky and self.seen >= self.nth and (self.left is None or self.left > 0)

    def payload(self, default: str) -> bytes:
        """The body of a forced answer."""
        if isinstance(self.body, str):
            return self.body.encode()
        return json.dumps(self.body if self.body is not None else {"message": default}).encode()

    def once(self, nth: int) -> dict[str, Any]:
        """The order that does at the n-th occurrence what this one did there, and nothing else."""
        what = {name: getattr(self, name) for name in _WHAT}
        unsaid: dict[str, Any] = {"code": 502, "body": None, "headers": {}, "seconds": 0.0, "after": 1}
        kept = {name: value for name, value in what.items() if value != unsaid[name]}
        return {"kind": self.kind, "match": self.match, "nth": nth} | kept

    def shown(self) -> dict[str, Any]:
        """The order as the control path lists it."""
        return {"id": self.id, "kind": self.kind, "left": self.left, "hits": self.hits, "seen": self.seen}


@dataclass(frozen=True)
class Strike:
    """A fault that happened: the order, its occurrence, and what was hit."""

    fault: int
    kind: str
    nth: int
    n: int
    hit: dict[str, str | None]


class Faults:
    """All orders, the oldest first, and what they did."""

    def __init__(self) -> None:
        self.orders: list[Fault] = []
        self.strikes: list[Strike] = []
        self._script: list[dict[str, Any]] = []
        self._loaded = 0

    @property
    def ask_for_bodies(self) -> bool:
        """Does any order look into the bodies of requests?"""
        return any("body_regex" in fault.match for fault in self.orders)

    def load(self, orders: list[Any]) -> list[Fault]:
        """Add orders, all of them or, when one cannot be read, none. Raises 422."""
        if not all(isinstance(order, dict) for order in orders):
            raise ApiError(422, "An order is a JSON object")
        read = [Fault.from_order(self._loaded + 1 + index, order) for index, order in enumerate(orders)]
        self._loaded += len(read)
        self.orders += read
        return read

    def take(self, occurrence: Occurrence) -> Fault | None:
        """The order that strikes, counted and logged; None when all goes its way."""
        chosen: Fault | None = None
        request = "path" in occurrence.members
        for fault in self.orders:
            if (fault.kind in REQUEST_KINDS) is not request or not occurrence.fits(fault.match):
                continue
            if fault.kind == "lag" and occurrence.writes:
                continue
            if fault.strikes() and chosen is None:
                chosen = fault
        if chosen is not None:
            chosen.hits += 1
            self.strikes.append(Strike(chosen.id, chosen.kind, chosen.seen, occurrence.n, occurrence.members))
            self._script.append(chosen.once(chosen.seen))
        return chosen

    def log(self, since: int = 0) -> dict[str, Any]:
        """What struck, and the ``orders`` that make it strike so again when they are loaded where these were.

        ``since``: of orders after this id alone, so that orders loaded at several moments are told apart.
        """
        kept = [
            (strike, order) for strike, order in zip(self.strikes, self._script, strict=True) if strike.fault > since
        ]
        return {"strikes": [asdict(strike) for strike, _ in kept], "orders": [order for _, order in kept]}

    def clear(self) -> None:
        """Forget the orders; what they did stays in the log."""
        self.orders.clear()
