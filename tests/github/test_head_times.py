"""Since when a commit has been a branch's head, by what GitHub itself noted."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from delivery_world import NAME, DeliveryWorld


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[DeliveryWorld]:
    async with DeliveryWorld(tmp_path) as made:
        yield made


async def later(world: DeliveryWorld, seconds: float) -> datetime:
    """Time goes by; the moment that it is then."""
    await world.emulated.control("POST", "/clock", advance_s=seconds)
    return datetime.fromisoformat(world.emulated.server.world.clock.stamp())


async def test_a_head_counts_from_its_push_and_not_from_its_commits_dates(world: DeliveryWorld) -> None:
    first = await world.commit("topic", {"a": "1"}, of="release-1")
    pushed = await world.repository.head_since("topic", first)
    assert pushed is not None
    said = await later(world, 60)
    second = await world.commit("topic", {"a": "2"})
    moved = await world.repository.head_since("topic", second)
    assert moved is not None
    assert pushed < said <= moved


async def test_a_branch_that_goes_back_to_an_old_commit_has_it_as_head_only_since_then(world: DeliveryWorld) -> None:
    first = await world.commit("topic", {"a": "1"}, of="release-1")
    await later(world, 60)
    second = await world.commit("topic", {"a": "2"})
    said = await later(world, 60)
    moved = {"sha": first, "force": True}
    (await world.wanda.patch(f"/repos/{NAME}/git/refs/heads/topic", json=moved)).raise_for_status()
    back = await world.repository.head_since("topic", first)
    assert back is not None
    assert said <= back
    # A head that the newest push did not leave is none of before now.
    elsewhere = await world.repository.head_since("topic", second)
    assert elsewhere is not None
    assert elsewhere >= back


@pytest.mark.parametrize("code", [403, 404])
async def test_where_the_pushes_are_not_told_the_first_check_suite_counts(world: DeliveryWorld, code: int) -> None:
    first = await world.commit("topic", {"a": "1"}, of="release-1")
    known = await world.repository.head_since("topic", first)
    await later(world, 600)
    await world.emulated.control(
        "POST", "/faults", kind="status", match={"path_regex": "/activity"}, times=9, code=code, body={"message": "No"}
    )
    told = await world.repository.head_since("topic", first)
    assert known is not None
    assert told is not None
    assert abs(told - known) <= timedelta(seconds=2)
    await world.emulated.control(
        "POST", "/faults", kind="status", match={"path_regex": "/check-suites"}, times=9, code=code, body={}
    )
    assert await world.repository.head_since("topic", first) is None
