"""The service's database: one engine, one writer thread, group commit.

Wanted: (1) an answer is given only after its transaction is durable; (2) the event loop never waits for a
disk; (3) what waits while a transaction runs goes into the next one together, so that the number of
commits follows the disk and not the number of callers; (4) a job that fails does not take the others of
its transaction with it.

Races: several processes may share one database. SQLite takes its write lock at BEGIN, so there is no
reader that later fails to become a writer; PostgreSQL may find a deadlock between two such groups, and
then each job runs again in a transaction of its own. A connection lost during COMMIT means "unknown", and
the job runs again: every job given to `run` must therefore be harmless when repeated.
"""

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, make_url, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from app.controller.tables import metadata

Item = TypeVar("Item")
Answer = TypeVar("Answer")
Apply = Callable[[Connection, Sequence[Item]], Sequence[Answer]]
"""Does the same thing for several items in one transaction, with one answer each, in order."""

_LARGEST_GROUP = 500
_ATTEMPTS = 4
_RETRY_PAUSE = 0.05  # seconds, doubled each time
_SQLITE_BUSY = 10_000  # milliseconds to wait for another process's transaction
_SCHEMA_LOCK = 4_201_774_211  # any number, the same in every process


class DatabaseClosed(RuntimeError):
    """The database was closed; nothing was written."""


@dataclass(frozen=True, slots=True)
class _Job:
    apply: Apply[Any, Any]
    item: Any
    future: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop


class Database:
    """A database by URL: `sqlite:///path/to/file`, or `postgresql://…` when several machines share it.

    The constructor connects and creates missing tables; it raises SQLAlchemy's errors when it cannot.
    """

    def __init__(self, url: str) -> None:
        self._engine = _engine(make_url(url))
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._closing = threading.Lock()
        self._closed = False
        try:
            _attempt(lambda: _create_tables(self._engine))
        except BaseException:
            self._engine.dispose()
            raise
        self._writer = threading.Thread(target=self._serve, name="database-writer", daemon=True)
        self._writer.start()

    async def run(self, apply: Apply[Item, Answer], item: Item) -> Answer:
        """Give `item` to `apply` inside a transaction; return its answer once that is durable.

        Items of neighbouring calls with the same `apply` are given to it together. Raises what `apply` or
        the database raised, and DatabaseClosed after `close`. A cancelled caller's job may still happen.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Answer] = loop.create_future()
        with self._closing:
            if self._closed:
                raise DatabaseClosed("the database is closed")
            self._jobs.put(_Job(apply, item, future, loop))
        return await future

    def close(self) -> None:
        """Finish what was given to `run`, then disconnect. May be called twice."""
        with self._closing:
            if not self._closed:
                self._closed = True
                self._jobs.put(None)
        self._writer.join()

    def _serve(self) -> None:
        try:
            for group in self._groups():
                self._write(group)
        finally:
            self._engine.dispose()

    def _groups(self) -> Iterator[list[_Job]]:
        while True:
            job = self._jobs.get()
            group: list[_Job] = []
            while job is not None and len(group) < _LARGEST_GROUP:
                group.append(job)
                try:
                    job = self._jobs.get_nowait()
                except queue.Empty:
                    break
            else:
                if job is not None:
                    self._jobs.put(job)
            if group:
                yield group
            if job is None:
                return

    def _write(self, group: list[_Job]) -> None:
        try:
            _answer(group, self._transact(group))
            return
        except Exception as problem:
            if len(group) == 1 and not _is_transient(problem):
                _fail(group[0], problem)
                return
        for job in group:
            try:
                _answer([job], _attempt(lambda job=job: self._transact([job])))  # type: ignore[misc]
            except Exception as problem:
                _fail(job, problem)

    def _transact(self, group: list[_Job]) -> list[Any]:
        answers: list[Any] = []
        with self._engine.begin() as connection:
            for apply, jobs in groupby(group, key=lambda job: job.apply):
                answers.extend(apply(connection, [job.item for job in jobs]))
        return answers


def insert_into(connection: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    """An INSERT that can say ON CONFLICT, in the dialect of this connection."""
    if connection.dialect.name == "postgresql":
        return postgresql.insert(table)
    return sqlite.insert(table)


def _engine(url: URL) -> Engine:
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_immediate)
        return engine
    if url.get_backend_name() in ("postgresql", "postgres"):
        return create_engine(url.set(drivername="postgresql+psycopg"), pool_size=1, pool_pre_ping=True)
    raise ValueError("the database must be SQLite or PostgreSQL")


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # transactions are begun below, not by the driver
    connection.execute(f"PRAGMA busy_timeout={_SQLITE_BUSY}")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _create_tables(engine: Engine) -> None:
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            # CREATE TABLE IF NOT EXISTS alone fails when two processes start at the same moment.
            connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _SCHEMA_LOCK})
        metadata.create_all(connection)


def _attempt(work: Callable[[], Answer]) -> Answer:
    pause = _RETRY_PAUSE
    for _ in range(_ATTEMPTS - 1):
        try:
            return work()
        except DBAPIError as problem:
            if not _is_transient(problem):
                raise
        time.sleep(pause)
        pause *= 2
    return work()


def _is_transient(problem: Exception) -> bool:
    """Lost connections, deadlocks, locks held too long: the same transaction may pass a moment later."""
    return isinstance(problem, OperationalError | InterfaceError) or (
        isinstance(problem, DBAPIError) and problem.connection_invalidated
    )


def _answer(group: Sequence[_Job], answers: Sequence[Any]) -> None:
    def deliver() -> None:
        for job, answer in zip(group, answers, strict=True):
            if not job.future.done():
                job.future.set_result(answer)

    # One wake-up for the whole group: a wake-up for each would cost more than the transaction.
    if len({job.loop for job in group}) == 1:
        _call(group[0].loop, deliver)
        return
    for job, answer in zip(group, answers, strict=True):
        _answer([job], [answer])


def _fail(job: _Job, problem: Exception) -> None:
    def deliver() -> None:
        if not job.future.done():
            job.future.set_exception(problem)

    _call(job.loop, deliver)


def _call(loop: asyncio.AbstractEventLoop, deliver: Callable[[], None]) -> None:
    try:
        loop.call_soon_threadsafe(deliver)
    except RuntimeError:
        pass  # the loop of the caller has ended, so nobody waits for this answer
