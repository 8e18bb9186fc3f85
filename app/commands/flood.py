"""How much of one person is heard: a few things in a few minutes, then one notice, then nothing until the time is over.

The minutes are those in which it was said: who said ten things in three days is heard, though all of them are found at
once. What was decided about a word is kept with it, so that a retry counts it once, and a restart forgets nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, select, update

from app.controller.database import Database, insert_into
from app.controller.tables import speakers, words
from app.controller.words import Kept, WordState
from app.domain.keys import WordKey

MOST = 10
"""Commands."""
WITHIN = timedelta(minutes=10)
"""A person in a hurry says two or three things; a script that answers itself says hundreds."""


@dataclass(frozen=True)
class Admitted:
    """How far a word is now. `until`: when the person is heard again, where it was one of too many."""

    state: WordState
    until: datetime


class Flood:
    """Counts what each person says in each repository."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def admit(self, key: WordKey, kept: Kept, commands: int = 1) -> Admitted:
        """Whether the word with so many commands is heard; durable on return, and the same answer for the same word."""
        return await self._database.run(_admit, _Asked(str(key), key.repository.lower(), kept, commands))


@dataclass(frozen=True)
class _Asked:
    key: str
    repository: str
    kept: Kept
    commands: int


def _admit(connection: Connection, items: Sequence[_Asked]) -> Sequence[Admitted]:
    return [_admit_one(connection, item) for item in items]


def _admit_one(connection: Connection, asked: _Asked) -> Admitted:
    said, author = asked.kept.created_at, asked.kept.author_id
    this = (speakers.c.repository == asked.repository) & (speakers.c.author_id == author)
    first = insert_into(connection, speakers).values(
        repository=asked.repository, author_id=author, since=said, heard=0, told=False
    )
    connection.execute(first.on_conflict_do_nothing(index_elements=["repository", "author_id"]))
    speaker = connection.execute(select(speakers).where(this).with_for_update()).one()
    known = connection.execute(select(words.c.state).where(words.c.key == asked.key)).scalar_one()
    since, heard, told = speaker.since, speaker.heard, speaker.told
    if known != WordState.NEW:
        return Admitted(WordState(known), since + WITHIN)
    if abs(said - since) >= WITHIN:
        since, heard, told = said, 0, False
    if heard < MOST:
        state, heard = WordState.HEARD, heard + asked.commands
    elif not told:
        state, told = WordState.NOTICE, True
    else:
        state = WordState.DROPPED
    connection.execute(update(speakers).where(this).values(since=since, heard=heard, told=told))
    connection.execute(update(words).where(words.c.key == asked.key).values(state=state))
    return Admitted(state, since + WITHIN)
