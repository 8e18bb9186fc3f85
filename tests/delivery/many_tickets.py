"""Many ready tickets of one trunk, in this process: no sockets, no git programs, a clock that is moved by hand. The
loop runs what was poked, when it is due.
"""

import secrets
from collections import Counter
from pathlib import Path
from typing import Any, Self

import httpx

from app.controller.controller import Controller
from app.controller.database import Database
from app.controller.keyring import Keyring
from app.controller.pokes import PokeStore
from app.domain.agent_api import ClaimRequest
from app.domain.checkpoint import Checkpoint, Step
from app.domain.keys import TicketKey, parse_key
from app.domain.record import Published
from app.emulator.inprocess import URL, InProcess
from app.github.client import GitHub
from app.github.clock import GitHubClock
from app.github.refs import RefUpdate
from app.service.keys import new_keys, parse_lease_keys, parse_seal_keys

REPO = "acme/shop"
AT = ("acme", "shop")
PERMISSIONS = {
    "metadata": "read",
    "contents": "write",
    "pull_requests": "write",
    "issues": "write",
    "checks": "write",
    "statuses": "read",
}
POLICY = """\
version: 1
mode: full
trunks: [release-*]
lease: {ttl: 4h}
landing: {checks: [ci], unguarded_base: accept}
"""


class ManyTickets:
    """Use as `async with`."""

    controller: Controller
    wanda: httpx.AsyncClient
    boss: httpx.AsyncClient

    def __init__(self, folder: Path) -> None:
        self.emulated = InProcess(folder / "github")
        self._folder = folder
        self._folder.mkdir(exist_ok=True)
        self.rounds: Counter[str] = Counter()

    async def __aenter__(self) -> Self:
        world = await self.emulated.__aenter__()
        await world.control("POST", "/clock", frozen=True)
        await world.control("POST", "/orgs", login="acme")
        people = {login: (await world.control("POST", "/users", login=login))["token"] for login in ("wanda", "boss")}
        await world.control(
            "POST",
            "/repos",
            owner="acme",
            name="shop",
            files={"README.md": "shop\n", ".github/agent-recovery.yml": POLICY},
            branches={"release-1": None},
            collaborators={"wanda": "write", "boss": "admin"},
        )
        app = await world.control(
            "POST", "/apps", slug="agent-recovery", name="agent-recovery", permissions=PERMISSIONS, events=[]
        )
        await world.control("POST", "/installations", app="agent-recovery", account="acme", repositories="all")
        self.wanda, self.boss = (world.client(people[login]) for login in ("wanda", "boss"))
        clock = GitHubClock(monotonic=self.now, system=self.now)
        self.github = GitHub(app["id"], [app["pem"]], URL, clock=clock, transport=world.transport, sleep=self.advance)
        self.database = Database(f"sqlite:///{self._folder / 'service.db'}")
        self.pokes = PokeStore(self.database, clock.now)
        made = new_keys().settings()
        self.controller = Controller(
            github=self.github,
            database=self.database,
            pokes=self.pokes,
            keys=Keyring(
                parse_seal_keys(made["AGENT_RECOVERY_SEAL_KEYS"]), parse_lease_keys(made["AGENT_RECOVERY_LEASE_KEYS"])
            ),
            clock=clock.now,
        )
        return self

    async def __aexit__(self, *ended: Any) -> None:
        await self.github.aclose()
        for client in (self.wanda, self.boss):
            await client.aclose()
        self.database.close()
        await self.emulated.__aexit__(*ended)

    async def advance(self, seconds: float) -> None:
        await self.emulated.control("POST", "/clock", advance_s=seconds)

    def now(self) -> float:
        return float(self.emulated.server.world.clock.now())

    async def rules(self, *wanted: dict[str, Any], on: str = "release-1") -> None:
        """An active ruleset on a branch."""
        names = {"ref_name": {"include": [f"refs/heads/{on}"], "exclude": []}}
        body = {"name": "r", "enforcement": "active", "target": "branch", "conditions": names, "rules": list(wanted)}
        (await self.boss.post(f"/repos/{REPO}/rulesets", json=body)).raise_for_status()

    async def ready(self) -> int:
        """A ticket whose holder published one commit and says that it is ready; its number."""
        made = await self.wanda.post(f"/repos/{REPO}/issues", json={"title": "Ripen"})
        ticket = int(made.raise_for_status().json()["number"])
        request = ClaimRequest(claim_id=secrets.token_hex(8), observed_generation=0, holder="agent")
        grant = await self.controller.claim(*AT, ticket, request, "wanda")
        await self._publish(ticket, grant.branch, f"{ticket}.txt")
        return ticket

    async def _publish(self, ticket: int, branch: str, file: str) -> None:
        """What the holder's evidence, fenced push and checkpoint make of the ledger and the branch."""
        view = await self.controller._views.look(*AT, ticket)
        standing, lease = view.standing, view.record.lease if view.record else None
        assert standing is not None
        assert lease is not None
        name = f"refs/heads/{branch}"
        before = await view.repo.exact_ref(name)
        git = self.emulated.git(REPO)
        start = before or git.branch("release-1")
        assert start is not None
        entry = {"path": file, "mode": "100644", "type": "blob", "content": "done\n"}
        tree = await self.wanda.post(f"/repos/{REPO}/git/trees", json={"base_tree": start, "tree": [entry]})
        fields = {"message": "Work", "tree": tree.raise_for_status().json()["sha"], "parents": [start]}
        sha = (await self.wanda.post(f"/repos/{REPO}/git/commits", json=fields)).raise_for_status().json()["sha"]
        step = Step(id="one", text="one")
        record = standing.record.model_copy(
            update={
                "status": "ready",
                "published": Published(sha=sha, generation=lease.generation, nonce=lease.nonce),
                "checkpoint": Checkpoint(completed_steps=(step,), next_steps=(Step(text="land"),)),
            }
        )
        moved = RefUpdate(name, before or "0" * 40, sha)
        journal = self.controller._claiming._journal
        await journal.write(view, standing, record, "pushed", when=view.now, also=(moved,))

    async def run(self, rounds: int, ci: str | None = "ci") -> None:
        """Run what is due, with a CI that is green on every head at once, until nothing is due any more."""
        for _ in range(rounds):
            poke = await self.pokes.take("test")
            if poke is None:
                due = await self.pokes.next_due()
                if due is None:
                    return
                await self.advance(max(due.timestamp() - self.now(), 0) + 0.1)
                continue
            key = parse_key(poke.key)
            assert isinstance(key, TicketKey)
            self.rounds[poke.key] += 1
            if ci is not None:
                await self._green(key, ci)
            ended = await self.controller.round(key)
            await self.pokes.settle(poke, ended.again_at)
        raise AssertionError(f"still running after {rounds} rounds")

    async def asked(self, ending: str) -> int:
        """How many requests went to paths that end so."""
        seen = await self.emulated.control("GET", "/requests")
        return sum(str(request["path"]).endswith(ending) for request in seen)

    async def _green(self, key: TicketKey, ci: str) -> None:
        repo = self.emulated.repository(REPO)
        for pull in repo.pulls():
            if pull.state == "open" and pull.head_ref.startswith(f"ticket/{key.ticket}-"):
                body = {"state": "success", "context": ci}
                (await self.wanda.post(f"/repos/{REPO}/statuses/{pull.head_sha}", json=body)).raise_for_status()
