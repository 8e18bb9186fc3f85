"""Whoever says something sees at once that it was heard, whatever the service is busy with. The real loop runs here."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from loop_world import REPO
from spoken_world import Replica, SpokenWorld, ticket

from app.controller.person_commands import Done, Word
from app.controller.turn import Ended
from app.domain.keys import TicketKey

SOON_S = 30.0
"""For a machine that does many other things; what is asserted is what happened before what."""


@asynccontextmanager
async def at_work(service: Replica) -> AsyncIterator[None]:
    stop = asyncio.Event()
    working = asyncio.create_task(service.controller.work(stop))
    try:
        yield
    finally:
        stop.set()
        await asyncio.wait_for(working, SOON_S)


async def until(seen: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SOON_S
    while not await asyncio.to_thread(seen):
        assert time.monotonic() < deadline, "it was not seen"
        await asyncio.sleep(0.05)


class Stuck:
    """Rounds of tickets that end when the test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, service: Replica) -> None:
        self.begun, self.ended, self.go = 0, 0, asyncio.Event()
        monkeypatch.setattr(service.controller._loop._rounds, "run", self._run)

    async def _run(self, *_: Any) -> Ended:
        self.begun += 1
        await self.go.wait()
        self.ended += 1
        return Ended(None, "the test let it go")


async def test_while_every_worker_is_in_a_round_and_more_wait(
    world: SpokenWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = world.replica()
    made = await ticket(world, service)
    stuck = Stuck(monkeypatch, service)
    async with at_work(service):
        await service.pokes.poke(*(str(TicketKey(REPO, number)) for number in range(100, 140)))
        await until(lambda: stuck.begun == 4)
        comment = world.comment(made.ticket, "/recovery hold")
        await world.deliver(service, "issue_comment", world.payload(made.ticket, comment))
        await until(lambda: world.reactions(comment["id"]) == ["eyes", "rocket"])
        assert (stuck.begun, stuck.ended) == (4, 0)
        stuck.go.set()


class Deaf:
    """Stands for the controller: what it is to do takes until the test says so."""

    def __init__(self, done: Done) -> None:
        self.said: list[str] = []
        self.go, self._done = asyncio.Event(), done

    @property
    def heard(self) -> int:
        return len(self.said)

    async def hear(self, owner: str, name: str, ticket: Any, word: Word) -> Done:
        self.said.append(word.id)
        await self.go.wait()
        return self._done


async def test_while_other_words_are_being_carried_out(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ticket(world, service)
    deaf = Deaf(Done("it was heard", await made.record(), changed=True))
    service.ears._doing = deaf  # type: ignore[assignment]
    async with at_work(service):
        said = [world.comment(made.ticket, f"/recovery hold {number}") for number in range(6)]
        for comment in said:
            await world.deliver(service, "issue_comment", world.payload(made.ticket, comment))
        await until(lambda: all(world.reactions(c["id"]) == ["eyes"] for c in said))
        # One after the other, as they were said.
        assert deaf.heard == 1
        assert world.comments(made.ticket, "agent-recovery:answer") == []
        deaf.go.set()
        await until(lambda: all(world.reactions(c["id"]) == ["eyes", "rocket"] for c in said))
    assert deaf.said == [str(comment["id"]) for comment in said]


async def test_the_first_write_is_the_reaction_and_little_is_read_before_it(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ticket(world, service)
    number = int(made.pull()["number"])
    comment = world.comment(number, "/recovery hold")
    since = world.requested()
    await world.deliver(service, "issue_comment", world.payload(number, comment))
    await service.hear()
    ours = [r for r in world.emulator.requests(since) if str(r["identity"]).startswith("app:")]
    writes = world.writes(since)
    assert writes[0] == f"POST /repos/{REPO}/issues/comments/{comment['id']}/reactions"
    before = next(n for n, r in enumerate(ours) if str(r["path"]).endswith("/reactions"))
    assert before <= 3, [r["path"] for r in ours[:before]]
