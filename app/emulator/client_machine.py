"""Control calls about faults, deliveries and time, for :class:`app.emulator.client.Emulator`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

Json = dict[str, Any]


class Calls(Protocol):
    """What the groups of control calls need of the client."""

    def _post(self, path: str, **body: Any) -> Json: ...

    def _object(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Json: ...

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any: ...


class MachineCalls:
    """Orders of faults and their log, what waits to be released, how webhooks travel, the clock's standing still."""

    def load_faults(self: Calls, orders: Sequence[Mapping[str, Any]]) -> list[int]:
        """Load orders, all or none; their ids."""
        return list(self._post("/faults", orders=list(orders))["ids"])

    def fault_log(self: Calls, since: int = 0) -> Json:
        """``strikes``: what happened; ``orders``: what :meth:`load_faults` takes to make it happen again. ``since``: of
        the orders after this id alone."""
        return self._object("GET", f"/faults/log?since={since}")

    def paused(self: Calls) -> list[Json]:
        """The requests that wait, each with its fault's id."""
        listed: list[Json] = self._call("GET", "/faults/paused")
        return listed

    def release(self: Calls, fault: int | None = None) -> int:
        """Let paused requests go: those of one order, or all; how many."""
        return int(self._post("/faults/release", id=fault)["released"])

    def exhaust_rate(self: Calls, identity: str, bucket: str | None = None) -> Json:
        """Spend the hour of an identity (``installation:<id>``, ``user:<login>``) now."""
        return self._post("/rate/exhaust", identity=identity, bucket=bucket)

    def freeze_clock(self: Calls) -> float:
        """Stop the clock; the moment at which it stands."""
        return float(self._post("/clock", frozen=True)["epoch"])

    def run_clock(self: Calls) -> float:
        """Let the clock go on from where it stood."""
        return float(self._post("/clock", frozen=False)["epoch"])

    def delivery_timeout(self: Calls, seconds: float) -> None:
        """Give webhook targets less than the ten seconds that GitHub gives."""
        self._post("/deliveries/mode", timeout_s=seconds)

    def hold_deliveries(self: Calls, deliveries: Sequence[int | str]) -> int:
        """Hold queued deliveries, named by id or GUID; how many were still there to hold."""
        return int(self._post("/deliveries/hold", deliveries=list(deliveries))["held"])

    def release_deliveries(self: Calls, deliveries: Sequence[int | str] | None = None) -> int:
        """Let deliveries go in the order given, or all that wait; how many."""
        chosen = None if deliveries is None else list(deliveries)
        return int(self._post("/deliveries/release", deliveries=chosen)["released"])
