"""The loop: take a due key, run its round, settle it. Workers may run in several processes on one database.

A key whose run failed is due again with growing delay; nothing is lost by an exception, because the row is only removed
after a run that ended.
"""

import asyncio
import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import cycle

import structlog

from app.controller.clock import Clock
from app.controller.ears import Ears
from app.controller.pokes import Extension, First, Poke, PokeStore
from app.controller.policy_checks import PolicyShowing
from app.controller.releases import Releases
from app.controller.resuming import Resuming
from app.controller.round import Rounds
from app.controller.stops import Stops
from app.controller.sweep import Sweeper
from app.controller.turn import Ended
from app.controller.view import Gone
from app.domain.keys import InstallationKey, IssueKey, RepositoryKey, TicketKey, WordKey, parse_key
from app.domain.outcome import Refused
from app.github.budget import counting
from app.github.errors import GitHubError, Moved, RateLimited, ServerError, Suspended, Unanswered, Uninstalled

SWEEP_EVERY_S = 300.0
IDLE_S = 1.0
"""How long a worker sleeps at most without a poke of this process; another process may poke, too."""
EXTEND_EVERY_S = 5.0
TICK_EVERY_S = 10.0
"""How often the service shows itself that it lives."""
HEARD_AT_ONCE = 32
"""Words that are carried out at a time: whoever says something sees that it was heard, whatever else is going on."""
NEW_WORDS_S = 0.5
"""How long words of another process wait at most."""
TURNS = (First.TICKETS, First.TICKETS, First.TICKETS, First.OTHERS)
"""What a worker prefers, in turn: neither tickets nor repositories wait for ever behind the other."""
AFTER_FAILURE = timedelta(seconds=5)
AFTER_STOPPED = timedelta(minutes=1)
"""A stopped repository is not read for nothing; its pokes wait."""
LONGEST_DELAY = timedelta(minutes=10)

log = structlog.get_logger()


@dataclass(frozen=True)
class _Repeat:
    """How often in a row a key was to be looked at again for one reason, and when that is next."""

    reason: str
    count: int
    due: datetime


class Loop:
    """Workers over the poke store, and the sweep timer."""

    def __init__(
        self,
        rounds: Rounds,
        sweeper: Sweeper,
        policy: PolicyShowing,
        releases: Releases,
        pokes: PokeStore,
        clock: Clock,
        stops: Stops,
        resuming: Resuming,
        workers: int = 4,
    ) -> None:
        self._rounds = rounds
        self._sweeper = sweeper
        self._pokes = pokes
        self._clock = clock
        self._stops = stops
        self._policy = policy
        self._releases = releases
        self._workers = workers
        self._resuming = resuming
        self._ears: Ears | None = None
        self._failures: dict[str, int] = {}
        self._repeats: dict[str, _Repeat] = {}

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set; returns when the running rounds have ended."""
        await self._resuming.start()
        async with asyncio.TaskGroup() as group:
            for number in range(self._workers):
                group.create_task(self._work(f"worker-{number}", stop))
            if self._ears is not None:
                group.create_task(self._listen(stop, group))
            group.create_task(self._sweep(stop))
            group.create_task(self._tick(stop))

    def lend(self, ears: Ears) -> None:
        """Hear from now on what persons say; before `run`."""
        self._ears = ears

    async def _work(self, name: str, stop: asyncio.Event) -> None:
        turns = cycle(TURNS)
        while not stop.is_set():
            poke = await self._pokes.take(name, next(turns))
            if poke is None:
                await self._idle(stop)
                continue
            await self._pokes.settle(poke, await self._run(poke))

    async def _listen(self, stop: asyncio.Event, group: asyncio.TaskGroup) -> None:
        """Words have turns of their own: no round of a ticket, and no other word, keeps one waiting to be heard."""
        room = asyncio.Semaphore(HEARD_AT_ONCE)
        while not stop.is_set():
            await room.acquire()
            self._pokes.said.clear()
            poke = await self._pokes.take("ears", First.WORDS)
            if poke is None:
                room.release()
                await _either(NEW_WORDS_S, self._pokes.said, stop)
                continue
            group.create_task(self._hear(poke, room))

    async def _hear(self, poke: Poke, room: asyncio.Semaphore) -> None:
        try:
            await self._pokes.settle(poke, await self._run(poke))
        finally:
            room.release()

    async def _idle(self, stop: asyncio.Event) -> None:
        due = await self._pokes.next_due()
        wait = IDLE_S if due is None else min(IDLE_S, max((due - self._clock()).total_seconds(), 0.01))
        self._pokes.poked.clear()
        await _either(wait, self._pokes.poked, stop)

    async def _run(self, poke: Poke) -> datetime | None:
        extending, begun = asyncio.create_task(self._extend(poke)), self._clock()
        try:
            with counting("loop"):
                ended = await self._one(poke)
        except (Gone, Moved, Suspended, Uninstalled) as error:
            log.info("key dropped", key=poke.key, error=str(error))
            return None
        except RateLimited as error:
            return error.retry_at
        except (ServerError, Unanswered) as error:
            await self._resuming.reached(answered=False)
            return self._later(poke.key, str(error))
        except (GitHubError, Refused) as error:
            return self._later(poke.key, str(error))
        except Exception as error:
            # A fault of ours must not stop the other keys; it is seen in the log and tried again.
            log.exception("round failed", key=poke.key)
            return self._later(poke.key, type(error).__name__)
        finally:
            extending.cancel()
        self._failures.pop(poke.key, None)
        moments = [moment for moment in (self._slower(poke.key, ended, begun), ended.in_time) if moment is not None]
        again_at = min(moments, default=None)
        shown = again_at.isoformat() if again_at else None
        log.info("round ended", key=poke.key, reason=ended.reason, again_at=shown)
        return again_at

    async def _one(self, poke: Poke) -> Ended:
        key = parse_key(poke.key)
        if isinstance(key, IssueKey):
            return Ended(None, await self._sweeper.poke_named(key))
        if not isinstance(key, InstallationKey) and (stopped := await self._stops.blocked(key.repository)) is not None:
            return Ended(self._clock() + AFTER_STOPPED, stopped.reason)
        if isinstance(key, WordKey):
            return await self._ears.hear(key) if self._ears is not None else Ended(None, "nobody hears words here")
        if isinstance(key, TicketKey):
            return await self._rounds.run(key, await self._sweeper.handed(poke))
        if isinstance(key, RepositoryKey):
            owner, _, name = key.repository.partition("/")
            return await self.look_at_repository(owner, name)
        if isinstance(key, InstallationKey):
            with counting("sweep"):
                poked = await self._sweeper.sweep_installation(key.id)
            return Ended(None, f"{poked} tickets in progress were poked")
        return await self._releases.round(key)

    async def look_at_repository(self, owner: str, name: str) -> Ended:
        """What belongs to no single ticket of a repository, and what no event told of its tickets. Raises
        GitHubError.
        """
        with counting("sweep"):
            ended, guarded = await self._sweeper.bring_right(owner, name)
            await self._policy.bring_right(owner, name)
            if guarded:
                await self._releases.guard_all(owner, name)
            return ended

    async def _extend(self, poke: Poke) -> None:
        while True:
            await asyncio.sleep(EXTEND_EVERY_S)
            if await self._pokes.extend(poke) is Extension.CLAIM_LOST:
                # Another worker runs the key now. Both are safe: every write is a compare-and-set or has a permit.
                return

    def _slower(self, key: str, ended: Ended, begun: datetime) -> datetime | None:
        """The same reason to look again is followed ever more rarely; an event still comes at once. What a round finds
        that an event began before its time is news, and no repetition.
        """
        if ended.again_at is None:
            self._repeats.pop(key, None)
            return None
        before = self._repeats.get(key)
        is_same = before is not None and before.reason == ended.reason and begun >= before.due
        count = before.count + 1 if before is not None and is_same else 0
        due = max(ended.again_at, self._clock() + min(AFTER_FAILURE * ((1 << min(count, 10)) - 1), LONGEST_DELAY))
        self._repeats[key] = _Repeat(ended.reason, count, due)
        return due

    def _later(self, key: str, error: str) -> datetime:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        delay = min(AFTER_FAILURE * (1 << min(failures - 1, 10)), LONGEST_DELAY)
        log.warning("round not finished", key=key, error=error, failures=failures, again_in_s=delay.total_seconds())
        return self._clock() + delay

    async def _sweep(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            try:
                # Never in step with other services that were started together.
                await asyncio.wait_for(stop.wait(), SWEEP_EVERY_S * random.uniform(0.9, 1.1))
            except TimeoutError:
                try:
                    await self._sweeper.sweep()
                except GitHubError as error:
                    log.warning("sweep not finished", error=str(error))

    async def _tick(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            try:
                with counting("resume"):
                    await self._resuming.tick()
            except Exception:
                # The next tick comes; a gap that this leaves counts as one.
                log.exception("tick failed")
            await _either(TICK_EVERY_S, stop)


async def _either(timeout_s: float, *events: asyncio.Event) -> None:
    """Wait until one of the events comes, or for so long."""
    tasks = [asyncio.ensure_future(event.wait()) for event in events]
    _, pending = await asyncio.wait(tasks, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
