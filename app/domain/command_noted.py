"""Commands of persons that a record remembers: one that is heard again is answered again, and nothing else happens (the
ownership protocol, R16).
"""

from datetime import datetime
from typing import Any, TypeVar

from pydantic import ValidationError

from app.domain.model import Instant, Stored
from app.domain.record import Record
from app.domain.release_record import ReleaseRecord

KEPT = 16
"""Commands that are remembered. One older than three days is never heard again."""
R = TypeVar("R", Record, ReleaseRecord)


class Command(Stored):
    """A command that was carried out: its id (a comment's, or one that its program made), who said which word, and the
    answer.
    """

    id: str
    verb: str
    by: str
    at: Instant
    answer: str


def known(record: Record | ReleaseRecord, id: str) -> Command | None:
    """The command of this id, if the record remembers it."""
    found = next((entry for entry in record.commands if entry.get("id") == id), None)
    try:
        return Command.model_validate(found) if found is not None else None
    except ValidationError:
        return None


def noted(record: R, command: Command) -> R:
    """The record that remembers one more command."""
    kept: list[dict[str, Any]] = [*record.commands, command.model_dump(mode="json")]
    return record.model_copy(update={"commands": tuple(kept[-KEPT:])})


def command(id: str, verb: str, by: str, answer: str, *, now: datetime) -> Command:
    """What is remembered of a command carried out now."""
    return Command(id=id, verb=verb, by=by, at=now, answer=answer)
