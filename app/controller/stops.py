"""Who may be written to: the operator's stops, asked right before every write to GitHub.

What must hold: a stop that was acknowledged lets no write through that begins more than a second later, in any process
on this database and in the middle of a round too; a read goes on. It is told by name and kept with the repository's id,
so that a renamed repository stays stopped. Stops in the settings need no database; those in the database are lost with
it, so what must outlive it belongs into the settings.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from sqlalchemy import Connection, delete, select

from app.controller.database import Database, insert_into
from app.controller.tables import stops
from app.domain.outcome import Blocked, Code, Refused

KNOWN_FOR_S = 1.0
"""How long stops are taken from memory."""


@dataclass(frozen=True, slots=True)
class Stop:
    """`scope`: `owner/name`, or an account for all of its repositories; `repository_id` where it was known."""

    scope: str
    repository_id: int | None
    by: str
    at: datetime
    reason: str


class _Acting(Enum):
    SERVICE = "service"
    OPERATOR = "operator"
    ONLY_LOOKING = "only looking"


_acting: ContextVar[_Acting] = ContextVar("acting", default=_Acting.SERVICE)


class Stops:
    """The stops of the settings (`always`) and of the database. `writes` off: nothing is written anywhere."""

    def __init__(
        self,
        database: Database,
        *,
        always: Sequence[str] = (),
        writes: bool = True,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._always = frozenset(scope.lower() for scope in always)
        self._writes = writes
        self._monotonic = monotonic
        self._known: tuple[Stop, ...] = ()
        self._read_at = float("-inf")

    async def require(self, repository_id: int, full_name: str) -> None:
        """Raises Refused where nothing may be written to this repository now; the database's errors where it cannot be
        asked.
        """
        blocked = await self.blocked(full_name, repository_id)
        if blocked is not None:
            raise Refused(blocked)

    async def blocked(self, full_name: str, repository_id: int | None = None) -> Blocked | None:
        """Why nothing may be written to this repository now; None where it may."""
        acting = _acting.get()
        if acting is _Acting.ONLY_LOOKING:
            return Blocked(Code.WRITES_OFF, "this command only looks", "report that it tried to write")
        if not self._writes:
            return _writes_off()
        if acting is _Acting.OPERATOR:
            return None
        name, account = full_name.lower(), full_name.lower().partition("/")[0]
        for scope in (name, account):
            if scope in self._always:
                return _stopped(full_name, f"AGENT_RECOVERY_STOPPED names {scope}")
        for stop in await self._current():
            if stop.scope in (name, account) or (repository_id is not None and stop.repository_id == repository_id):
                return _stopped(full_name, f"{stop.by} stopped {stop.scope}: {stop.reason}")
        return None

    async def listed(self) -> tuple[str, ...]:
        """The scopes that are stopped now, from both places."""
        return tuple(sorted(self._always | {stop.scope for stop in await self._read()}))

    async def stop(self, scope: str, repository_id: int | None, *, by: str, reason: str, now: datetime) -> None:
        """Stop a repository or an account; durable on return. Again: the newest word stands."""
        await self._database.run(_put, Stop(scope.lower(), repository_id, by, now, reason))
        self._read_at = float("-inf")

    async def start(self, scope: str, repository_id: int | None = None) -> bool:
        """Take a stop of the database back; False where there was none. One of the settings stays."""
        removed = await self._database.run(_remove, (scope.lower(), repository_id))
        self._read_at = float("-inf")
        return removed

    def always(self, full_name: str) -> bool:
        """Whether the settings stop this repository or its account."""
        name = full_name.lower()
        return bool({name, name.partition("/")[0]} & self._always)

    @contextmanager
    def as_operator(self) -> Iterator[None]:
        """What is done inside is the operator's own command: it passes stops, but not writes that are off."""
        with _as(_Acting.OPERATOR):
            yield

    @contextmanager
    def only_looking(self) -> Iterator[None]:
        """Whatever is done inside writes nothing to GitHub: every try is refused."""
        with _as(_Acting.ONLY_LOOKING):
            yield

    async def _current(self) -> tuple[Stop, ...]:
        if self._monotonic() - self._read_at >= KNOWN_FOR_S:
            await self._read()
        return self._known

    async def _read(self) -> tuple[Stop, ...]:
        began = self._monotonic()
        self._known = await self._database.run(_all, None)
        # From before the read: what was written while it ran counts from the next one on.
        self._read_at = began
        return self._known


@contextmanager
def _as(acting: _Acting) -> Iterator[None]:
    token = _acting.set(acting)
    try:
        yield
    finally:
        _acting.reset(token)


def _writes_off() -> Blocked:
    remedy = "try again when AGENT_RECOVERY_WRITES is on again"
    return Blocked(Code.WRITES_OFF, "the operator has switched all writes off", remedy, retryable=True)


def _stopped(full_name: str, because: str) -> Blocked:
    reason = f"the operator has stopped the App in {full_name} ({because})"
    return Blocked(Code.WRITES_OFF, reason, "try again when the operator has started it again", retryable=True)


def _put(connection: Connection, items: Sequence[Stop]) -> Sequence[None]:
    for stop in items:
        values = {"repository_id": stop.repository_id, "by": stop.by, "at": stop.at, "reason": stop.reason}
        insert = insert_into(connection, stops).values(scope=stop.scope, **values)
        connection.execute(insert.on_conflict_do_update(index_elements=("scope",), set_=values))
    return [None] * len(items)


def _remove(connection: Connection, items: Sequence[tuple[str, int | None]]) -> Sequence[bool]:
    removed: list[bool] = []
    for scope, repository_id in items:
        this = stops.c.scope == scope
        if repository_id is not None:
            this |= stops.c.repository_id == repository_id
        removed.append(bool(connection.execute(delete(stops).where(this).returning(stops.c.scope)).all()))
    return removed


def _all(connection: Connection, items: Sequence[None]) -> Sequence[tuple[Stop, ...]]:
    rows = connection.execute(select(stops)).all()
    found = tuple(Stop(row.scope, row.repository_id, row.by, row.at, row.reason) for row in rows)
    return [found] * len(items)
