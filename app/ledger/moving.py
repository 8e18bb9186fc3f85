"""Moving a ledger by compare-and-set, until it is known whether it moved.

What must hold (the ownership protocol, R8, R10): one commit is sent, however often; no other is built before that one
is decided. A clear yes is a yes. Anything else says nothing, so the refs are read: our commit is a ledger's head or a
first-parent ancestor of it → it moved; the refs are still where they were → the same commands again, at last once
through receive-pack, whose report has words; an older value → the read lags, read again; else somebody else won.
"""

import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field

from app.domain.model import ZERO_SHA
from app.domain.refs import names_above
from app.github.errors import GitHubError, NotFound, RefsUndecided
from app.github.refs import RefUpdate
from app.github.repository import Repository
from app.ledger.chain import read_chain

SENDS = 6
"""The first and five more, before receive-pack is tried."""
DIRECT_SENDS = 3
"""Through receive-pack, where updateRefs is known to be refused."""
READS = 4
"""Of refs that show an older value than we have seen."""
FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 5.0

_ANSWERED = 200
_Send = Callable[[Sequence[RefUpdate]], Awaitable[dict[str, str | None]]]


@dataclass
class RefusedUpdates:
    """Repositories where `updateRefs` was seen to be refused though the same move passed as a push. A memory of one
    deployment: forgetting it costs some requests, nothing else.
    """

    repositories: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class Moved:
    """Our commit is in the ledger; it need not be the head any more."""


@dataclass(frozen=True)
class Overtaken:
    """The refs are elsewhere without us. `elsewhere`: the names of those that are."""

    elsewhere: tuple[str, ...]


@dataclass(frozen=True)
class Unknown:
    """The refs are still where they were and nobody says why; a request may still be under way. `refused`: none is,
    because every send was answered, the last one by git's own report.
    """

    reason: str
    refused: bool = False


@dataclass(frozen=True)
class Move:
    """One atomic update: `commit` is the ledger commit it publishes, `ledgers` the ticket's refs in both places,
    `older` commits that the ledger is known to be past.
    """

    updates: tuple[RefUpdate, ...]
    commit: str
    ledgers: tuple[str, ...]
    older: frozenset[str]


class _Still:
    """Every ref is where it was before."""


class Mover:
    """Carries out moves in one repository."""

    def __init__(self, repo: Repository, refused: RefusedUpdates, sleep: Callable[[float], Awaitable[None]]) -> None:
        self._repo = repo
        self._refused = refused
        self._sleep = sleep

    async def carry_out(self, move: Move) -> Moved | Overtaken | Unknown:
        """Send and settle. Raises GitHub's own refusal (permission, limit, suspension …) where the first send was
        refused before anything was tried.
        """
        by_push = self._repo.id in self._refused.repositories
        ways: list[_Send] = [self._push] * DIRECT_SENDS
        if not by_push:
            ways = [*[self._update] * SENDS, self._push]
        reason = "GitHub gave no reason"
        all_answered, reported = True, False
        for number, send in enumerate(ways):
            if number:
                await self._pause(number)
            try:
                refusals = [words for words in (await send(move.updates)).values() if words is not None]
                if not refusals:
                    self._learn(by_push, send == self._push, all_answered)
                    return Moved()
                reason, reported = refusals[0], True
            except RefsUndecided as error:
                reason, reported = error.reason or reason, False
                all_answered = all_answered and error.status == _ANSWERED
            except GitHubError as error:
                if number == 0:
                    raise
                return Unknown(str(error))
            try:
                found = await self._look(move)
            except GitHubError as error:
                return Unknown(f"the refs could not be read after {reason!r}: {error}")
            if not isinstance(found, _Still):
                return found
        return Unknown(await self._obstacle(move) or reason, refused=all_answered and reported)

    async def _obstacle(self, move: Move) -> str | None:
        """A ref that leaves no room for one that was to be made: GitHub's answers never name it."""
        above = {name for update in move.updates if update.before == ZERO_SHA for name in names_above(update.name)}
        for name in sorted(above):
            try:
                if await self._repo.exact_ref(name) is not None:
                    return f"the ref {name} leaves no room for the refs below it and has to be deleted"
            except GitHubError:
                return None
        return None

    def _learn(self, by_push: bool, pushed: bool, all_answered: bool) -> None:
        if pushed and not by_push and all_answered:
            self._refused.repositories.add(self._repo.id)

    async def _update(self, updates: Sequence[RefUpdate]) -> dict[str, str | None]:
        await self._repo.update_refs(updates)
        return {}

    async def _push(self, updates: Sequence[RefUpdate]) -> dict[str, str | None]:
        return await self._repo.receive_pack(updates)

    async def _look(self, move: Move) -> Moved | Overtaken | _Still:
        for number in range(READS):
            if number:
                await self._pause(number)
            values = await self._values({*move.ledgers, *(update.name for update in move.updates)})
            if await self._holds(move, values):
                return Moved()
            elsewhere = tuple(u.name for u in move.updates if values.get(u.name, ZERO_SHA) != u.before)
            if not elsewhere:
                return _Still()
            if not _lags(move, values, elsewhere):
                break
        return Overtaken(elsewhere)

    async def _values(self, names: Iterable[str]) -> dict[str, str]:
        """What each ref points to, those that stand."""
        found = {name: await self._repo.exact_ref(name) for name in sorted(names)}
        return {name: sha for name, sha in found.items() if sha is not None}

    async def _holds(self, move: Move, values: dict[str, str]) -> bool:
        heads = {values[name] for name in move.ledgers if name in values}
        if move.commit in heads:
            return True
        past = move.older | {move.commit}
        for head in heads - past:
            try:
                chain = await read_chain(self._repo, head, lambda entry: entry.sha in past)
            except NotFound:
                continue
            if any(entry.sha == move.commit for entry in chain.entries):
                return True
        return False

    async def _pause(self, number: int) -> None:
        longest = min(FIRST_PAUSE_S * 2.0**number, LONGEST_PAUSE_S)
        await self._sleep(longest * random.uniform(0.5, 1.0))


def _lags(move: Move, values: dict[str, str], elsewhere: Sequence[str]) -> bool:
    """Whether what was read is only older than what we know: a ledger behind its own past, or in no place at all."""
    if any(values.get(name) in move.older for name in elsewhere if name in move.ledgers):
        return True
    had_ledger = any(u.before != ZERO_SHA for u in move.updates if u.name in move.ledgers)
    return had_ledger and not any(name in values for name in move.ledgers)
