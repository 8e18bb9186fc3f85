"""The controller's public face: what the HTTP side calls, and the loop it starts and stops."""

import asyncio

import structlog

from app.controller.accounts import Accounts
from app.controller.act import Actor
from app.controller.agent_calls import AgentCalls
from app.controller.authors import Authors
from app.controller.claiming import Claiming
from app.controller.clock import Clock
from app.controller.database import Database
from app.controller.discovering import Discovering
from app.controller.dispatching import Dispatching
from app.controller.ears import Ears
from app.controller.effect_decisions import EffectDecisions
from app.controller.effecting import Effecting
from app.controller.fencing_off import FencingOff
from app.controller.git_gate import GitGate
from app.controller.heartbeats import Heartbeats
from app.controller.holding import Holding
from app.controller.http_probe import HttpGet
from app.controller.journal import Journal
from app.controller.keyring import Keyring
from app.controller.known_runs import KnownRuns
from app.controller.landing import Lander
from app.controller.loop import Loop
from app.controller.others import Others
from app.controller.parenting import Parenting
from app.controller.person_calls import PersonCalls
from app.controller.person_commands import PersonCommands
from app.controller.pokes import PokeStore
from app.controller.policy_checks import PolicyShowing
from app.controller.probing import Prober
from app.controller.project import Projector
from app.controller.rebuilding import Rebuilding
from app.controller.releases import Releases
from app.controller.reporting import Reporter
from app.controller.resuming import Resuming
from app.controller.round import Rounds
from app.controller.said_on import SaidOns
from app.controller.stops import Stops
from app.controller.sweep import Sweeper
from app.controller.sweep_marks import SweepMarks
from app.controller.turn import Ended
from app.controller.turns import Turns
from app.controller.view import Views
from app.controller.witnesses import Witnesses
from app.controller.witnessing import Witnessing
from app.domain.keys import TicketKey, TrunkKey
from app.github.client import GitHub
from app.github.errors import GitHubError

log = structlog.get_logger()

LOCAL_URL = "http://127.0.0.1:8080"
"""Where agents reach a service that says nothing else."""


class Controller(AgentCalls, PersonCalls):
    """Everything the service does to tickets. `writes` off: reads and briefs only, no write to GitHub at all."""

    def __init__(
        self,
        *,
        github: GitHub,
        database: Database,
        pokes: PokeStore,
        keys: Keyring,
        clock: Clock,
        boot_id: str | None = None,
        writes: bool = True,
        resume: bool = True,
        workers: int = 4,
        http_get: HttpGet | None = None,
        stops: Stops | None = None,
        dispatching: Dispatching | None = None,
    ) -> None:
        authors = Authors(boot_id)
        dispatching = dispatching or Dispatching(LOCAL_URL, runs=KnownRuns(database, clock))
        heartbeats = Heartbeats(database, clock)
        witnesses = Witnesses(database)
        witnessing = Witnessing(witnesses, keys)
        projector = Projector(keys, resumes=resume)
        journal = Journal(witnessing)
        actor = Actor(projector, Lander(pokes), dispatching)
        self._writes = writes
        self._resumes = resume
        self._pokes = pokes
        self._views = Views(github, keys, heartbeats, witnessing)
        reporter = Reporter(projector)
        fencing = FencingOff(journal, reporter)
        self._claiming = Claiming(self._views, journal, actor, keys, authors, pokes, fencing, resume=resume)
        self._commands = PersonCommands(self._views, fencing)
        accounts = Accounts(github)
        self._holding = Holding(self._views, journal, projector, heartbeats, witnessing, pokes, accounts)
        self._gate = GitGate(self._views, self._holding, accounts, heartbeats, witnessing, pokes)
        self._effect_decisions = EffectDecisions(self._views, journal)
        self._effecting = Effecting(self._views, self._holding, Prober(http_get or HttpGet()))
        self._parenting = Parenting(self._views, self._holding, pokes)
        others = Others(self._views, pokes)
        self._stops = stops or Stops(database, writes=writes)
        self._resuming = Resuming(database, self._views, pokes, self._stops, clock, resumes=resume)
        turns = Turns(database, pokes)
        rounds = Rounds(
            self._views,
            journal,
            actor,
            projector,
            reporter,
            authors,
            self._effecting,
            fencing,
            pokes,
            others,
            turns,
            self._resuming,
        )
        self._rounds = rounds
        self._rebuilding = Rebuilding(self._views, witnessing)
        discovering = Discovering(self._views, pokes, others)
        marks = SweepMarks(database)
        self._sweeper = Sweeper(github, self._views, pokes, discovering, marks, self._resuming)
        policy = PolicyShowing(self._views)
        self._releases = Releases(self._views, keys, witnesses, marks, authors, pokes, clock)
        self._loop = Loop(
            rounds, self._sweeper, policy, self._releases, pokes, clock, self._stops, self._resuming, workers
        )
        self._said_ons = SaidOns(self._views)

    def lend(self, ears: Ears) -> None:
        """Hear from now on what persons say in comments and by buttons; before `work`."""
        self._loop.lend(ears)
        self._sweeper.lend(ears)

    @property
    def said_ons(self) -> SaidOns:
        """What a number means on which somebody says something; only reads."""
        return self._said_ons

    async def start_up(self) -> None:
        """Poke every ticket in progress, whatever events were lost. Failures are logged; the sweep comes again."""
        try:
            poked = await self._sweeper.start_up()
        except GitHubError as error:
            log.warning("start-up sweep not finished", error=str(error))
        else:
            log.info("start-up sweep", poked=poked)

    async def round(self, key: TicketKey | TrunkKey) -> Ended:
        """Run one key's round now, as a worker of the loop would. Raises GitHubError."""
        return await (self._releases.round(key) if isinstance(key, TrunkKey) else self._rounds.run(key))

    @property
    def resuming(self) -> Resuming:
        """What lets agents be started and tickets be given up, after an outage above all."""
        return self._resuming

    async def reached(self, answered: bool) -> None:
        """GitHub answered the service, or did not."""
        await self._resuming.reached(answered=answered)

    async def tick(self) -> None:
        """What the loop does every few seconds, now."""
        await self._resuming.tick()

    async def look_at_repository(self, owner: str, name: str) -> Ended:
        """Run a repository's own key now, as a worker of the loop would. Raises GitHubError."""
        return await self._loop.look_at_repository(owner, name)

    async def work(self, stop: asyncio.Event) -> None:
        """Run the loop until `stop` is set. With writes off pokes are kept and nothing is run."""
        if self._writes:
            await self._loop.run(stop)
        else:
            await stop.wait()
