"""Tokens that were used, so that each is good for one call, whichever process is called.

Losing the table makes those usable once more that were issued in the last minutes.
"""

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import Connection, delete, select

from app.controller.clock import Clock
from app.controller.database import Database, insert_into
from app.controller.tables import spent_tokens

KEPT_LONGER = timedelta(minutes=10)
"""Processes whose clocks differ still refuse what one of them would throw away."""


class SpentTokens:
    """The ids of used tokens in a database."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def spend(self, id: str, until: datetime) -> bool:
        """Note that the token of this id was used; False where it was used before. `until`: when nobody accepts it any
        more. Durable on return.
        """
        return await self._database.run(_spend, (id, until, secrets.token_hex(8), self._clock()))


def _spend(connection: Connection, items: Sequence[tuple[str, datetime, str, datetime]]) -> Sequence[bool]:
    connection.execute(delete(spent_tokens).where(spent_tokens.c.until < max(now for *_, now in items) - KEPT_LONGER))
    answers = []
    for id, until, by, _ in items:
        row = insert_into(connection, spent_tokens).values(id=id, until=until, by=by)
        connection.execute(row.on_conflict_do_nothing(index_elements=["id"]))
        # Whoever's mark stands used it: so the same job, done again after a lost connection, has the same answer.
        stands = connection.execute(select(spent_tokens.c.by).where(spent_tokens.c.id == id)).scalar_one_or_none()
        answers.append(stands == by)
    return answers
