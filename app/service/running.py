"""The parts of a running service, made from the settings, started together and stopped in order."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

import structlog
from sqlalchemy import Connection, delete, func, select

from app.commands.flood import Flood
from app.commands.hearing import Hearing
from app.commands.lost_words import LostWords
from app.controller.clock import Clock
from app.controller.content_windows import ContentWindows
from app.controller.controller import Controller
from app.controller.database import Database
from app.controller.dispatching import Dispatching
from app.controller.effect_decisions import Decision
from app.controller.http_probe import HttpGet
from app.controller.keyring import Keyring
from app.controller.known_runs import KnownRuns
from app.controller.person_commands import Done, Word
from app.controller.pokes import PokeStore
from app.controller.release_hearing import DoneRelease
from app.controller.release_rebuilding import BegunAnew
from app.controller.resume_waits import Held, shown
from app.controller.spent_tokens import SpentTokens
from app.controller.stops import Stops
from app.controller.tables import pokes as pokes_table
from app.controller.words import WordStore
from app.domain.effect_state import EffectState
from app.domain.outage import Life
from app.domain.rebuild import Rebuild
from app.domain.release_record import Person, Source
from app.domain.release_verbs import ReleaseVerb
from app.domain.ticket_id import TicketId
from app.github.budget import Meter
from app.github.client import GitHub
from app.github.clock import GitHubClock
from app.service.agent_command import AgentCommand
from app.service.agent_routes import Tickets
from app.service.callers import Callers
from app.service.effect_routes import Effects
from app.service.github_watch import GitHubWatch
from app.service.intake import WebhookIntake
from app.service.keys import parse_lease_keys, parse_private_keys, parse_seal_keys, parse_secrets
from app.service.oidc import RunTokens
from app.service.settings import Settings

FINISH_WITHIN_S = 20.0
SOON = timedelta(minutes=1)
"""How long rounds that run may go on after the signal to stop. Unfinished ones are taken over by others."""

_log = structlog.get_logger(__name__)


class Loop(Tickets, Effects, Protocol):
    """The loop as the service runs it: the calls about a ticket, the sweep of start-up, the workers."""

    async def start_up(self) -> None: ...
    async def decide_effect(
        self, owner: str, name: str, ticket: TicketId, event: str, decision: Decision
    ) -> EffectState: ...
    async def rebuild(
        self, owner: str, name: str, ticket: TicketId, *, by: str, accept_loss: bool, dry_run: bool
    ) -> Rebuild: ...
    async def rebuild_release(
        self, owner: str, name: str, branch: str, *, id: str, by: str, dry_run: bool = False
    ) -> BegunAnew: ...
    async def hear(self, owner: str, name: str, ticket: TicketId, word: Word, *, dry_run: bool = False) -> Done: ...
    async def hear_release(
        self,
        owner: str,
        name: str,
        pull: int,
        *,
        id: str,
        verb: str,
        by: Person,
        rule: ReleaseVerb,
        source: Source | None = None,
        dry_run: bool = False,
    ) -> DoneRelease: ...
    async def work(self, stop: asyncio.Event) -> None: ...


@dataclass(frozen=True)
class Parts:
    """Everything a service consists of. `boot_id` is new at every process start (the ownership protocol, R1)."""

    settings: Settings
    database: Database
    pokes: PokeStore
    github: GitHub
    keyring: Keyring
    loop: Loop
    callers: Callers
    intake: WebhookIntake
    watch: GitHubWatch
    boot_id: str
    stops: Stops

    async def database_writable(self) -> bool:
        """Whether a transaction that writes can be made durable now, within two seconds."""
        try:
            await asyncio.wait_for(self.database.run(_write_nothing, None), timeout=2)
        except Exception as problem:
            _log.warning("database_not_writable", problem=type(problem).__name__)
            return False
        return True

    async def stopped(self) -> list[str]:
        """The repositories and accounts in which nothing is written."""
        return list(await self.stops.listed())

    async def held_back(self) -> tuple[Life | None, tuple[Held, ...]]:
        """The service's life, whose gaps open reattach windows, and the repositories in which tickets that stopped at
        once wait for a person.
        """
        return await self.database.run(shown, None)

    async def pokes_waiting(self) -> int:
        """How many keys nobody runs yet that are due now or within a minute. What is only to be looked at when time
        alone has changed it waits for nothing.
        """
        return await self.database.run(_count_waiting, self.github.clock.now() + SOON)


def make_parts(settings: Settings) -> Parts:
    """Connect the parts. Sends nothing to GitHub. Raises SQLAlchemy's errors when the database cannot be used."""
    clock = GitHubClock()
    keyring = Keyring(
        seal_keys=parse_seal_keys(settings.seal_keys.get_secret_value()),
        lease_keys=parse_lease_keys(settings.lease_keys.get_secret_value()),
    )
    database = Database(settings.database_url.get_secret_value())
    stops = Stops(database, always=settings.stopped, writes=settings.writes)
    github = GitHub(
        settings.app_id,
        parse_private_keys(settings.app_private_key.get_secret_value()),
        settings.github_url,
        clock,
        Meter(),
        may_write=stops.require,
        content=ContentWindows(database),
    )
    pokes = PokeStore(database, clock.now)
    boot_id = secrets.token_hex(8)
    runs = KnownRuns(database, clock.now)
    controller = Controller(
        github=github,
        database=database,
        pokes=pokes,
        keys=keyring,
        clock=clock.now,
        boot_id=boot_id,
        writes=settings.writes,
        resume=settings.resume,
        workers=settings.workers,
        http_get=HttpGet(settings.probe_hosts),
        stops=stops,
        dispatching=_dispatching(settings, runs),
    )
    controller.lend(ears_of(controller, database, pokes, clock.now))
    return Parts(
        settings=settings,
        database=database,
        pokes=pokes,
        github=github,
        keyring=keyring,
        loop=controller,
        callers=Callers(
            github,
            keyring.lease_keys,
            runs=RunTokens(
                settings.oidc_issuer,
                settings.oidc_audience or settings.public_url,
                SpentTokens(database, clock.now),
                clock.now,
            ),
        ),
        intake=WebhookIntake(
            parse_secrets(settings.webhook_secret.get_secret_value()), pokes, own_app_id=settings.app_id, runs=runs
        ),
        watch=GitHubWatch(github, clock.now, controller.reached),
        boot_id=boot_id,
        stops=stops,
    )


def _dispatching(settings: Settings, runs: KnownRuns) -> Dispatching:
    words, names = settings.resume_command, settings.resume_command_env
    command = AgentCommand(words, service_url=settings.service_url, names=names) if words else None
    return Dispatching(settings.service_url, command, runs)


def ears_of(controller: Controller, database: Database, pokes: PokeStore, clock: Clock) -> Hearing:
    """What hears comments and buttons for a controller, on the same database."""
    words = WordStore(database)
    return Hearing(controller, controller.said_ons, words, Flood(database), LostWords(words, pokes, clock), clock)


class Running:
    """Parts at work: the sweep of start-up, the workers and the watch, each a task of its own.

    Wanted: (1) requests are served from the first moment, whatever the sweep still does; (2) a failed sweep or
    worker is logged and tried again, because the service lives longer than GitHub's outages; (3) `stop` returns
    within 20 s and takes no new work; (4) what was cut off there is taken over by whoever runs next.
    """

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self._stop = asyncio.Event()
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def start(self) -> None:
        self._tasks = {
            "sweep": asyncio.create_task(self._persist("sweep", self._sweep)),
            "loop": asyncio.create_task(self._persist("loop", self._work)),
            "watch": asyncio.create_task(self.parts.watch.run()),
        }
        _log.info("started", boot_id=self.parts.boot_id, writes=self.parts.settings.writes)

    @property
    def ailing(self) -> Sequence[str]:
        """Names of tasks that ended although they should run on."""
        return [name for name in ("loop", "watch") if name in self._tasks and self._tasks[name].done()]

    async def stop(self) -> None:
        """Take nothing more, let running rounds end, then disconnect."""
        self._stop.set()
        for name in ("sweep", "watch"):
            self._tasks[name].cancel()
        _, late = await asyncio.wait([self._tasks["loop"]], timeout=FINISH_WITHIN_S)
        for task in late:
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        await self.parts.github.aclose()
        await asyncio.to_thread(self.parts.database.close)
        _log.info("stopped", rounds_cut_off=bool(late))

    async def _sweep(self) -> None:
        await self.parts.loop.start_up()

    async def _work(self) -> None:
        await self.parts.loop.work(self._stop)

    async def _persist(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        pause = 1.0
        while not self._stop.is_set():
            try:
                await work()
                return
            except Exception as problem:
                _log.error("failed", task=name, problem=type(problem).__name__, exc_info=problem)
            await _pause(self._stop, pause)
            pause = min(pause * 2, 60.0)


async def _pause(stop: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(stop.wait(), timeout=seconds)
    except TimeoutError:
        return


def _write_nothing(connection: Connection, items: Sequence[None]) -> Sequence[None]:
    connection.execute(delete(pokes_table).where(pokes_table.c.key == ""))
    return items


def _count_waiting(connection: Connection, items: Sequence[datetime]) -> Sequence[int]:
    waiting = select(func.count()).select_from(pokes_table).where(pokes_table.c.due_at <= max(items))
    return [connection.execute(waiting).scalar_one()] * len(items)
