"""What persons said in comments and by buttons, as it was delivered, until it is answered.

A poke carries no state, so the text lies here, written in the poke's own transaction: what was acknowledged to GitHub
is not lost, and a later edit of the comment changes nothing. Losing the table loses no command: comments that were
never edited are found again, and what was carried out says so in the ticket's record (the ownership protocol, R16).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Row, delete, or_, select, update

from app.controller.database import Database, insert_into
from app.controller.tables import heard_until, pokes, speakers, swept, words

COMMAND = "/recovery"
LONGEST = 65_536
"""Characters. GitHub takes no longer comment."""
_AT_ONCE = 500
"""Keys in one statement: databases bound how many values one may have."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """One thing that a person said. `key`: a `WordKey`, written. `number`: the Issue or PR it was said on.
    `created_at`: by GitHub's time; None of a click, which carries none.
    """

    key: str
    text: str
    number: int
    author_id: int
    author_login: str
    created_at: datetime | None
    node_id: str = ""


class WordState(StrEnum):
    """How far a word is. `DROPPED`: it was one of too many; `NOTICE`: so was it, and its answer says so."""

    NEW = "new"
    HEARD = "heard"
    NOTICE = "notice"
    DROPPED = "dropped"
    DONE = "done"


OVER = frozenset({WordState.DONE, WordState.DROPPED})
"""Nothing is left to do."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A word as it is kept. `head_sha`: the head of its PR, once that was found out; None where it is not known to have
    been the head when the word was said.
    """

    key: str
    text: str
    number: int
    author_id: int
    author_login: str
    created_at: datetime
    received_at: datetime
    node_id: str
    head_sha: str | None
    state: WordState


class WordStore:
    """The words in the service's database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, key: str) -> Kept | None:
        """The word of this key, if it is known."""
        return await self._database.run(_find, key)

    async def over(self, keys: Sequence[str]) -> frozenset[str]:
        """Those of these keys that nothing is left to do about."""
        return await self._database.run(_over, tuple(keys))

    async def before(self, key: str) -> tuple[Kept, ...]:
        """What its author said before it in the repository, and anybody on the same Issue or PR, that is not over
        and still to be run; in the order in which it was said.
        """
        return await self._database.run(_before, key)

    async def note_head(self, key: str, sha: str) -> None:
        """Keep the head that was there when the word was said. The first that was noted stays; durable on return."""
        await self._database.run(_note_head, (key, sha))

    async def end(self, key: str) -> None:
        """Nothing is left to do about the word; durable on return."""
        await self._database.run(_end, key)

    async def forget(self, before: datetime) -> None:
        """Forget words that came before then, when nothing of them is heard any more, and who said how much."""
        await self._database.run(_forget, before)

    async def has_policy(self, repository_id: int) -> bool:
        """Whether the last sweep of a repository saw a policy file there."""
        return await self._database.run(_has_policy, repository_id)

    async def heard_until(self, repository_id: int) -> datetime | None:
        """Until when the comments of a repository were all looked at; None where they never were."""
        return await self._database.run(_heard_until, repository_id)

    async def note_heard(self, repository_id: int, until: datetime) -> None:
        """The comments that changed before then were all looked at; durable on return."""
        await self._database.run(_note_heard, (repository_id, until))


def may_hold_command(text: str) -> bool:
    """Whether a comment is worth reading for commands."""
    return len(text) <= LONGEST and COMMAND in text.lower()


def storable(text: str) -> str:
    """Without what a database takes no text for: NUL, and halves of surrogate pairs."""
    return text.replace("\x00", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


def keep(connection: Connection, items: Sequence[tuple[Spoken, datetime]]) -> None:
    """Keep words that were received then, in the caller's transaction. Of one that is known already the first stays."""
    rows = {
        spoken.key: {
            "key": spoken.key,
            "text": spoken.text,
            "number": spoken.number,
            "author_id": spoken.author_id,
            "author_login": spoken.author_login,
            "created_at": spoken.created_at or received_at,
            "received_at": received_at,
            "node_id": spoken.node_id,
            "state": WordState.NEW,
        }
        for spoken, received_at in reversed(items)
    }
    if rows:
        # In the order of keys, as everywhere: two processes that lock rows in different orders would deadlock.
        statement = insert_into(connection, words).on_conflict_do_nothing(index_elements=[words.c.key])
        connection.execute(statement, [rows[key] for key in sorted(rows)])


def _find(connection: Connection, items: Sequence[str]) -> Sequence[Kept | None]:
    return [_found(connection, key) for key in items]


def _found(connection: Connection, key: str) -> Kept | None:
    row = connection.execute(select(words).where(words.c.key == key)).first()
    return _kept(row) if row is not None else None


def _before(connection: Connection, items: Sequence[str]) -> Sequence[tuple[Kept, ...]]:
    return [_before_one(connection, key) for key in items]


def _before_one(connection: Connection, key: str) -> tuple[Kept, ...]:
    this = _found(connection, key)
    if this is None:
        return ()
    repository, _, _ = key.partition("!")
    query = select(words).where(
        words.c.created_at <= this.created_at,
        words.c.state.not_in(OVER),
        # Of what is gone, or of a repository that is not reached any more, nothing is run.
        words.c.key.in_(select(pokes.c.key)),
        or_(words.c.author_id == this.author_id, words.c.number == this.number),
        words.c.key.startswith(f"{repository}!", autoescape=True),
    )
    earlier = (kept for row in connection.execute(query) if _said(kept := _kept(row)) < _said(this))
    return tuple(sorted(earlier, key=_said))


def _said(kept: Kept) -> tuple[datetime, int, str]:
    """When. GitHub tells whole seconds; of what was said in one its numbers tell the order."""
    return kept.created_at, len(kept.key), kept.key


def _kept(row: Row[tuple[Any, ...]]) -> Kept:
    return Kept(
        key=row.key,
        text=row.text,
        number=row.number,
        author_id=row.author_id,
        author_login=row.author_login,
        created_at=row.created_at,
        received_at=row.received_at,
        node_id=row.node_id,
        head_sha=row.head_sha,
        state=WordState(row.state),
    )


def _over(connection: Connection, items: Sequence[tuple[str, ...]]) -> Sequence[frozenset[str]]:
    answers = []
    for keys in items:
        found: set[str] = set()
        for start in range(0, len(keys), _AT_ONCE):
            named = words.c.key.in_(keys[start : start + _AT_ONCE])
            found.update(connection.execute(select(words.c.key).where(named, words.c.state.in_(OVER))).scalars())
        answers.append(frozenset(found))
    return answers


def _note_head(connection: Connection, items: Sequence[tuple[str, str]]) -> Sequence[None]:
    for key, sha in items:
        connection.execute(update(words).where(words.c.key == key, words.c.head_sha.is_(None)).values(head_sha=sha))
    return [None] * len(items)


def _end(connection: Connection, items: Sequence[str]) -> Sequence[None]:
    for key in items:
        connection.execute(update(words).where(words.c.key == key).values(state=WordState.DONE))
    return [None] * len(items)


def _forget(connection: Connection, items: Sequence[datetime]) -> Sequence[None]:
    connection.execute(delete(words).where(words.c.received_at < max(items)))
    connection.execute(delete(speakers).where(speakers.c.since < max(items)))
    return [None] * len(items)


def _has_policy(connection: Connection, items: Sequence[int]) -> Sequence[bool]:
    query = select(swept.c.policy)
    return [bool(connection.execute(query.where(swept.c.repository_id == id)).scalar_one_or_none()) for id in items]


def _heard_until(connection: Connection, items: Sequence[int]) -> Sequence[datetime | None]:
    query = select(heard_until.c.until)
    return [connection.execute(query.where(heard_until.c.repository_id == id)).scalar_one_or_none() for id in items]


def _note_heard(connection: Connection, items: Sequence[tuple[int, datetime]]) -> Sequence[None]:
    for id, until in items:
        insert = insert_into(connection, heard_until).values(repository_id=id, until=until)
        connection.execute(insert.on_conflict_do_update(index_elements=["repository_id"], set_={"until": until}))
    return [None] * len(items)
