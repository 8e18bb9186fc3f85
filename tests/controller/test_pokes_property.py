"""Whatever pokes, runs, kills and clocks do in whatever order: no poke is lost and no key is shared."""

import asyncio
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete

from app.controller.database import Database
from app.controller.pokes import Extension, Poke, PokeStore, Settlement
from app.controller.tables import pokes

KEYS = st.sampled_from(["o/r#1", "o/r#2", "o/r"])
WORKERS = st.integers(0, 2)
STEPS = st.one_of(
    st.tuples(st.just("poke"), KEYS, st.sampled_from([0, 0, 7, 40])),
    st.tuples(st.just("take"), WORKERS),
    st.tuples(st.just("settle"), WORKERS, st.sampled_from([None, None, 5])),
    st.tuples(st.just("extend"), WORKERS),
    st.tuples(st.just("kill"), WORKERS),
    st.tuples(st.just("forward"), st.sampled_from([1, 10, 21])),
)


class World:
    """What must hold, kept beside what the store says."""

    def __init__(self, store: PokeStore, clock) -> None:
        self.store, self.clock = store, clock
        self.running: dict[int, Poke] = {}
        self.owed: set[str] = set()  # poked, and no run that began since has ended well
        self.poked_since_start: dict[int, bool] = {}
        self.claimed_until: dict[str, tuple[str, object]] = {}

    async def step(self, step: tuple) -> None:
        match step:
            case ("poke", key, seconds):
                await self.store.poke(key, due_at=self.clock.now + timedelta(seconds=seconds))
                self.owed.add(key)
                for worker, poke in self.running.items():
                    self.poked_since_start[worker] |= poke.key == key
            case ("take", worker) if worker not in self.running:
                await self.take(worker)
            case ("settle", worker, seconds) if worker in self.running:
                await self.settle(worker, seconds)
            case ("extend", worker) if worker in self.running:
                poke = self.running[worker]
                if await self.store.extend(poke) is Extension.HELD:
                    self.claimed_until[poke.key] = (poke.claim, self.clock.now + timedelta(seconds=20))
            case ("kill", worker):
                self.running.pop(worker, None)
            case ("forward", seconds):
                self.clock.forward(seconds)

    async def take(self, worker: int) -> Poke | None:
        poke = await self.store.take(f"worker-{worker}")
        if poke is not None:
            _, until = self.claimed_until.get(poke.key, ("", self.clock.now))
            assert until <= self.clock.now, "taken while another's claim lives"
            self.claimed_until[poke.key] = (poke.claim, poke.claimed_until)
            self.running[worker] = poke
            self.poked_since_start[worker] = False
        return poke

    async def settle(self, worker: int, seconds: int | None) -> None:
        poke = self.running.pop(worker)
        again_at = None if seconds is None else self.clock.now + timedelta(seconds=seconds)
        settlement = await self.store.settle(poke, again_at)
        claim, _ = self.claimed_until.get(poke.key, ("", None))
        assert (settlement is Settlement.CLAIM_LOST) == (claim != poke.claim)
        if settlement is Settlement.CLAIM_LOST:
            return
        del self.claimed_until[poke.key]
        poked = self.poked_since_start[worker]
        assert (settlement is Settlement.DUE_AGAIN) == (poked or again_at is not None)
        if not poked:
            self.owed.discard(poke.key)

    async def everything_owed_is_run(self) -> None:
        self.running.clear()  # all workers are killed
        for _ in range(50):
            due = await self.store.next_due()
            if due is None:
                break
            self.clock.now = max(self.clock.now, due)
            assert await self.take(9) is not None, "next_due promised a key"
            await self.settle(9, None)
        assert self.owed == set()
        assert await self.store.next_due() is None


@pytest.mark.parametrize("steps", [60])
def test_no_interleaving_loses_a_poke(database: Database, clock, steps: int) -> None:
    with asyncio.Runner() as runner:

        @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
        @given(st.lists(STEPS, max_size=steps))
        def any_order(script: list[tuple]) -> None:
            async def play() -> None:
                world = World(PokeStore(database, clock), clock)
                await database.run(lambda connection, items: [connection.execute(delete(pokes))], None)
                for step in script:
                    await world.step(step)
                await world.everything_owed_is_run()

            runner.run(play())

        any_order()
