"""What the last sweep of a repository saw, kept so that the next one looks only at what differs.

A memory and no authority: losing it has every ticket looked at once. It is written after the pokes that follow from it
are durable, so a sweep that dies in between is done again and loses nothing; of two sweeps at once each pokes what it
finds different, and the later one's marks stay.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection, delete, select

from app.controller.database import Database, insert_into
from app.controller.tables import release_marks, sweep_marks, swept
from app.domain.glance import Mark
from app.domain.ticket_id import TicketId, ticket_id

_AT_ONCE = 200
"""Rows in one statement: databases bound how many values one may have."""


@dataclass(frozen=True)
class Base:
    """What holds for the whole repository: the head of its default branch, which version of the policy lies there
    (empty: no file), and a digest of everything that is no ticket's.
    """

    head: str
    policy: str
    others: str


@dataclass(frozen=True)
class Swept:
    """The last sweep of a repository: when it began, by GitHub's time, and each ticket's mark with the last time it was
    poked for it. `releases`: the marks of releases by their trunks.
    """

    at: datetime
    base: Base
    marks: Mapping[TicketId, Mark] = field(default_factory=dict)
    looked_at: Mapping[TicketId, datetime] = field(default_factory=dict)
    releases: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Seen:
    """What a sweep saw, to be kept. `marks`: those that changed or whose tickets were poked, which `poked` names;
    `gone`: tickets it knows nothing of any more; `releases`: the marks of releases, None where they stay as they are.
    """

    repository_id: int
    at: datetime
    base: Base
    marks: Mapping[TicketId, Mark]
    poked: frozenset[TicketId]
    gone: frozenset[TicketId]
    releases: Mapping[str, str] | None = None


class SweepMarks:
    """The marks in the service's database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def last(self, repository_id: int) -> Swept | None:
        """What the last sweep saw; None before the first one."""
        return await self._database.run(_last, repository_id)

    async def watched_since(self, repository_id: int, branch: str) -> datetime | None:
        """Since when a release has been seen without a gap; None where no sweep saw it yet."""
        return await self._database.run(_since, (repository_id, branch))

    async def keep(self, seen: Seen) -> None:
        """Durable on return."""
        await self._database.run(_keep, seen)


def _last(connection: Connection, items: Sequence[int]) -> Sequence[Swept | None]:
    return [_last_of(connection, repository) for repository in items]


def _last_of(connection: Connection, repository: int) -> Swept | None:
    sweep = connection.execute(select(swept).where(swept.c.repository_id == repository)).first()
    if sweep is None:
        return None
    marks: dict[TicketId, Mark] = {}
    looked_at: dict[TicketId, datetime] = {}
    for row in connection.execute(select(sweep_marks).where(sweep_marks.c.repository_id == repository)):
        ticket = ticket_id(row.ticket)
        if ticket is not None:
            marks[ticket] = Mark(row.seen, row.merge_state, row.touched)
            looked_at[ticket] = row.looked_at
    of_releases = select(release_marks).where(release_marks.c.repository_id == repository)
    releases = {row.branch: row.seen for row in connection.execute(of_releases)}
    return Swept(sweep.swept_at, Base(sweep.head, sweep.policy, sweep.others), marks, looked_at, releases)


def _keep(connection: Connection, items: Sequence[Seen]) -> Sequence[None]:
    for seen in items:
        _keep_one(connection, seen)
    return [None] * len(items)


def _keep_one(connection: Connection, seen: Seen) -> None:
    names = ("repository_id", "ticket")
    insert = insert_into(connection, sweep_marks)
    shown = {name: insert.excluded[name] for name in ("seen", "merge_state", "touched")}
    for looked_at, values in ((True, {**shown, "looked_at": insert.excluded.looked_at}), (False, shown)):
        rows = [
            {
                "repository_id": seen.repository_id,
                "ticket": str(ticket),
                "seen": mark.seen,
                "merge_state": mark.merge_state,
                "touched": mark.touched,
                "looked_at": seen.at,
            }
            for ticket, mark in sorted(seen.marks.items(), key=str)
            if (ticket in seen.poked) is looked_at
        ]
        if rows:
            connection.execute(insert.on_conflict_do_update(index_elements=names, set_=values), rows)
    gone = sorted(str(ticket) for ticket in seen.gone)
    for start in range(0, len(gone), _AT_ONCE):
        named = sweep_marks.c.ticket.in_(gone[start : start + _AT_ONCE])
        connection.execute(delete(sweep_marks).where(sweep_marks.c.repository_id == seen.repository_id, named))
    if seen.releases is not None:
        _keep_releases(connection, seen.repository_id, seen.releases, seen.at)
    sweep = insert_into(connection, swept)
    moved = {name: sweep.excluded[name] for name in ("swept_at", "head", "policy", "others")}
    base = {"head": seen.base.head, "policy": seen.base.policy, "others": seen.base.others}
    row = {"repository_id": seen.repository_id, "swept_at": seen.at, **base}
    connection.execute(sweep.on_conflict_do_update(index_elements=["repository_id"], set_=moved), [row])


def _keep_releases(connection: Connection, repository: int, releases: Mapping[str, str], at: datetime) -> None:
    """The marks as they are now; of each release that was known before, the moment since when stays."""
    mine = release_marks.c.repository_id == repository
    known = {row.branch for row in connection.execute(select(release_marks.c.branch).where(mine))}
    gone = sorted(known - releases.keys())
    for start in range(0, len(gone), _AT_ONCE):
        named = release_marks.c.branch.in_(gone[start : start + _AT_ONCE])
        connection.execute(delete(release_marks).where(mine, named))
    insert = insert_into(connection, release_marks)
    rows = [
        {"repository_id": repository, "branch": branch, "seen": mark, "since": at} for branch, mark in releases.items()
    ]
    if rows:
        key = ["repository_id", "branch"]
        connection.execute(insert.on_conflict_do_update(index_elements=key, set_={"seen": insert.excluded.seen}), rows)


def _since(connection: Connection, items: Sequence[tuple[int, str]]) -> Sequence[datetime | None]:
    found = []
    for repository, branch in items:
        mine = (release_marks.c.repository_id == repository) & (release_marks.c.branch == branch)
        found.append(connection.execute(select(release_marks.c.since).where(mine)).scalar_one_or_none())
    return found
