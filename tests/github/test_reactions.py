"""Reactions of the App: once each, found again, and taken away."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from delivery_world import NAME, DeliveryWorld

from app.github.reactions import NotReacted


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[DeliveryWorld]:
    async with DeliveryWorld(tmp_path) as made:
        await made.emulated.control("POST", "/issues", repo=NAME, title="T")
        yield made


async def test_a_reaction_stands_once_and_goes_again(world: DeliveryWorld) -> None:
    made = (await world.wanda.post(f"/repos/{NAME}/issues/1/comments", json={"body": "/recovery land"})).json()
    listed = f"/repos/{NAME}/issues/comments/{made['id']}/reactions"
    await world.wanda.post(listed, json={"content": "rocket"})
    repo = world.repository
    assert await repo.own_reactions(made["node_id"]) == frozenset()
    assert [await repo.react(made["id"], "eyes") for _ in range(2)] == [None, None]
    assert await repo.own_reactions(made["node_id"]) == {"eyes"}
    assert [one["content"] for one in (await world.wanda.get(listed)).json()] == ["rocket", "eyes"]
    assert await repo.react(made["id"], "rocket") is None
    assert [await repo.unreact(made["node_id"], "eyes") for _ in range(2)] == [None, None]
    assert await repo.own_reactions(made["node_id"]) == {"rocket"}
    assert len((await world.wanda.get(listed)).json()) == 2, "another's reaction stays"


async def test_where_it_cannot_stand_github_says_why(world: DeliveryWorld) -> None:
    made = (await world.wanda.post(f"/repos/{NAME}/issues/1/comments", json={"body": "/recovery land"})).json()
    repo = world.repository
    await world.boss.put(f"/repos/{NAME}/issues/1/lock", json={})
    assert await repo.react(made["id"], "eyes") == NotReacted("Unable to create reaction because issue is locked.")
    await world.wanda.delete(f"/repos/{NAME}/issues/comments/{made['id']}")
    gone = await repo.react(made["id"], "eyes")
    assert isinstance(gone, NotReacted)
    assert gone.gone
    assert await repo.own_reactions(made["node_id"]) == frozenset()
    removed = await repo.unreact(made["node_id"], "eyes")
    assert isinstance(removed, NotReacted)
    assert removed.gone
