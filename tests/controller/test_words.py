"""What persons said, on every database it may lie in: kept with its poke, the first text stays, its own lane."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.commands.flood import MOST, WITHIN, Flood
from app.controller.database import Database
from app.controller.pokes import First, PokeStore
from app.controller.words import Spoken, WordState, WordStore
from app.domain.keys import WordKey

TICKET = "octo-org/demo#42"
SAID_AT = datetime(2026, 11, 30, 11, 59, tzinfo=UTC)


def spoken(number: int, text: str = "/recovery hold", author: int = 7, at: datetime = SAID_AT) -> Spoken:
    return Spoken(f"octo-org/demo!comment-{number}", text, 42, author, "dev-a", at, "IC_1")


@pytest.fixture
def store(database: Database, clock: Any) -> PokeStore:
    return PokeStore(database, clock)


@pytest.fixture
def words(database: Database) -> WordStore:
    return WordStore(database)


async def test_the_first_text_stays_whatever_comes_again(store: PokeStore, words: WordStore, clock: Any) -> None:
    await store.poke(spoken(1).key, TICKET, words=[spoken(1)])
    clock.forward(60)
    await store.poke(spoken(1).key, words=[spoken(1, "/recovery cancel", author=8)])
    kept = await words.find(spoken(1).key)
    assert kept is not None
    assert (kept.text, kept.author_id, kept.created_at, kept.state) == ("/recovery hold", 7, SAID_AT, WordState.NEW)
    assert kept.received_at == clock.now - timedelta(seconds=60)
    assert await words.find("octo-org/demo!comment-2") is None
    # Of one delivery that comes twice at once, too.
    await asyncio.gather(*(store.poke(spoken(3).key, words=[spoken(3, f"text {n}")]) for n in range(20)))
    third = await words.find(spoken(3).key)
    assert third is not None
    assert third.text.startswith("text ")


async def test_words_and_everything_else_have_lanes_of_their_own(store: PokeStore, clock: Any) -> None:
    await store.poke(TICKET, "octo-org/demo")
    await store.poke(spoken(1).key, words=[spoken(1)])
    assert [p.key for p in [await store.take("w", First.WORDS)] if p] == [spoken(1).key]
    assert await store.take("w", First.WORDS) is None
    assert {p.key for p in [await store.take("t", First.OTHERS) for _ in range(2)] if p} == {TICKET, "octo-org/demo"}
    assert await store.take("t", First.TICKETS) is None
    # A killed worker's word is another's to hear, and no other lane's.
    clock.forward(21)
    assert await store.next_due(First.WORDS) is not None
    lapsed = [await store.take("t", First.TICKETS) for _ in range(3)]
    assert {p.key for p in lapsed if p} == {TICKET, "octo-org/demo"}
    again = await store.take("w2", First.WORDS)
    assert again is not None
    assert again.key == spoken(1).key


async def test_the_head_that_was_noted_first_stays_and_what_is_over_is_forgotten(
    store: PokeStore, words: WordStore, clock: Any
) -> None:
    await store.poke(spoken(1).key, spoken(2).key, words=[spoken(1), spoken(2)])
    await words.note_head(spoken(1).key, "a" * 40)
    await words.note_head(spoken(1).key, "b" * 40)
    kept = await words.find(spoken(1).key)
    assert kept is not None
    assert kept.head_sha == "a" * 40
    await words.end(spoken(1).key)
    assert await words.over([spoken(1).key, spoken(2).key, "o/r!comment-9"]) == {spoken(1).key}
    assert await words.over([]) == frozenset()
    await words.forget(clock.now)
    assert await words.find(spoken(2).key) is not None
    await words.forget(clock.now + timedelta(seconds=1))
    assert await words.find(spoken(2).key) is None


async def test_where_the_last_look_ended(words: WordStore, clock: Any) -> None:
    assert await words.heard_until(5) is None
    await words.note_heard(5, clock.now)
    await words.note_heard(5, later := clock.forward(60))
    assert (await words.heard_until(5), await words.heard_until(6)) == (later, None)
    assert not await words.has_policy(5)


async def test_a_flood_is_counted_once_for_each_word_by_several_at_once(
    store: PokeStore, words: WordStore, database: Database, clock: Any
) -> None:
    said = [spoken(number) for number in range(1, MOST + 6)]
    await store.poke(*(one.key for one in said), words=said)
    flood = Flood(database)

    async def admitted(one: Spoken) -> WordState:
        kept = await words.find(one.key)
        assert kept is not None
        owner, _, word = one.key.partition("!")
        return (await flood.admit(WordKey(owner, word), kept)).state

    states = await asyncio.gather(*(admitted(one) for one in said for _ in range(2)))
    counted = [states.count(state) for state in (WordState.HEARD, WordState.NOTICE, WordState.DROPPED)]
    assert counted == [2 * MOST, 2, 8]
    assert await asyncio.gather(*(admitted(one) for one in said for _ in range(2))) == states
    other = spoken(100, author=8)
    await store.poke(other.key, words=[other])
    assert await admitted(other) is WordState.HEARD
    after = spoken(101, at=SAID_AT + WITHIN)
    await store.poke(after.key, words=[after])
    assert await admitted(after) is WordState.HEARD


async def test_a_flood_is_what_was_said_within_minutes_however_late_it_is_found(
    store: PokeStore, words: WordStore, database: Database, clock: Any
) -> None:
    flood = Flood(database)
    said = [spoken(number, at=SAID_AT + number * WITHIN / 4) for number in range(1, 3 * MOST)]
    await store.poke(*(one.key for one in said), words=said)
    # All of them are found at once, in one order or the other.
    for one in (*said[:MOST], *reversed(said[MOST:])):
        kept = await words.find(one.key)
        assert kept is not None
        assert (await flood.admit(WordKey(*one.key.split("!")), kept)).state is WordState.HEARD


async def test_a_comment_counts_as_many_things_as_it_says(
    store: PokeStore, words: WordStore, database: Database
) -> None:
    flood = Flood(database)
    said = [spoken(number) for number in range(1, 4)]
    await store.poke(*(one.key for one in said), words=said)
    found = [await words.find(one.key) for one in said]
    states = [
        (await flood.admit(WordKey(*one.key.split("!")), kept, MOST - 1)).state
        for one, kept in zip(said, found, strict=True)
        if kept is not None
    ]
    assert states == [WordState.HEARD, WordState.HEARD, WordState.NOTICE]


async def test_what_was_said_before_by_its_author_or_in_its_place(store: PokeStore, words: WordStore) -> None:
    later = SAID_AT + timedelta(seconds=1)
    said = [
        spoken(9),
        replace(spoken(10), number=43),
        replace(spoken(11, author=8), number=43),
        spoken(12, author=8),
        replace(spoken(3, author=8), key="octo-org/demo-2!comment-3"),
        spoken(13, at=later),
        spoken(14, at=later),
    ]
    await store.poke(*(one.key for one in said), words=said)
    before = [kept.key for kept in await words.before(said[5].key)]
    assert before == [said[0].key, said[1].key, said[3].key]
    await words.end(said[0].key)
    assert [kept.key for kept in await words.before(said[6].key)] == [said[1].key, said[3].key, said[5].key]
    assert await words.before("octo-org/demo!comment-999") == ()
    # One that the loop gave up, because there is nothing any more where it was said.
    dropped = [await store.take("w", First.WORDS) for _ in said]
    for poke in dropped:
        if poke is not None and poke.key == said[1].key:
            await store.settle(poke, None)
    assert [kept.key for kept in await words.before(said[6].key)] == [said[3].key, said[5].key]
