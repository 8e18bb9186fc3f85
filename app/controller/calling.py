"""What the calls of agents and of persons have in common."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.controller.pokes import PokeStore
from app.controller.view import NoIssue
from app.domain.keys import TicketKey
from app.domain.outcome import Blocked, Code, Refused
from app.domain.ticket_id import TicketId, number_of

_TOLD = (Code.FROZEN, Code.ATTEMPTS_EXHAUSTED, Code.TOO_OLD)
"""Refusals that the loop shows to people."""


class Calls:
    """What every call from outside has in common: nothing is written while writes are off, and whoever comes upon what
    a person must know lets the loop tell it.
    """

    _writes: bool
    _pokes: PokeStore

    @asynccontextmanager
    async def _telling(self, owner: str, name: str, ticket: TicketId) -> AsyncIterator[None]:
        """Moving a ledger ref sends no webhook, a lease that runs out neither: who comes upon what a person must know
        lets the loop tell it at once.
        """
        try:
            yield
        except Refused as refused:
            if refused.blocked.code in _TOLD:
                await self._pokes.poke(str(TicketKey(f"{owner}/{name}", ticket)))
            raise

    def _require_writes(self) -> None:
        if not self._writes:
            raise Refused(
                Blocked(
                    Code.WRITES_OFF,
                    "the operator has switched all writes off",
                    "try again when AGENT_RECOVERY_WRITES is on again",
                    retryable=True,
                )
            )


@asynccontextmanager
async def naming(ticket: TicketId) -> AsyncIterator[None]:
    """Says that the number is wrong to callers who may see the repository; a lease of another one learns nothing."""
    try:
        yield
    except NoIssue as missing:
        reason, remedy = f"there is no Issue #{number_of(ticket)}", "check the repository and the number"
        raise Refused(Blocked(Code.NOT_FOUND, reason, remedy)) from missing
