"""The contract of the queue, on every database it may live in."""

import asyncio
from datetime import timedelta

import pytest

from app.controller.database import Database
from app.controller.pokes import CLAIM, Extension, First, Poke, PokeStore, Settlement

KEY = "octo-org/demo#42"


@pytest.fixture
def store(database, clock) -> PokeStore:
    return PokeStore(database, clock)


async def taken(store: PokeStore, worker: str = "one") -> Poke:
    poke = await store.take(worker)
    assert poke is not None
    return poke


async def test_a_poke_is_taken_once_and_gone_after_its_run(store):
    await store.poke(KEY)
    poke = await taken(store)
    assert poke.key == KEY
    assert await store.take("two") is None
    assert await store.settle(poke, None) is Settlement.DONE
    assert await store.take("one") is None
    assert await store.next_due() is None


async def test_a_burst_before_a_run_is_one_run(store):
    for _ in range(20):
        await store.poke(KEY)
    await asyncio.gather(*(store.poke(KEY) for _ in range(50)))
    assert await store.settle(await taken(store), None) is Settlement.DONE
    assert await store.take("one") is None


async def test_a_poke_during_a_run_runs_the_key_again(store):
    await store.poke(KEY)
    poke = await taken(store)
    await store.poke(KEY)
    assert await store.take("two") is None, "never two workers on one key"
    assert await store.settle(poke, None) is Settlement.DUE_AGAIN
    again = await taken(store)
    assert again.version > poke.version
    assert await store.settle(again, None) is Settlement.DONE


async def test_a_poke_for_later_during_a_run_waits_until_then(store, clock):
    await store.poke(KEY)
    poke = await taken(store)
    later = clock.now + timedelta(minutes=5)
    await store.poke(KEY, due_at=later)
    assert await store.settle(poke, None) is Settlement.DUE_AGAIN
    assert await store.take("one") is None
    assert await store.next_due() == later
    clock.forward(300)
    assert (await taken(store)).key == KEY


async def test_the_earlier_of_two_due_times_wins(store, clock):
    soon, later = clock.now + timedelta(seconds=10), clock.now + timedelta(seconds=60)
    await store.poke(KEY, due_at=later)
    await store.poke(KEY, due_at=soon)
    await store.poke(KEY, due_at=later)
    assert await store.next_due() == soon
    clock.forward(9.999)
    assert await store.take("one") is None
    clock.forward(0.001)
    assert (await taken(store)).key == KEY


async def test_a_run_names_its_own_next_time(store, clock):
    await store.poke(KEY)
    at = clock.now + timedelta(seconds=30)
    assert await store.settle(await taken(store), at) is Settlement.DUE_AGAIN
    assert await store.take("one") is None
    clock.forward(30)
    assert (await taken(store)).key == KEY


async def test_the_poke_during_a_run_wins_over_a_later_next_time(store, clock):
    await store.poke(KEY)
    poke = await taken(store)
    await store.poke(KEY)
    await store.settle(poke, clock.now + timedelta(hours=1))
    assert (await taken(store)).key == KEY


async def test_what_waits_longest_comes_first(store, clock):
    for number in (3, 1, 2):
        await store.poke(f"octo-org/demo#{number}", due_at=clock.now - timedelta(seconds=number))
    order = [(await taken(store)).key for _ in range(3)]
    assert order == ["octo-org/demo#3", "octo-org/demo#2", "octo-org/demo#1"]


async def test_neither_tickets_nor_repositories_starve_behind_the_other(store, clock):
    await store.poke(*(f"octo-org/r{n}" for n in range(50)), "installation:7")
    clock.forward(1)
    await store.poke(KEY)
    first, other = await store.take("one", First.TICKETS), await store.take("two", First.OTHERS)
    assert first is not None
    assert other is not None
    assert first.key == KEY
    assert "#" not in other.key
    # Who finds nothing of its kind helps with the other.
    assert await store.take("one", First.TICKETS) is not None


async def test_a_killed_workers_key_is_taken_by_another_within_thirty_seconds(store, clock):
    await store.poke(KEY)
    dead = await taken(store, "killed")
    assert timedelta(seconds=30) >= CLAIM
    assert await store.next_due() == dead.claimed_until
    clock.forward(CLAIM.total_seconds() - 0.001)
    assert await store.take("two") is None
    clock.forward(0.001)
    successor = await taken(store, "two")
    assert successor.key == KEY
    assert await store.settle(successor, None) is Settlement.DONE


async def test_a_lapsed_claim_does_not_wait_behind_a_full_queue(store, clock):
    await store.poke(KEY)
    await taken(store, "killed")
    await store.poke(*(f"octo-org/other#{n}" for n in range(1, 50)), due_at=clock.now - timedelta(hours=1))
    clock.forward(30)
    assert (await taken(store, "two")).key == KEY


async def test_a_worker_that_extends_keeps_its_key(store, clock):
    await store.poke(KEY)
    poke = await taken(store)
    for _ in range(10):
        clock.forward(15)
        assert await store.extend(poke) is Extension.HELD
        assert await store.take("two") is None
    assert await store.settle(poke, None) is Settlement.DONE


async def test_who_lost_its_claim_changes_nothing(store, clock):
    await store.poke(KEY)
    slow = await taken(store, "same")
    clock.forward(31)
    successor = await taken(store, "same")
    assert await store.extend(slow) is Extension.CLAIM_LOST
    assert await store.settle(slow, None) is Settlement.CLAIM_LOST
    assert await store.extend(successor) is Extension.HELD
    assert await store.settle(successor, clock.now) is Settlement.DUE_AGAIN
    assert await store.settle(slow, None) is Settlement.CLAIM_LOST
    assert (await taken(store)).key == KEY


async def test_a_settled_poke_cannot_end_a_later_run(store):
    await store.poke(KEY)
    first = await taken(store)
    await store.settle(first, None)
    await store.poke(KEY)
    second = await taken(store)
    assert second.version != first.version
    assert await store.settle(first, None) is Settlement.CLAIM_LOST
    assert await store.settle(second, None) is Settlement.DONE


async def test_a_poke_at_once_is_told_from_every_other(store):
    told = await store.poke_at_once(KEY, "octo-org/demo")
    assert (await taken(store)).version in told.values()
    await store.poke(*told)
    again = await taken(store)
    assert again.version != told[again.key]
    assert await store.poke_at_once() == {}


async def test_many_keys_in_one_poke(store):
    keys = [f"octo-org/repo-{n}" for n in range(700)]
    await store.poke(*keys, *keys)
    assert {(await taken(store)).key for _ in keys} == set(keys)
    assert await store.take("one") is None
    await store.poke()


async def test_workers_never_share_a_key_and_miss_none(store, database_url, clock):
    others = [Database(database_url) for _ in range(2)]
    stores = [store, *(PokeStore(other, clock) for other in others)]
    try:
        await asyncio.gather(*(s.poke(*(f"octo-org/demo#{n}" for n in range(1, 61))) for s in stores))
        running: set[str] = set()
        runs: list[str] = []

        async def work(own: PokeStore) -> None:
            while (poke := await own.take("worker")) is not None:
                assert poke.key not in running
                running.add(poke.key)
                runs.append(poke.key)
                await asyncio.sleep(0)
                running.remove(poke.key)
                assert await own.settle(poke, None) is Settlement.DONE

        await asyncio.gather(*(work(s) for s in stores for _ in range(3)))
    finally:
        for other in others:
            other.close()
    assert sorted(runs) == sorted({f"octo-org/demo#{n}" for n in range(1, 61)})


async def test_processes_that_poke_the_same_keys_in_other_orders_do_not_block_each_other(store, database_url, clock):
    other = Database(database_url)
    second = PokeStore(other, clock)
    keys = [f"octo-org/demo#{n}" for n in range(1, 30)]
    try:
        rounds = [s.poke(*order) for _ in range(20) for s, order in ((store, keys), (second, keys[::-1]))]
        await asyncio.wait_for(asyncio.gather(*rounds), 20)
    finally:
        other.close()
    assert (await taken(store)).key in keys


async def test_a_local_poke_wakes_a_sleeping_loop(store):
    store.poked.clear()
    waiting = asyncio.create_task(store.poked.wait())
    await store.poke(KEY)
    await asyncio.wait_for(waiting, 5)


async def test_pokes_outlive_the_process_and_its_version(store, database, database_url, clock):
    await store.poke(KEY, "octo-org/demo")
    held = await taken(store, "version-1")
    database.close()
    reopened = Database(database_url)
    newer = PokeStore(reopened, clock)
    try:
        assert (await taken(newer, "version-2")).key in {KEY, "octo-org/demo"} - {held.key}
        assert await newer.take("version-2") is None
        clock.forward(30)
        assert {(await taken(newer, "version-2")).key for _ in range(2)} == {KEY, "octo-org/demo"}
    finally:
        reopened.close()
