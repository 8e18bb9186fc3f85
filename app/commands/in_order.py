"""What is said one after the other is carried out one after the other, though it is found, or tried again, at once.

Otherwise a `hold` and the `unhold` that took it back could be carried out the other way round. What only shows
something waits for nothing and keeps nothing waiting. Nobody's word waits for long where nothing goes on: one that
cannot be carried out now, or that of another process which died, comes after those that were said later.
"""

import asyncio
import time
from collections.abc import Set

from app.commands.buttons import click_of
from app.commands.grammar import commands_in
from app.commands.registry import find
from app.commands.verb import Permission, Verb
from app.controller.words import Kept, WordStore
from app.domain.keys import WordKey, parse_key

MOST_S = 10.0
"""Without any word before being over."""
LOOK_EVERY_S = 0.2


class InOrder:
    """Waits for those before."""

    def __init__(self, words: WordStore) -> None:
        self._words = words

    async def wait(self, key: WordKey, kept: Kept, settled: Set[str] = frozenset()) -> None:
        """Until nothing is under way that was said before it, by its author or on its Issue or PR; not for ever.
        `settled`: words of which no more than their answer is open.
        """
        if not _changes(kept):
            return
        until, left = 0.0, 0
        while (count := await self._under_way(str(key), settled)) > 0:
            if count != left:
                until, left = time.monotonic() + MOST_S, count
            if time.monotonic() >= until:
                return
            await asyncio.sleep(LOOK_EVERY_S)

    async def _under_way(self, key: str, settled: Set[str]) -> int:
        before = await self._words.before(key)
        return sum(one.key not in settled and _changes(one) for one in before)


def _changes(kept: Kept) -> bool:
    """Whether a word may change anything, by its text alone."""
    return any(verb is not None and verb.permission is not Permission.READ for verb in _verbs(kept))


def _verbs(kept: Kept) -> list[Verb | None]:
    key = parse_key(kept.key)
    if isinstance(key, WordKey) and key.comment_id is None:
        click = click_of(key, kept)
        return [click.verb] if click is not None else []
    return [find(command.verb) for command in commands_in(kept.text).commands]
