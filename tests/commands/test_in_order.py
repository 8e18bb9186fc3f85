"""Which words wait for which: only what changes something, and not for ever."""

import asyncio
import time
from datetime import UTC, datetime

import pytest

from app.commands import in_order
from app.commands.in_order import InOrder
from app.controller.words import Kept, WordState
from app.domain.keys import WordKey

AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
STATE = "1:1:1:" + "a" * 12


def kept(said: str, text: str) -> Kept:
    return Kept(f"acme/shop!{said}", text, 1, 7, "ann", AT, AT, "", None, WordState.HEARD)


class Before:
    """Stands for the store of words."""

    def __init__(self, *words: Kept) -> None:
        self.words = list(words)

    async def before(self, key: str) -> tuple[Kept, ...]:
        return tuple(self.words)


async def waited(store: Before, word: Kept, settled: frozenset[str] = frozenset()) -> bool:
    """Whether it waited at all."""
    begun = time.monotonic()
    order = InOrder(store)  # type: ignore[arg-type]
    await asyncio.wait_for(order.wait(WordKey(*word.key.split("!")), word, settled), 20)
    return time.monotonic() - begun >= in_order.LOOK_EVERY_S


HOLD, OTHER = kept("comment-1", "/recovery hold"), kept("comment-2", "/recovery unhold")
STATUS = kept("comment-3", "/recovery status\n/recovery help\n/recovery lnad")
BRIEF = kept("button-5.brief.0123456789ab", STATE)
CLICK = kept("button-5.hold.0123456789ab", STATE)


@pytest.mark.parametrize(
    ("before", "word", "waits"),
    [
        (HOLD, OTHER, True),
        (CLICK, OTHER, True),
        (HOLD, CLICK, True),
        (HOLD, STATUS, False),
        (HOLD, BRIEF, False),
        (STATUS, OTHER, False),
        (BRIEF, OTHER, False),
    ],
)
async def test_what_only_shows_waits_for_nothing(
    before: Kept, word: Kept, waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_order, "MOST_S", 0.3)
    assert await waited(Before(before), word) is waits


async def test_the_wait_is_over_with_the_word_before_and_counts_anew_with_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_order, "MOST_S", 1.0)
    store = Before(*(kept(f"comment-{number}", "/recovery hold") for number in range(1, 5)))
    waiting = asyncio.create_task(waited(store, kept("comment-9", "/recovery cancel")))
    while store.words:
        await asyncio.sleep(0.6)
        assert not waiting.done()
        store.words.pop()
    assert await waiting


async def test_whose_answer_alone_is_open_is_not_waited_for() -> None:
    assert not await waited(Before(HOLD), OTHER, frozenset({HOLD.key}))
