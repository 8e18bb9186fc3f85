"""Heartbeats: each fencing identity by itself."""

from dataclasses import replace

import pytest

from app.controller.heartbeats import Heartbeats, Holder

HOLDER = Holder(repository_id=2**33, ticket="42", generation=3, nonce="n-3")


@pytest.fixture
def heartbeats(database, clock) -> Heartbeats:
    return Heartbeats(database, clock)


async def test_the_last_beat_counts(heartbeats, clock):
    assert await heartbeats.last_seen(HOLDER) is None
    await heartbeats.beat(HOLDER)
    at = clock.forward(60)
    assert await heartbeats.beat(HOLDER) == at
    assert await heartbeats.last_seen(HOLDER) == at


async def test_a_clock_that_steps_back_takes_nothing_away(heartbeats, clock):
    at = await heartbeats.beat(HOLDER)
    clock.forward(-60)
    await heartbeats.beat(HOLDER)
    assert await heartbeats.last_seen(HOLDER) == at


@pytest.mark.parametrize(
    "other",
    [
        replace(HOLDER, generation=2),
        replace(HOLDER, nonce="n-x"),
        replace(HOLDER, ticket="42.docs-1"),
        replace(HOLDER, repository_id=1),
    ],
)
async def test_another_identity_never_counts(heartbeats, other):
    await heartbeats.beat(other)
    assert await heartbeats.last_seen(HOLDER) is None


async def test_old_generations_are_forgotten(heartbeats):
    old, other = replace(HOLDER, generation=2), replace(HOLDER, ticket="7", generation=1)
    for holder in (old, HOLDER, other):
        await heartbeats.beat(holder)
    await heartbeats.forget(HOLDER.repository_id, "42", before_generation=3)
    assert await heartbeats.last_seen(old) is None
    assert await heartbeats.last_seen(HOLDER) is not None
    assert await heartbeats.last_seen(other) is not None
