"""The rules of outages in the database: who waits for what, so that all processes on it agree.

Every answer is given in one transaction in which the repository's row is locked, so that of several processes none
takes a place that another one has. Losing these tables begins the service's life and all wishes anew, with a reattach
window; what was started is found again in the records, ticket by ticket, before that window is over.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, Table, delete, select, update

from app.controller.database import insert_into
from app.controller.tables import mass_holds, resume_starts, resume_wishes, service_life
from app.domain import outage
from app.domain.outage import Life, Limits, Started, Verdict, Waiting, Wish
from app.domain.plain_text import cut, one_line

_SERVICE = "service"
_TITLE_BYTES = 200
_SHOWN_EVERY = timedelta(seconds=15)
"""How often a look at a ticket counts as a sign of life: the next tick is another."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One look at a ticket. `wish` None: it wants nothing. `started`: the agent that its record tells of."""

    repository_id: int
    full_name: str
    ticket: str
    wish: Wish | None
    started: Started | None
    limits: Limits
    now: datetime
    jitter: float


@dataclass(frozen=True, slots=True)
class Judged:
    """`verdict` is None where nothing was wished. `look`: tickets that may go on now because of this."""

    verdict: Verdict | None
    look: tuple[str, ...] = ()


@dataclass(frozen=True)
class Held:
    """What is known of a repository's hold and of its notice. `since` None: nothing is held."""

    repository_id: int
    full_name: str
    known_since: datetime
    most: int
    since: datetime | None
    notice: int | None
    shown: str
    looked_at: datetime | None
    sought: bool
    rows: tuple[Waiting, ...] = ()


# --- the service's life -----------------------------------------------------------------------------------------------


def live(connection: Connection, items: Sequence[tuple[str, datetime]]) -> Sequence[Life]:
    """Signs of life: `begun`, `lived`, `answered`, `unanswered`; what is known after each."""
    return [_live(connection, word, now) for word, now in items]


def shown(connection: Connection, items: Sequence[None]) -> Sequence[tuple[Life | None, tuple[Held, ...]]]:
    """The service's life, None before it began, and the repositories in which something is held. Changes nothing."""
    held = tuple(one for one in _holds(connection, None) if one.since is not None)
    return [(_life(connection), held)] * len(items)


def _live(connection: Connection, word: str, now: datetime) -> Life:
    before = _life(connection)
    after = outage.begun(before, now=now) if word == "begun" else outage.lived(before, now=now)
    if word == "answered":
        after = outage.answered(after, now=now)
    if word == "unanswered":
        after = outage.unanswered(after, now=now)
    says_more = before is None or replace(after, alive_at=before.alive_at) != before
    if before is None or says_more or word == "lived" or after.alive_at - before.alive_at > _SHOWN_EVERY:
        _keep_life(connection, after)
    return after


def _life(connection: Connection) -> Life | None:
    asked = select(service_life).where(service_life.c.name == _SERVICE).with_for_update()
    row = connection.execute(asked).first()
    return Life(row.alive_at, row.opened_at, row.failing_since) if row is not None else None


def _keep_life(connection: Connection, life: Life) -> None:
    values = {"alive_at": life.alive_at, "opened_at": life.opened_at, "failing_since": life.failing_since}
    insert = insert_into(connection, service_life).values(name=_SERVICE, **values)
    connection.execute(insert.on_conflict_do_update(index_elements=("name",), set_=values))


# --- a look at a ticket -----------------------------------------------------------------------------------------------


def judge(connection: Connection, items: Sequence[Asked]) -> Sequence[Judged]:
    """Keep what a ticket wishes, and say whether it may be carried out now."""
    # The life before the repositories, and these in one order: two processes never wait for each other's rows.
    life = _live(connection, "answered", max(item.now for item in items))
    for repository_id, full_name, now in sorted({(i.repository_id, i.full_name, i.now) for i in items}):
        _make_row(connection, repository_id, full_name, now)
    held = {r: _held_row(connection, r) for r in sorted({item.repository_id for item in items})}
    return [_judge_one(connection, item, life, held) for item in items]


def _judge_one(connection: Connection, asked: Asked, life: Life, held: dict[int, Any]) -> Judged:
    row, now = held[asked.repository_id], asked.now
    limits = replace(asked.limits, in_progress=row.in_progress)
    before = _rows(connection, asked.repository_id)
    mine = next((w for w in before if w.wish.ticket == asked.ticket), None)
    known = _starts(connection, asked.repository_id)
    started = outage.noted(known, asked.ticket, asked.started, now=now)
    others = [w for w in before if w.wish.ticket != asked.ticket]
    if asked.wish is not None:
        mine = outage.registered(mine, asked.wish, limits, now=now, jitter=asked.jitter)
    elif mine is not None and not outage.stays(mine, limits, now=now):
        mine = None
    rows = [*others, mine] if mine is not None else others
    was_held = row.held_since is not None
    is_held = outage.holds(was_held, rows, limits, life, now=now)
    verdict = None
    if asked.wish is not None and mine is not None:
        verdict = outage.judged(mine, rows, started, limits, life, is_held=is_held, now=now)
        if isinstance(verdict, outage.Passes):
            mine = replace(mine, passed_at=now)
            started = outage.granted(started, mine.wish, now=now)
            rows = [*others, mine]
    _keep_wish(connection, asked.repository_id, asked.ticket, mine)
    _keep_starts(connection, asked.repository_id, known, started)
    if is_held != was_held or limits.mass != row.most:
        # A new hold is told at once, whenever the one before was looked at.
        new = {"held_since": now if is_held else None, "looked_at": None} if is_held != was_held else {}
        _change(connection, asked.repository_id, most=limits.mass, **new)
        held[asked.repository_id] = _held_row(connection, asked.repository_id)
    look = _to_look_at(known, started, rows, limits, life, is_held=is_held, was_held=was_held, now=now)
    return Judged(verdict, tuple(ticket for ticket in look if ticket != asked.ticket))


def _to_look_at(
    known: Sequence[Started],
    started: Sequence[Started],
    rows: Sequence[Waiting],
    limits: Limits,
    life: Life,
    *,
    is_held: bool,
    was_held: bool,
    now: datetime,
) -> list[str]:
    """Who may go on because of what was just found: everybody after a hold, the next in line for each free place."""
    if was_held and not is_held:
        return [row.wish.ticket for row in rows if row.passed_at is None]
    before, after = (outage.places(s, limits, now=now) for s in (known, started))
    if after <= max(before, 0) or now < outage.window_until(life, limits):
        return []
    return outage.in_line(rows, started, is_held=is_held, now=now)[:after]


def count(connection: Connection, items: Sequence[tuple[int, str, int, datetime]]) -> Sequence[None]:
    """How many tickets of a repository are in progress."""
    for repository_id, full_name, number, now in items:
        _make_row(connection, repository_id, full_name, now)
        changed = (mass_holds.c.repository_id == repository_id) & (
            (mass_holds.c.in_progress != number) | (mass_holds.c.full_name != full_name)
        )
        connection.execute(update(mass_holds).where(changed).values(in_progress=number, full_name=full_name))
    return [None] * len(items)


def forget(connection: Connection, items: Sequence[tuple[int, str]]) -> Sequence[tuple[str, ...]]:
    """A ticket is over: it wishes nothing, and no agent that was started for it counts any more. Whose look finds out
    what that changes for the others.
    """
    return [_forget(connection, repository_id, ticket) for repository_id, ticket in items]


def _forget(connection: Connection, repository_id: int, ticket: str) -> tuple[str, ...]:
    wished = (resume_wishes.c.repository_id == repository_id) & (resume_wishes.c.ticket == ticket)
    gone = connection.execute(delete(resume_wishes).where(wished, resume_wishes.c.passed_at.is_(None))).rowcount
    begun = (resume_starts.c.repository_id == repository_id) & (resume_starts.c.ticket == ticket)
    over = update(resume_starts).where(begun, resume_starts.c.is_over.is_(False)).values(is_over=True)
    if not gone and not connection.execute(over).rowcount:
        return ()
    left = [row for row in _rows(connection, repository_id) if row.passed_at is None]
    return tuple(row.wish.ticket for row in sorted(left, key=outage.turn)[:1])


def withdraw(connection: Connection, items: Sequence[int]) -> Sequence[None]:
    """Nothing of a repository may be touched any more: nothing is wished there, and nothing is held or told."""
    for repository_id in items:
        connection.execute(delete(resume_wishes).where(resume_wishes.c.repository_id == repository_id))
        told = mass_holds.c.held_since.is_not(None) | mass_holds.c.notice.is_not(None)
        nothing = {"held_since": None, "notice": None, "shown": "", "sought": False, "telling_until": None}
        mine = mass_holds.c.repository_id == repository_id
        connection.execute(update(mass_holds).where(mine, told).values(**nothing))
    return [None] * len(items)


def drop_forgotten(connection: Connection, items: Sequence[datetime]) -> Sequence[None]:
    """Wishes whose tickets nobody looked at for a day, and agents that were started a week ago: one that still works is
    noted again by the next look, and one whose ticket is out of sight takes no place for ever.
    """
    for now in items:
        connection.execute(delete(resume_wishes).where(resume_wishes.c.seen_at < now - outage.FORGOTTEN_AFTER))
        connection.execute(delete(resume_starts).where(resume_starts.c.at < now - 7 * outage.FORGOTTEN_AFTER))
    return [None] * len(items)


# --- the notice -------------------------------------------------------------------------------------------------------


def holds_of(connection: Connection, items: Sequence[int | None]) -> Sequence[tuple[Held, ...]]:
    """All repositories in which something is held or a notice is known or not looked for yet, or the one named."""
    return [_holds(connection, repository_id) for repository_id in items]


def take_telling(connection: Connection, items: Sequence[tuple[int, datetime, datetime]]) -> Sequence[Held | None]:
    """Be the one process that tells of a repository until a moment; None where another one does."""
    return [_take_telling(connection, repository_id, now, until) for repository_id, now, until in items]


def told(connection: Connection, items: Sequence[tuple[int, dict[str, Any]]]) -> Sequence[None]:
    """Keep what is known of a notice now; the telling is over."""
    for repository_id, values in items:
        _change(connection, repository_id, telling_until=None, **values)
    return [None] * len(items)


def told_not(connection: Connection, items: Sequence[int]) -> Sequence[None]:
    """The telling failed: what came of it is looked for next time, which is not at once."""
    for repository_id in items:
        _change(connection, repository_id, sought=False)
    return [None] * len(items)


def release(connection: Connection, items: Sequence[int]) -> Sequence[tuple[str, ...]]:
    """A person closed the notice: what was held may go on. The tickets."""
    released: list[tuple[str, ...]] = []
    for repository_id in items:
        mine = (resume_wishes.c.repository_id == repository_id) & resume_wishes.c.passed_at.is_(None)
        tickets = connection.execute(
            update(resume_wishes).where(mine).values(released=True).returning(resume_wishes.c.ticket)
        ).scalars()
        released.append(tuple(sorted(tickets)))
        _change(connection, repository_id, held_since=None, notice=None, shown="", telling_until=None)
    return released


def _holds(connection: Connection, repository_id: int | None) -> tuple[Held, ...]:
    asked = select(mass_holds)
    if repository_id is None:
        asked = asked.where(
            mass_holds.c.held_since.is_not(None) | mass_holds.c.notice.is_not(None) | mass_holds.c.sought.is_(False)
        )
    else:
        asked = asked.where(mass_holds.c.repository_id == repository_id)
    rows = connection.execute(asked.order_by(mass_holds.c.repository_id)).all()
    named = repository_id is not None
    return tuple(
        _held(row, _rows(connection, row.repository_id) if named or row.held_since is not None else ()) for row in rows
    )


def _take_telling(connection: Connection, repository_id: int, now: datetime, until: datetime) -> Held | None:
    row = _held_row(connection, repository_id)
    # Another's clock may be a little ahead. A place that is taken for much longer was taken by a clock that was wrong.
    latest = until + (until - now)
    if row is None or (row.telling_until is not None and now < row.telling_until <= latest):
        return None
    _change(connection, repository_id, telling_until=until)
    return _held(row, _rows(connection, repository_id))


def _held(row: Row[Any], rows: Sequence[Waiting]) -> Held:
    return Held(
        row.repository_id,
        row.full_name,
        row.known_since,
        row.most,
        row.held_since,
        row.notice,
        row.shown,
        row.looked_at,
        row.sought,
        tuple(rows),
    )


# --- rows -------------------------------------------------------------------------------------------------------------


def _make_row(connection: Connection, repository_id: int, full_name: str, now: datetime) -> None:
    values = {"known_since": now, "in_progress": 0, "most": 0, "shown": "", "sought": False}
    new = insert_into(connection, mass_holds).values(repository_id=repository_id, full_name=full_name, **values)
    connection.execute(new.on_conflict_do_nothing())


def _held_row(connection: Connection, repository_id: int) -> Row[Any] | None:
    mine = mass_holds.c.repository_id == repository_id
    return connection.execute(select(mass_holds).where(mine).with_for_update()).first()


def _change(connection: Connection, repository_id: int, **values: Any) -> None:
    connection.execute(update(mass_holds).where(mass_holds.c.repository_id == repository_id).values(**values))


def _rows(connection: Connection, repository_id: int) -> list[Waiting]:
    asked = select(resume_wishes).where(resume_wishes.c.repository_id == repository_id)
    return [
        Waiting(
            Wish(row.ticket, row.kind, row.subject, row.title, row.priority, row.by_person),
            row.since,
            row.due_at,
            row.seen_at,
            row.released,
            row.passed_at,
        )
        for row in connection.execute(asked.order_by(resume_wishes.c.ticket))
    ]


def _starts(connection: Connection, repository_id: int) -> list[Started]:
    asked = select(resume_starts).where(resume_starts.c.repository_id == repository_id)
    return [Started(row.ticket, row.attempt, row.at, row.is_over) for row in connection.execute(asked)]


def _keep_wish(connection: Connection, repository_id: int, ticket: str, row: Waiting | None) -> None:
    if row is None:
        _remove(connection, resume_wishes, repository_id, ticket=ticket)
        return
    wish = row.wish
    values = {
        "kind": wish.kind,
        "subject": wish.subject,
        "title": cut(one_line(wish.title), _TITLE_BYTES),
        "priority": wish.priority,
        "by_person": wish.by_person,
        "since": row.since,
        "due_at": row.due_at,
        "seen_at": row.seen_at,
        "released": row.released,
        "passed_at": row.passed_at,
    }
    _put(connection, resume_wishes, {"repository_id": repository_id, "ticket": ticket}, values)


def _keep_starts(
    connection: Connection, repository_id: int, before: Sequence[Started], after: Sequence[Started]
) -> None:
    left = {(s.ticket, s.attempt) for s in after}
    for one in before:
        if (one.ticket, one.attempt) not in left:
            _remove(connection, resume_starts, repository_id, ticket=one.ticket, attempt=one.attempt)
    for one in after:
        if one not in before:
            key = {"repository_id": repository_id, "ticket": one.ticket, "attempt": one.attempt}
            _put(connection, resume_starts, key, {"at": one.at, "is_over": one.is_over})


def _put(connection: Connection, table: Table, key: dict[str, Any], values: dict[str, Any]) -> None:
    insert = insert_into(connection, table).values(**key, **values)
    connection.execute(insert.on_conflict_do_update(index_elements=tuple(key), set_=values))


def _remove(connection: Connection, table: Table, repository_id: int, **key: str) -> None:
    named = [table.c[name] == value for name, value in key.items()]
    connection.execute(delete(table).where(table.c.repository_id == repository_id, *named))
