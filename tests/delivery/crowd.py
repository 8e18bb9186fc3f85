"""A repository with a thousand tickets, made inside the emulated GitHub's own state: a thousand HTTP calls would take
longer than the test.
"""

import asyncio
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, Self

from sqlalchemy import Table, delete

from app.controller.content_windows import ContentWindows
from app.controller.controller import Controller
from app.controller.database import Database
from app.controller.keyring import Keyring
from app.controller.pokes import PokeStore
from app.controller.tables import pokes, sweep_marks, swept
from app.emulator.acts.issues import close_issue, edit_text, open_issue
from app.emulator.acts.pulls import find_head, open_pull
from app.emulator.acts.refs import commit_files
from app.emulator.inprocess import URL, InProcess
from app.emulator.repos import ZERO, RefChange
from app.emulator.state import Actor
from app.github.client import GitHub
from app.github.clock import GitHubClock
from app.github.repository import Repository
from app.service.keys import new_keys, parse_lease_keys, parse_seal_keys
from app.service.running import ears_of

REPO = "acme/shop"
POLICY = "version: 1\nmode: repair\ntrunks: [release-*]\nenroll:\n  branch: true\n"
PERMISSIONS = {"metadata": "read", "contents": "write", "pull_requests": "write", "issues": "write", "checks": "write"}


class Crowd:
    """Use as `async with`. The first `real` tickets were taken in by the App; the others have a ledger's ref, a branch
    and a pull request, which is all that a glance sees of them.
    """

    github: GitHub
    controller: Controller
    pokes: PokeStore

    def __init__(self, folder: Path, *, real: int, others: int, replicas: int = 1) -> None:
        self.emulated = InProcess(folder / "github")
        self.real = range(1, real + 1)
        self.others: list[int] = []
        self._numbers = others
        self._more = replicas - 1
        self._replicas: list[tuple[GitHub, Database, Controller]] = []
        self._folder = folder

    async def __aenter__(self) -> Self:
        await self.emulated.__aenter__()
        # Far from any six hours' turn, at which what is of nobody is looked through again.
        await self.emulated.control("POST", "/clock", set="2026-11-30T13:00:00Z")
        await self.emulated.control("POST", "/orgs", login="acme")
        await self.emulated.control("POST", "/users", login="wanda")
        files = {"README.md": "shop\n", ".github/agent-recovery.yml": POLICY}
        await self.emulated.control(
            "POST",
            "/repos",
            owner="acme",
            name="shop",
            files=files,
            branches={"release-1": None},
            collaborators={"wanda": "write"},
        )
        app = await self.emulated.control(
            "POST", "/apps", slug="agent-recovery", name="agent-recovery", permissions=PERMISSIONS, events=[]
        )
        self.installation = await self.emulated.control(
            "POST", "/installations", app="agent-recovery", account="acme", repositories="all"
        )
        made = new_keys().settings()
        keys = Keyring(
            parse_seal_keys(made["AGENT_RECOVERY_SEAL_KEYS"]), parse_lease_keys(made["AGENT_RECOVERY_LEASE_KEYS"])
        )
        self._replicas = [self._replica(app, keys) for _ in range(1 + self._more)]
        self.github, self.database, self.controller = self._replicas[0]
        self.pokes = PokeStore(self.database, self.github.clock.now)
        self._work()
        await self._take_in()
        self._others()
        return self

    async def __aexit__(self, *ended: Any) -> None:
        for github, database, _ in self._replicas:
            await github.aclose()
            database.close()
        await self.emulated.__aexit__(*ended)

    def _replica(self, app: dict[str, Any], keys: Keyring) -> tuple[GitHub, Database, Controller]:
        now = self.emulated.server.world.clock.now
        present = GitHubClock(monotonic=now, system=now)
        database = Database(f"sqlite:///{self._folder / 'service.db'}")
        github = GitHub(
            app["id"],
            [app["pem"]],
            URL,
            clock=present,
            transport=self.emulated.transport,
            sleep=self._sleep,
            content=ContentWindows(database),
        )
        clock = github.clock.now
        pokes = PokeStore(database, clock)
        controller = Controller(github=github, database=database, pokes=pokes, keys=keys, clock=clock)
        controller.lend(ears_of(controller, database, pokes, clock))
        return github, database, controller

    @property
    def wanda(self) -> Actor:
        """A person who may write."""
        account = self.emulated.server.world.account("wanda")
        assert account is not None
        return Actor(account)

    def _work(self) -> None:
        """The real tickets' Issues and branches."""
        world, repo = self.emulated.server.world, self.emulated.repository(REPO)
        for number in self.real:
            open_issue(world, repo, self.wanda, f"Ticket {number}", None, [], [])
            self.commit(f"ticket/{number}")

    def _others(self) -> None:
        world, repo = self.emulated.server.world, self.emulated.repository(REPO)
        self.commit("work")
        head = repo.git.branch("work")
        assert head is not None
        for number in range(self._numbers):
            issue = open_issue(world, repo, self.wanda, f"Other {number}", None, [], [])
            self.others.append(issue.number)
        refs = [f"refs/heads/ticket/{number}" for number in self.others]
        refs += [f"refs/agent-recovery/active/{number}" for number in self.others]
        repo.git.update([RefChange(name, ZERO, head) for name in refs])
        for number in self.others:
            open_pull(
                world,
                repo,
                self.wanda,
                title=f"Other {number}",
                body=f"Ticket: #{number}",
                head=find_head(world, repo, f"ticket/{number}"),
                base="release-1",
                draft=False,
            )

    def commit(self, branch: str) -> None:
        """A commit of wanda's on a branch, which begins at the trunk where it is new."""
        repo = self.emulated.repository(REPO)
        if repo.git.branch(branch) is None:
            at = repo.git.branch("release-1")
            assert at is not None
            repo.git.update([RefChange(f"refs/heads/{branch}", ZERO, at)])
        commit_files(
            self.emulated.server.world, repo, branch, {f"{branch.replace('/', '-')}.txt": "done\n"}, self.wanda, "Work"
        )

    def close_issue(self, number: int) -> None:
        """By wanda, as completed."""
        world, repo = self.emulated.server.world, self.emulated.repository(REPO)
        close_issue(world, repo.issues[number], self.wanda, "completed")

    def retitle(self, numbers: Sequence[int]) -> None:
        """Touch pull requests by their tickets' numbers."""
        world, repo = self.emulated.server.world, self.emulated.repository(REPO)
        for pull in repo.pulls():
            if pull.head_ref in {f"ticket/{number}" for number in numbers}:
                edit_text(world, pull, self.wanda, f"{pull.title}, better", None)

    async def _take_in(self) -> None:
        """Have the App take the real tickets in and bring them right."""
        for number in self.real:
            await self.pokes.poke(f"{REPO}#{number}")
        for _ in range(40):
            await self.drain()
            due = await self.pokes.next_due()
            if due is None:
                return
            await self.later(max(0.0, (due - self.github.clock.now()).total_seconds()) + 1)
        raise AssertionError("the tickets do not come to rest")

    async def _sleep(self, seconds: float) -> None:
        self.emulated.server.world.clock.advance(seconds)
        await asyncio.sleep(0)

    async def later(self, seconds: float) -> None:
        """Time passes, and the service learns of it."""
        self.emulated.server.world.clock.advance(seconds)
        for github, _, _ in self._replicas:
            await github.installations()

    async def repository(self) -> Repository:
        """The App's view of it."""
        return await self.github.repository("acme", "shop")

    async def sweep(self) -> int:
        """What the service does every five minutes; how many tickets it poked."""
        return await self.controller._loop._sweeper.sweep()

    async def poked(self) -> list[str]:
        """Sweep, and the tickets that are due by it; nothing is run."""
        await self.sweep()
        return [key for key in await self.due() if "#" in key]

    async def due(self) -> list[str]:
        """Take and end every due key without running it."""
        keys = []
        while (poke := await self.pokes.take("test")) is not None:
            await self.pokes.settle(poke, None)
            keys.append(poke.key)
        return sorted(keys)

    async def drain(self) -> list[tuple[str, bool]]:
        """Run every due key as a worker would, the replicas in turn; each with whether it asked to be run again."""
        ran: list[tuple[str, bool]] = []
        controllers = cycle(controller for _, _, controller in self._replicas)
        while (poke := await self.pokes.take("test")) is not None:
            again = await next(controllers)._loop._run(poke)
            await self.pokes.settle(poke, again)
            ran.append((poke.key, again is not None))
        return ran

    def forget(self) -> None:
        """Drop every key, due or not."""
        self._empty(pokes)

    def forget_everything(self) -> None:
        """Lose the service's memory of sweeps."""
        self._empty(swept, sweep_marks)

    def _empty(self, *tables: Table) -> None:
        with self.database._engine.begin() as connection:
            for table in tables:
                connection.execute(delete(table))

    def plain_issue(self, title: str) -> int:
        """An Issue that is no ticket."""
        world, repo = self.emulated.server.world, self.emulated.repository(REPO)
        return open_issue(world, repo, self.wanda, title, None, [], []).number

    def touch(self, number: int) -> None:
        """Give an Issue another title."""
        world, repo = self.emulated.server.world, self.emulated.repository(REPO)
        edit_text(world, repo.issues[number], self.wanda, f"{repo.issues[number].title}, soon", None)

    def ref(self, name: str) -> None:
        """A ref at the trunk's head."""
        repo = self.emulated.repository(REPO)
        head = repo.git.branch("release-1")
        assert head is not None
        repo.git.update([RefChange(name, ZERO, head)])

    def commit_policy(self, text: str) -> None:
        """Another policy on the default branch."""
        repo = self.emulated.repository(REPO)
        files = {".github/agent-recovery.yml": text}
        commit_files(self.emulated.server.world, repo, "main", files, self.wanda, "Policy")

    def points(self) -> int:
        """What the installation has spent of its GraphQL budget."""
        rates = self.emulated.server.world.rates
        return rates.window(f"installation:{self.installation['id']}", "graphql").used

    def requests(self) -> int:
        """Everything the service has sent, git and tokens too."""
        return self.github.meter.snapshot().total
