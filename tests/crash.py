"""The crash-everywhere harness: a story is played once undisturbed, then again with every external call disturbed.

A call that leaves the process has to answer what happens if it was done and nobody heard, if the process died before or
after it, or was asleep for longer than anything lasts. So the calls of a story are recorded as they are made, whoever
makes them: requests to GitHub, reads and writes, everything the database is asked, the agent's pushes, and the command
of an effect. Then the n-th one is hit by a fault, agents repeat what got no answer as the command line does, fresh
processes run the loop to its fixed point, and what GitHub holds in the end must be what it holds undisturbed.
"""

import asyncio
import json
import re
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar
from unittest.mock import patch

import httpx
from loop_world import REPO, LoopWorld
from sqlalchemy.exc import OperationalError

from app.controller.controller import Controller
from app.controller.database import Database
from app.domain.keys import TicketKey, TrunkKey
from app.domain.outcome import Refused
from app.domain.ticket_id import TicketId
from app.emulator.client import Emulator
from app.github.errors import GitHubError
from tests.marker_index import MarkerIndex

T = TypeVar("T")


class Reach(StrEnum):
    """Where a call goes."""

    READ = "read of GitHub"
    WRITE = "write to GitHub"
    DATABASE = "database"
    PUSH = "git push"
    COMMAND = "command of an effect"


DEATHS = ("killed before", "killed before, database lost", "killed after", "killed after, database lost")
DISTURBANCES: dict[str, frozenset[Reach]] = {
    "killed before": frozenset(Reach),
    "killed before, database lost": frozenset({Reach.READ, Reach.WRITE, Reach.DATABASE}),
    # Being killed after a read is being killed before the call that follows it.
    "killed after": frozenset(Reach) - {Reach.READ},
    "killed after, database lost": frozenset({Reach.WRITE, Reach.DATABASE}),
    "cut before": frozenset({Reach.WRITE, Reach.DATABASE, Reach.PUSH}),
    "cut after": frozenset(Reach),
    "502 though done": frozenset({Reach.READ, Reach.WRITE, Reach.PUSH}),
    "late": frozenset({Reach.WRITE, Reach.PUSH}),
    "very late": frozenset({Reach.WRITE, Reach.PUSH}),
    "paused": frozenset(Reach),
}
"""Every way, and the calls for which it is one of its own."""
LATE = 2
VERY_LATE = 60
"""Requests after which a late effect comes: while the same round goes on, and after everything was settled."""
PAUSE_S = 70 * 60
"""Longer than a lease, a recovery, a permit and a token of the App last."""
MAX_ROUNDS = 40
MAX_REPEATS = 6


class Killed(BaseException):
    """The process is gone: nothing it was about to do happens any more, and no handler of errors sees it."""


@dataclass(frozen=True)
class Call:
    """One call that leaves a process; its name has no numbers and ids, so that runs can be compared."""

    reach: Reach
    name: str


@dataclass
class Disturber:
    """Counts the calls over all processes, and disturbs the one that is meant."""

    emulator: Emulator
    kind: str = ""
    target: int = -1
    on: bool = False
    seen: list[Call] = field(default_factory=list)
    of_story: list[Call] = field(default_factory=list)
    """The calls up to the story's own fixed point."""
    skew_s: float = 0.0
    """How much later it is by the processes' own clocks."""
    elapse: Callable[[], Awaitable[None]] | None = None
    """Lets a long time go by."""
    index: MarkerIndex | None = None
    """Judged after every request and every push: what stands then is what a death there leaves."""

    def judge(self, when: str) -> None:
        """Whether the index of tickets in progress tells the truth now."""
        if self.index is not None:
            self.index.judge(when)

    def meets(self, call: Call) -> str:
        """Count a call; the disturbance that hits it, or nothing."""
        if not self.on:
            return ""
        self.seen.append(call)
        return self.kind if len(self.seen) - 1 == self.target else ""

    async def pause(self) -> None:
        """The process sleeps while everybody else goes on."""
        assert self.elapse is not None
        self.on = False
        await self.elapse()
        self.skew_s += PAUSE_S
        self.on = True

    def order(self, kind: str, method: str, path: str) -> None:
        """Have the emulator treat the next such request as the disturbance wants."""
        members: dict[str, Any] = {
            "cut before": {"kind": "drop_before"},
            "cut after": {"kind": "drop_after"},
            "502 though done": {"kind": "status_after", "code": 502},
            "late": {"kind": "late", "after": LATE},
            "very late": {"kind": "late", "after": VERY_LATE},
        }[kind]
        self.emulator.fault(match={"method": method, "path_regex": path}, **members)


class Process:
    """One process of the service: once dead, nothing of it reaches anything any more."""

    def __init__(self, disturber: Disturber) -> None:
        self.disturber = disturber
        self._dead = False

    async def reach(self, call: Call, act: Callable[[], Awaitable[T]], spoil: Callable[[str], Awaitable[T]]) -> T:
        """Make a call, unless the process is dead or dies of it. `spoil` makes it as a broken connection would, or
        as a process does that dies before it hears the answer.
        """
        if self._dead:
            raise Killed
        kind = self.disturber.meets(call)
        if kind in DEATHS:
            self._dead = True
            if kind.startswith("killed after"):
                with suppress(Exception):
                    await spoil(kind)
            raise Killed
        if kind == "paused":
            await self.disturber.pause()
        elif kind:
            return await spoil(kind)
        return await act()


class DisturbedTransport(httpx.AsyncBaseTransport):
    """A process's way to GitHub."""

    def __init__(self, process: Process) -> None:
        self._inner = httpx.AsyncHTTPTransport(verify=False)
        self._process = process

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request, if the process lives that long."""

        async def send() -> httpx.Response:
            response = await self._inner.handle_async_request(request)
            self._process.disturber.judge(f"{request.method} {request.url.path}")
            return response

        async def spoil(kind: str) -> httpx.Response:
            if kind in DEATHS:
                response = await send()
                await response.aread()
                await response.aclose()
                return response
            self._process.disturber.order(kind, request.method, f"^{re.escape(request.url.path)}$")
            return await send()

        return await self._process.reach(_named(request), send, spoil)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()


class DisturbedDatabase(Database):
    """A process's database."""

    def __init__(self, url: str, process: Process) -> None:
        super().__init__(url)
        self._process = process

    async def run(self, apply: Any, item: Any) -> Any:
        """Run a job, if the process lives that long."""
        outer = super()

        async def spoil(kind: str) -> Any:
            if "after" in kind:
                await outer.run(apply, item)
            raise OperationalError("the connection is gone", None, ConnectionError())

        call = Call(Reach.DATABASE, f"database {apply.__name__.strip('_')}")
        return await self._process.reach(call, lambda: outer.run(apply, item), spoil)


def _named(request: httpx.Request) -> Call:
    path = request.url.path
    if path.endswith("/graphql"):
        query = json.loads(request.content)["query"].lstrip()
        names = re.findall(r"[a-zA-Z]+", query)
        mutates = query.startswith("mutation")
        return Call(Reach.WRITE if mutates else Reach.READ, f"graphql {names[1 if mutates else 0]}")
    short = re.sub(r"[0-9a-f]{40}|[0-9]+", "*", path.removeprefix(f"/repos/{REPO}/"))
    # Git asks by POST for what it is to be shown.
    reads = request.method in ("GET", "HEAD") or path.endswith(("/access_tokens", "/git-upload-pack"))
    return Call(Reach.READ if reads else Reach.WRITE, f"{request.method} {short}")


class Play:
    """One run of a story: the processes of the service, the agents' calls to it, and the loop."""

    longest_wait_s = float("inf")
    """A look that is due later than this is waited for no more."""

    def __init__(self, world: LoopWorld, disturber: Disturber) -> None:
        self.world = world
        self.disturber = disturber
        disturber.elapse = self._elapse
        self._database = self._new_database()
        self.controller = self._start()
        self.tickets: list[TicketId] = [world.ticket]
        """The ticket, and its children where there are some."""
        self.carried_out = 0
        """How often something was done outside Git."""

    @property
    def keys(self) -> list[TicketKey | TrunkKey]:
        """What the loop looks after."""
        return [TicketKey(REPO, ticket) for ticket in self.tickets]

    def begin(self) -> None:
        """From here on calls are counted and disturbed."""
        self.disturber.on = True

    async def call(self, deed: Callable[[Controller], Awaitable[T]]) -> T:
        """Do something by the service, as an agent that repeats its request until it has an answer."""
        for number in range(MAX_REPEATS):
            try:
                return await deed(self.controller)
            except Killed:
                self._restart()
            except Refused as refused:
                if not refused.blocked.retryable:
                    raise
            except (GitHubError, OperationalError):
                pass
            self.world.emulator.advance(2**number)
        raise AssertionError(f"no answer after {MAX_REPEATS} repeats")

    async def by_agent(self, call: Call, deed: Callable[[], T], path: str = "") -> T | None:
        """A call of the agent's own: its value, or None where it died of it or got no answer. `path`: of the request
        by which it reaches GitHub.
        """
        kind = self.disturber.meets(call)
        if kind == "killed before":
            return None
        if kind == "paused":
            await self.disturber.pause()
        elif path and kind and not kind.startswith("killed"):
            self.disturber.order(kind, "POST", path)
        done = deed()
        self.disturber.judge(call.name)
        return None if kind in ("killed after", "cut after") else done

    async def settle(self) -> None:
        """Run the loop until it waits for nothing, moving GitHub's clock to each next look."""
        for key in self.keys:
            await self._settle(key)

    async def _settle(self, key: TicketKey | TrunkKey) -> None:
        for _ in range(MAX_ROUNDS):
            try:
                ended = await self.controller.round(key)
            except Killed:
                self._restart()
                continue
            except (GitHubError, OperationalError):
                self.world.emulator.advance(5)
                continue
            if ended.again_at is None:
                return
            ahead = ended.again_at.timestamp() - self.world.emulator.now()
            if ahead > self.longest_wait_s:
                return
            await self.pass_time(max(ahead, 0) + 1)
        raise AssertionError(f"no fixed point after {MAX_ROUNDS} rounds")

    async def pass_time(self, seconds: float) -> None:
        """Time goes by for everybody."""
        self.world.emulator.advance(seconds)

    async def finish(self) -> None:
        """Let late effects come, then let a fresh replica find its fixed point; it then writes nothing more."""
        await self.settle()
        self.disturber.of_story = list(self.disturber.seen)
        if self.disturber.kind == "very late":
            for _ in range(VERY_LATE + 1):
                self.world.get("branches/main")
        self.disturber.on = False
        self._database = self._new_database()
        self.controller = self._start()
        await self.settle()
        self.disturber.on, self.disturber.kind = True, ""
        counted = len(self.disturber.seen)
        # At this very moment: what is unknown is looked for again in its time, and that is noted.
        for ticket in self.tickets:
            await self.controller.round(TicketKey(REPO, ticket))
        written = [call.name for call in self.disturber.seen[counted:] if call.reach is Reach.WRITE]
        assert written == [], f"a round on a settled world writes nothing: {written}"

    async def _elapse(self) -> None:
        """A long time goes by, in which another replica looks after the tickets."""
        self.world.emulator.advance(PAUSE_S)
        other = self.world.controller(database_file=self._new_database())
        for key in self.keys:
            for _ in range(MAX_ROUNDS):
                with suppress(GitHubError):
                    again_at = (await other.round(key)).again_at
                    if again_at is None or again_at.timestamp() - self.world.emulator.now() > self.longest_wait_s:
                        break
                self.world.emulator.advance(5)

    def _start(self) -> Controller:
        process = Process(self.disturber)
        return self.world.controller(
            database_file=self._database,
            transport=DisturbedTransport(process),
            opens=lambda url: DisturbedDatabase(url, process),
        )

    def _restart(self) -> None:
        if self.disturber.kind.endswith("database lost"):
            self._database = self._new_database()
        self.controller = self._start()

    def _new_database(self) -> Path:
        return self.world.folder / f"{secrets.token_hex(4)}.db"


Story = Callable[[Play], Awaitable[None]]
End = TypeVar("End")


@dataclass(frozen=True)
class Stage:
    """Where stories are played: an emulator, its data and a folder for the agents. `player` plays them in `world`."""

    emulator: Emulator
    data: Path
    folder: Path
    player: type[Play] = Play
    world: type[LoopWorld] = LoopWorld

    async def play(
        self, story: Story, end_of: Callable[[Play, Path], Awaitable[End]], kind: str = "", target: int = -1
    ) -> tuple[End, list[Call]]:
        """Play a story with one call disturbed; what `end_of` reads in the end, and the story's calls."""
        folder = self.folder / secrets.token_hex(4)
        folder.mkdir()
        disturber = Disturber(self.emulator, kind, target)
        world = self.world(self.emulator, folder)
        disturber.index = MarkerIndex(next(self.data.glob("repos/*.git")))
        # Only the journal measures by the machine's own clock how long ago it wrote.
        own_clock = SimpleNamespace(monotonic=lambda: time.monotonic() + disturber.skew_s)
        try:
            with patch("app.controller.journal.time", own_clock):
                play = self.player(world, disturber)
                await story(play)
                await play.finish()
                assert disturber.index.faults == []
                return await end_of(play, self.data), disturber.of_story
        finally:
            await asyncio.shield(world.close())
