"""A real Controller in this process, a real agent's clone, an emulated GitHub: the loop without a timer."""

import base64
import secrets
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from app.controller.content_windows import ContentWindows
from app.controller.controller import Controller
from app.controller.database import Database
from app.controller.keyring import Keyring
from app.controller.person_commands import Word
from app.controller.pokes import PokeStore
from app.controller.round import Ended
from app.controller.stops import Stops
from app.domain.agent_api import ClaimRequest, EvidenceRequest, Grant
from app.domain.checkpoint import Checkpoint, Step
from app.domain.keys import TicketKey
from app.domain.person_verbs import recover
from app.domain.token import Claims, read
from app.emulator.client import Emulator
from app.emulator.graphql.execute import schema
from app.github.client import GitHub
from app.github.clock import GitHubClock
from app.ledger.agent_commits import Integrated
from app.ledger.git import GitLedger
from app.service.keys import new_keys, parse_lease_keys, parse_seal_keys

PERMISSIONS = {"metadata": "read", "contents": "write", "pull_requests": "write", "issues": "write", "checks": "write"}
POLICY = "version: 1\nmode: repair\ntrunks: [release-*]\n"
REPO = "acme/shop"


class LoopWorld:
    """One repository with one ticket. `controller()` makes a replica with a database of its own."""

    def __init__(self, emulator: Emulator, folder: Path) -> None:
        self.emulator = emulator
        self.folder = folder
        emulator.reset()
        emulator.org("acme")
        self.token = emulator.user("wanda")["token"]
        emulator.repo(
            "acme",
            "shop",
            files={"README.md": "shop\n", ".github/agent-recovery.yml": POLICY},
            branches={"release-1": None},
            collaborators={"wanda": "write"},
        )
        self.app = emulator.app("agent-recovery", permissions=PERMISSIONS, events=[])
        self.installation: int = emulator.installation("agent-recovery", "acme")["id"]
        self.ticket: int = emulator.issue(REPO, "Ripen the apples", author="wanda")["number"]
        made = self.key_settings = new_keys().settings()
        self.keys = Keyring(
            parse_seal_keys(made["AGENT_RECOVERY_SEAL_KEYS"]), parse_lease_keys(made["AGENT_RECOVERY_LEASE_KEYS"])
        )
        self.http = httpx.Client(base_url=emulator.url, headers={"Authorization": f"Bearer {self.token}"}, timeout=20)
        self._opened: list[tuple[GitHub, Database]] = []

    def controller(
        self,
        *,
        database_file: Path | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        resume: bool = True,
        skew_s: float = 0.0,
        opens: Callable[[str], Database] = Database,
        writes: bool = True,
    ) -> Controller:
        """A replica, always with a boot id of its own; `database_file` is kept by who names it again. `skew_s`: how far
        its machine's clock is from GitHub's. `opens`: what opens the database.
        """
        wire = transport or httpx.AsyncHTTPTransport(verify=False)  # plain HTTP here: no certificates to load
        machine = GitHubClock(system=lambda: self.emulator.now() + skew_s)
        database = opens(f"sqlite:///{database_file or self.folder / f'{secrets.token_hex(4)}.db'}")
        self.stops = Stops(database, writes=writes)
        github = GitHub(
            self.app["id"],
            [self.app["pem"]],
            self.emulator.url,
            clock=machine,
            transport=wire,
            may_write=self.stops.require,
            content=ContentWindows(database),
        )
        clock = github.clock.now
        self._opened.append((github, database))
        self.pokes = PokeStore(database, clock)
        return Controller(
            github=github,
            database=database,
            pokes=self.pokes,
            keys=self.keys,
            clock=clock,
            resume=resume,
            writes=writes,
            stops=self.stops,
        )

    async def poked(self) -> list[str]:
        """Takes and ends every due poke of the newest controller; its keys, save those of trunks."""
        keys = []
        while (poke := await self.pokes.take("test")) is not None:
            keys.append(poke.key)
            await self.pokes.settle(poke, None)
        return [key for key in keys if "@" not in key]

    async def close(self) -> None:
        self.http.close()
        await self.close_replicas()

    async def close_replicas(self) -> None:
        """Ends all services; the world goes on."""
        while self._opened:
            github, database = self._opened.pop()
            await github.aclose()
            database.close()

    async def claim(self, controller: Controller, generation: int = 0) -> Grant:
        request = ClaimRequest(claim_id=secrets.token_hex(8), observed_generation=generation, holder="agent")
        grant = await controller.claim("acme", "shop", self.ticket, request, "wanda")
        evidence = EvidenceRequest(key=secrets.token_hex(8), seq=1, head_sha=grant.head_sha, clean=True)
        await controller.evidence("acme", "shop", self.ticket, claims_of(grant), evidence)
        return grant

    async def recalled(self, controller: Controller) -> None:
        """A person wants the ended ticket back."""
        word = Word(secrets.token_hex(4), "recover", "wanda", partial(recover, by="wanda"))
        await controller.hear("acme", "shop", self.ticket, word)

    async def settle(self, controller: Controller, turns: int = 6) -> list[Ended]:
        """Run the ticket's round until it asks for no other look, at most `turns` times."""
        ended: list[Ended] = []
        for _ in range(turns):
            ended.append(await controller.round(TicketKey(REPO, self.ticket)))
            if ended[-1].again_at is None:
                break
        return ended

    async def lives(self, controller: Controller, minutes: int = 5) -> None:
        """Time goes by while the service lives, for what waits after an outage: the ticket's round and a tick come
        every minute.
        """
        for _ in range(minutes):
            self.emulator.advance(60)
            await controller.round(TicketKey(REPO, self.ticket))
            await controller.tick()
        await self.settle(controller)

    async def published(self) -> tuple[Controller, "Agent", str]:
        """A ticket in its ordinary state: claimed, one step pushed, everything projected."""
        controller = self.controller()
        agent = self.agent(await self.claim(controller))
        pushed = agent.push("one")
        await self.settle(controller)
        return controller, agent, pushed.code_sha

    def comments(self, number: int, marker: str) -> list[dict[str, Any]]:
        """The comments of an Issue or PR that hold a marker, the oldest first."""
        return [c for c in self.get(f"issues/{number}/comments") if marker in c["body"]]

    def check_runs(self, sha: str) -> list[dict[str, Any]]:
        """All check-runs on a commit, the oldest first."""
        found: list[dict[str, Any]] = self.get(f"commits/{sha}/check-runs?filter=all")["check_runs"]
        return sorted(found, key=lambda run: int(run["id"]))

    def agent(self, grant: Grant) -> "Agent":
        return Agent(self, grant)

    def git(self, folder: Path, *arguments: str) -> str:
        url = self.emulator.url.replace("://", f"://x-access-token:{self.token}@")
        rewrite = ["-c", f"url.{url}/.insteadOf={self.emulator.url}/"]
        identity = ["-c", "user.name=w", "-c", "user.email=w@example.org"]
        done = subprocess.run(
            ["git", *rewrite, *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def get(self, path: str) -> Any:
        joint = "&" if "?" in path else "?"
        return self.http.get(f"/repos/{REPO}/{path}{joint}per_page=100").raise_for_status().json()

    def head(self, branch: str) -> str | None:
        answer = self.http.get(f"/repos/{REPO}/git/ref/heads/{branch}")
        return answer.json()["object"]["sha"] if answer.status_code == 200 else None

    def ledger(self, place: str = "active") -> str | None:
        found = self.get(f"git/matching-refs/agent-recovery/{place}/{self.ticket}")
        return found[0]["object"]["sha"] if found else None

    def requested(self) -> int:
        """The number of the last request so far, for `writes`."""
        seen = self.emulator.requests()
        return int(seen[-1]["n"]) if seen else 0

    def writes(self, since: int = 0) -> list[str]:
        """What the App wrote to GitHub since a request number: REST, GraphQL mutations, and pushes of git."""
        ours = [r for r in self.emulator.requests(since) if str(r["identity"]).startswith("app:")]
        return [f"{r['method']} {r['path']} {r['operation'] or ''}".strip() for r in ours if _is_write(r)]


def _is_write(request: dict[str, Any]) -> bool:
    """A token that is minted changes nothing, a query of GraphQL neither."""
    mutations = schema().mutation_type
    assert mutations is not None
    match request["kind"]:
        case "rest":
            return request["method"] not in ("GET", "HEAD")
        case "graphql":
            return any(name in mutations.fields for name in request["operations"])
        case "git":
            return request["method"] == "POST" and str(request["path"]).endswith("/git-receive-pack")
    return False


class Agent:
    """A holder with a clone of its own, that pushes with the fence."""

    def __init__(self, world: LoopWorld, grant: Grant) -> None:
        self.world, self.grant = world, grant
        self.folder = world.folder / f"clone-{secrets.token_hex(3)}"
        world.git(world.folder, "clone", "-q", f"{world.emulator.url}/{REPO}.git", str(self.folder))
        url = world.emulator.url.replace("://", f"://x-access-token:{world.token}@")
        world.git(self.folder, "remote", "set-url", "origin", f"{url}/{REPO}.git")
        world.git(self.folder, "checkout", "-q", "-B", grant.branch, grant.head_sha)
        self._seq = 100

    def work(self, step: str) -> str:
        (self.folder / f"{step}.txt").write_text(step)
        self.world.git(self.folder, "add", "-A")
        self.world.git(self.folder, "commit", "-qm", f"Step {step}")
        return self.world.git(self.folder, "rev-parse", "HEAD")

    def push(self, step: str) -> Any:
        return self.push_commit(self.work(step), step)

    @property
    def ledger(self) -> GitLedger:
        """The ticket's ledger through this clone."""
        grant = self.grant
        return GitLedger(
            self.folder,
            grant.ledger_ref,
            grant.repository.id,
            grant.ticket,
            grant.namespace,
            {kid: base64.b64decode(raw) for kid, raw in grant.public_keys.items()},
        )

    def push_commit(
        self,
        sha: str,
        step: str,
        *,
        adopt: str | None = None,
        rewind: bool = False,
        request: tuple[str, int] | None = None,
        integrated: Sequence[Integrated] = (),
    ) -> Any:
        """Push with the fence. `request`: key and number of a push that is tried again."""
        grant = self.grant
        self._seq += 1
        checkpoint = Checkpoint(completed_steps=(Step(id=step, text=step),), next_steps=(Step(text="more"),))
        return self.ledger.fenced_push(
            grant.lease_token,
            grant.branch,
            sha,
            checkpoint=checkpoint,
            status="working",
            request=request or (secrets.token_hex(8), self._seq),
            adopt=adopt,
            rewind=rewind,
            integrated=integrated,
        )


def claims_of(grant: Grant) -> Claims:
    claims = read(grant.lease_token)
    assert isinstance(claims, Claims)
    return claims
