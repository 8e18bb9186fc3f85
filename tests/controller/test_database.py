"""Group commit: durable answers, shared transactions, failures that stay where they belong."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import pytest
from sqlalchemy import insert, select, text

from app.controller.database import Database, DatabaseClosed
from app.controller.tables import pokes


def note(connection, items):
    for item in items:
        if item == "broken":
            raise LookupError("this one cannot be done")
        connection.execute(insert(pokes).values(key=item, version=1))
    return [f"{item} noted" for item in items]


def keys(connection, items):
    return [sorted(connection.execute(select(pokes.c.key)).scalars())] * len(items)


async def test_neighbours_share_a_transaction(database):
    sizes: list[int] = []
    busy = threading.Event()

    def slow(connection, items):
        busy.wait(10)
        return items

    def counted(connection, items):
        sizes.append(len(items))
        return items

    first = asyncio.create_task(database.run(slow, 0))
    await asyncio.sleep(0)
    others = [asyncio.create_task(database.run(counted, n)) for n in range(40)]
    await asyncio.sleep(0)
    busy.set()
    assert await asyncio.gather(first, *others) == [0, *range(40)]
    assert len(sizes) <= 2
    assert sum(sizes) == 40


async def test_a_job_that_fails_takes_no_other_with_it(database):
    answers = await asyncio.gather(
        *(database.run(note, item) for item in ("a", "broken", "b", "a")), return_exceptions=True
    )
    assert answers[0] == "a noted"
    assert isinstance(answers[1], LookupError)
    assert answers[2] == "b noted"
    assert type(answers[3]).__name__ == "IntegrityError"
    assert await database.run(keys, None) == ["a", "b"]


async def test_a_cancelled_caller_disturbs_nobody(database):
    waiting = asyncio.create_task(database.run(note, "a"))
    await asyncio.sleep(0)
    waiting.cancel()
    assert await database.run(note, "b") == "b noted"
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_close_finishes_what_was_given(database, database_url):
    waiting = [asyncio.create_task(database.run(note, str(n))) for n in range(20)]
    await asyncio.sleep(0)
    database.close()
    database.close()
    assert len(await asyncio.gather(*waiting)) == 20
    with pytest.raises(DatabaseClosed):
        await database.run(note, "late")


async def test_a_connection_that_the_server_ended_is_made_anew(new_postgres_url):
    url = new_postgres_url()
    database, other = Database(url), Database(url)
    await database.run(note, "before")
    end_others = text(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE pid <> pg_backend_pid() AND datname = current_database()"
    )
    await other.run(lambda connection, items: [connection.execute(end_others)], None)
    other.close()
    assert await database.run(note, "after") == "after noted"
    database.close()


def test_processes_may_start_at_the_same_moment(database_url):
    with ThreadPoolExecutor(4) as threads:
        opened = list(threads.map(lambda _: Database(database_url), range(4)))
    for database in opened:
        database.close()


async def test_a_time_without_zone_is_refused(database):
    def bad(connection, items):
        connection.execute(insert(pokes).values(key="k", version=1, due_at=datetime(2026, 1, 1)))
        return items

    with pytest.raises(Exception, match="time zone"):
        await database.run(bad, None)


def test_other_databases_are_refused():
    with pytest.raises(ValueError, match="SQLite or PostgreSQL"):
        Database("mysql://localhost/x")


async def test_sqlite_is_durable_at_every_commit(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/service.db")

    def pragmas(connection, items):
        names = ("journal_mode", "synchronous")
        return [[connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names]]

    assert await database.run(pragmas, None) == ["wal", 2]
    database.close()
