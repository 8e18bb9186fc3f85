"""A ticket whose agent was started by a workflow: real runs of the emulated Actions, with tokens that GitHub signs, and
the service's face on a real controller.
"""

import asyncio
import json
import secrets
import sys
from typing import Any

import httpx
from loop_world import REPO, claims_of
from resume_world import AT, LEASE_OVER_S, ResumeWorld

from app.agent.actions_token import ActionsToken
from app.controller.controller import Controller
from app.controller.journal import Journaled
from app.controller.spent_tokens import SpentTokens
from app.domain.agent_api import Grant, HeartbeatRequest
from app.domain.dispatched import Dispatched, Run, Start
from app.domain.outcome import Blocked, Code, Refused
from app.domain.record import Record
from app.domain.run_claims import RunClaims
from app.service.app import create_app
from app.service.callers import Callers
from app.service.oidc import RunTokens
from app.service.settings import Settings

AUDIENCE = "https://recovery.example"
WAITS = """
import json, os, pathlib, sys, time
out = pathlib.Path(sys.argv[1])
names = ("ACTIONS_ID_TOKEN_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_TOKEN")
mine = out / (os.environ["GITHUB_RUN_ID"] + "-" + os.environ["GITHUB_RUN_ATTEMPT"])
mine.with_suffix(".part").write_text(json.dumps([os.environ[name] for name in names]))
mine.with_suffix(".part").rename(mine)
while not (out / "go").exists():
    time.sleep(0.02)
"""


class Service:
    """One replica's face: what HTTP says, on a controller of its own."""

    def __init__(self, world: ResumeWorld, name: str = "service") -> None:
        self.world = world
        self.controller: Controller = world.controller(database_file=world.folder / "shared.db")
        github, database = world._opened[-1]
        self.github = github
        clock = github.clock.now
        tokens = RunTokens(
            world.emulator.url,
            AUDIENCE,
            SpentTokens(database, clock),
            clock,
            transport=httpx.AsyncHTTPTransport(verify=False),
        )
        app = create_app(Settings.model_construct())
        app.state.tickets = self.controller
        app.state.callers = Callers(github, world.keys.lease_keys, runs=tokens)
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=f"http://{name}")

    async def call(self, method: str, path: str, bearer: str, **body: Any) -> httpx.Response:
        url = f"/api/v1/repos/{REPO}/tickets/{self.world.ticket}/{path}"
        headers = {"Authorization": f"Bearer {bearer}"}
        return await self.http.request(method, url, headers=headers, json=body or None)

    async def claim(self, bearer: str, attempt: str | None, claim_id: str | None = None, at: int = 1) -> httpx.Response:
        body = {"claim_id": claim_id or secrets.token_hex(8), "observed_generation": at, "holder": "run"}
        return await self.call("POST", "claim", bearer, **body, **({"attempt": attempt} if attempt else {}))


class RunScene:
    """One published step, a holder that is dead, and runs of the agent workflow."""

    def __init__(self, world: ResumeWorld) -> None:
        self.world, self.emulator = world, world.emulator
        self.out = world.folder / "runs"
        self.out.mkdir()
        self.emulator.workflow_command(REPO, "agent.yml", [sys.executable, "-c", WAITS, str(self.out)])
        token = self.emulator.installation_token(world.app, world.installation)
        self.app = httpx.Client(base_url=f"{self.emulator.url}/repos/{REPO}", headers=bearer(token), trust_env=False)

    async def begin(self) -> None:
        self.service = Service(self.world)
        self.other = Service(self.world, "other")
        self.grant = await self.held()
        await self.world.settle(self.service.controller)
        await self.later(LEASE_OVER_S)

    async def held(self) -> Grant:
        """The first claim, and one step."""
        grant = await self.world.claimed(self.service.controller)
        assert isinstance(grant, Grant), grant
        self.world.agent(grant).push("one")
        return grant

    async def later(self, seconds: float) -> None:
        self.emulator.advance(seconds)
        for service in (self.service, self.other):
            await service.github.installations()

    # ---- the dispatch, as the ledger has it

    async def record(self) -> Record:
        view = await self.service.controller._views.look(*AT, self.world.ticket)
        assert view.record is not None, view.frozen
        return view.record

    async def opened(self, start: Start = "workflow_dispatch", run: Run | None = None, **more: Any) -> str:
        """Note a dispatch that is open (or what `more` says), counted as the loop counts it; its attempt."""
        controller = self.service.controller
        view = await controller._views.look(*AT, self.world.ticket)
        assert view.standing is not None
        record, attempt = view.standing.record, more.pop("attempt", secrets.token_hex(8))
        dispatched = Dispatched(
            attempt=attempt, start=start, generation=record.generation, at=view.now, run=run, **more
        )
        counted = record.attempts.model_copy(
            update={"count": record.attempts.count + 1, "interrupted_at": record.attempts.interrupted_at or view.now}
        )
        after = record.model_copy(update={"dispatched": dispatched, "attempts": counted})
        outcome = await controller._claiming._journal.write(
            view, view.standing, after, "dispatch: result", when=view.now
        )
        assert isinstance(outcome, Journaled), outcome
        return attempt

    # ---- runs

    def start(self, attempt: str, by: str | None = None) -> int:
        """Start the agent workflow, as the App does or as a person does by hand; the run's id."""
        inputs = {"ticket": str(self.world.ticket), "generation": "1", "attempt": attempt}
        body = {"ref": "main", "inputs": inputs, "return_run_details": True}
        headers = bearer(self.world.tokens[by]) if by else {}
        answer = self.app.post("/actions/workflows/agent.yml/dispatches", json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        return int(answer.json()["workflow_run_id"])

    async def identity(self, run: int, attempt: int = 1) -> ActionsToken:
        """What the job of a run asks for its tokens by."""
        file = self.out / f"{run}-{attempt}"
        for _ in range(500):
            if file.exists():
                url, secret = json.loads(file.read_text())
                return ActionsToken(url, secret, AUDIENCE)
            await asyncio.sleep(0.02)
        raise AssertionError("the run does not begin")

    async def token(self, run: int, attempt: int = 1) -> str:
        return (await self.identity(run, attempt)).fresh()

    def end(self, run: int) -> None:
        """Let all runs end by themselves."""
        (self.out / "go").touch()
        self.world._until_completed(run)
        (self.out / "go").unlink()

    def close(self) -> None:
        (self.out / "go").touch()
        self.app.close()

    # ---- claims past HTTP, where only the loop is asked

    def claims(self, number: int, **more: Any) -> RunClaims:
        """What a run's token says, once it was checked."""
        return run_claims(self.grant.repository.id, Run(id=number, attempt=1), **more)

    async def beat(self, grant: Grant) -> None:
        await self.service.controller.heartbeat(*AT, grant.ticket, claims_of(grant), HeartbeatRequest())


def run_claims(repository_id: int, started: Run, **more: Any) -> RunClaims:
    """What the token of a run of the agent workflow says, once it was checked."""
    path = f"{REPO}/.github/workflows/agent.yml@refs/heads/main"
    said: dict[str, Any] = {
        "repository_id": repository_id,
        "repository": REPO,
        "run": started,
        "event": "workflow_dispatch",
        "ref": "refs/heads/main",
        "workflow_ref": path,
        "job_workflow_ref": path,
        "actor": "agent-recovery[bot]",
    }
    return RunClaims(**{**said, **more})


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def refused(answer: httpx.Response) -> tuple[int, str]:
    """Status and code of a refusal, which names no token."""
    error = answer.json()["error"]
    assert error["next_action"]
    assert "eyJ" not in answer.text
    return answer.status_code, str(error["code"])


async def outcome_of(claiming: Any) -> Grant | Code:
    """A grant, or why there is none."""
    try:
        grant: Grant = await claiming
        return grant
    except Refused as refusal:
        blocked: Blocked = refusal.blocked
        return blocked.code
