"""A repository whose policy starts fresh agents, services whose loop is turned through hours, agents that crash.

service = world.replica()
agent = await world.begun(service)          # claimed, one step published, everything projected
await world.silence(service)                # its holder is never heard of again: the lease runs out, the loop looks
world.runs()                                # what was started for it
"""

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
from loop_world import PERMISSIONS, REPO, Agent, LoopWorld, claims_of
from spoken_world import POLICY_FILE, Replica, SpokenWorld

from app.controller.controller import Controller
from app.controller.pokes import First
from app.domain.agent_api import ClaimRequest, EvidenceRequest, Grant, HeartbeatRequest
from app.domain.dispatched import Run
from app.domain.outcome import Blocked, Refused
from app.domain.record import Record
from app.domain.run_claims import RunClaims
from app.domain.ticket_id import TicketId
from app.emulator.client import Emulator

AT = ("acme", "shop")
WORKFLOW_FILE = ".github/workflows/agent.yml"
WORKFLOW = """\
name: Agent
run-name: Agent for ${{ inputs.ticket }} (${{ inputs.attempt }})
on:
  workflow_dispatch:
    inputs:
      ticket: {required: true}
      generation: {required: true}
      attempt: {required: true}
      brief_url: {required: false}
permissions: {id-token: write}
jobs:
  agent: {runs-on: ubuntu-latest, steps: [{run: "true"}]}
"""
POLICY = "version: 1\nmode: {mode}\ntrunks: [release-*]\n{more}"
DISPATCHING = "resume: {dispatch: workflow_dispatch}\n"
HEARTBEAT_S = 60
"""The default of the policy; the reattach window is two of them, the settling time of a wish is one."""
LEASE_OVER_S = 17 * 60
"""A lease of the default term, its grace, and a moment."""
SWEEP_S = 300
STEP_S = HEARTBEAT_S
"""How far the clock is moved at once: a service that is alive shows itself that often."""
REPORT = "agent-recovery:report"


class ResumeWorld(SpokenWorld):
    """wanda opened the ticket and may write; the App may start workflows. `more`: what the policy says besides."""

    def __init__(self, emulator: Emulator, folder: Path, mode: str = "repair", more: str = DISPATCHING) -> None:
        LoopWorld.__init__(self, emulator, folder)
        self.tokens = {"wanda": self.token, **{who: emulator.user(who)["token"] for who in ("rita", "tom", "sam")}}
        self.roles = {"wanda": "write", "rita": "read", "tom": "triage"}
        emulator.change_repo(REPO, collaborators=self.roles)
        emulator.change_app("agent-recovery", permissions=PERMISSIONS | {"actions": "write"})
        emulator.accept_permissions(self.installation)
        emulator.commit(REPO, {WORKFLOW_FILE: WORKFLOW}, branch="main")
        self.says(mode, more)
        self.replicas: list[Replica] = []

    def says(self, mode: str = "repair", more: str = DISPATCHING) -> None:
        """Another policy."""
        self.emulator.commit(REPO, {POLICY_FILE: POLICY.format(mode=mode, more=more)}, branch="main")

    def replica(
        self,
        file: Path | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        *,
        resume: bool = True,
        skew_s: float = 0.0,
    ) -> Replica:
        """A service; `resume` off: the operator switched resuming off. `skew_s` as for `controller`."""
        world = _Made(self, resume, skew_s)
        self.replicas.append(Replica(world, file or self.folder / f"{secrets.token_hex(4)}.db", transport))
        return self.replicas[-1]

    # ---- time

    @property
    def now(self) -> datetime:
        return datetime.fromtimestamp(self.emulator.now(), UTC)

    async def pass_time(self, seconds: float, *services: Replica, beating: Sequence[Grant] = ()) -> None:
        """Time goes by while these services run: their loops take what is due, they sweep every five minutes, and they
        notice that they live. `beating`: whose agents send a heartbeat every minute, to the first of them.
        """
        until = self.emulator.now() + seconds
        while True:
            for service in services:
                await drain(service)
            left = until - self.emulator.now()
            if left <= 0:
                return
            self.emulator.advance(min(STEP_S, left))
            for service in services:
                await service.github.installations()
                await alive(service)
            for grant in beating:
                await self.beat(services[0].controller, grant)
            if int(self.emulator.now()) // SWEEP_S != int(self.emulator.now() - STEP_S) // SWEEP_S:
                for service in services:
                    await service.controller._loop._sweeper.sweep()

    async def reattached(self, *services: Replica) -> None:
        """These services run for longer than the reattach window."""
        await self.pass_time(3 * HEARTBEAT_S, *services)

    async def silence(self, *services: Replica) -> None:
        """Nobody is heard of while a lease runs out, and what follows from that has its time to settle."""
        await self.pass_time(LEASE_OVER_S + 3 * HEARTBEAT_S, *services)

    # ---- agents

    async def claimed(
        self,
        at: Controller | Replica,
        generation: int = 0,
        *,
        ticket: TicketId | None = None,
        attempt: str | None = None,
        evidence: bool = True,
        login: str = "wanda",
    ) -> Grant | Blocked:
        """One claim of the command line, with its evidence; or why it was refused."""
        controller = at.controller if isinstance(at, Replica) else at
        on = self.ticket if ticket is None else ticket
        request = ClaimRequest(
            claim_id=secrets.token_hex(8), observed_generation=generation, holder="agent", attempt=attempt
        )
        try:
            grant = await controller.claim(*AT, on, request, login)
        except Refused as refused:
            return refused.blocked
        if evidence:
            found = EvidenceRequest(key=secrets.token_hex(8), seq=1, head_sha=grant.head_sha, clean=True)
            await controller.evidence(*AT, on, claims_of(grant), found)
        return grant

    async def begun(self, service: Replica, ticket: int | None = None) -> Agent:
        """A ticket in its ordinary state: claimed, one step pushed, everything projected."""
        grant = await self.claimed(service, ticket=ticket)
        assert isinstance(grant, Grant), grant
        agent = self.agent(grant)
        agent.push("one")
        await drain(service)
        await service.controller._pokes.poke(f"{REPO}#{grant.ticket}")
        await drain(service)
        return agent

    async def works(self, service: Replica, run: dict[str, Any], ticket: TicketId | None = None) -> Grant | Blocked:
        """The first act of a run that was started: it claims with its attempt, proven to be that run."""
        on = self.ticket if ticket is None else ticket
        attempt = str(run["display_title"]).rpartition("(")[2].rstrip(")")
        observed = (await self.record(service, on)).generation
        request = ClaimRequest(
            claim_id=secrets.token_hex(8), observed_generation=observed, holder="run", attempt=attempt
        )
        path = f"{REPO}/{WORKFLOW_FILE}@refs/heads/main"
        claims = RunClaims(
            repository_id=int(run["repository"]["id"]),
            repository=REPO,
            run=Run(id=int(run["id"]), attempt=int(run["run_attempt"])),
            event=str(run["event"]),
            ref="refs/heads/main",
            workflow_ref=path,
            job_workflow_ref=path,
            actor=str(run["actor"]["login"]),
        )
        try:
            grant = await service.controller.claim(*AT, on, request, claims.actor, claims)
        except Refused as refused:
            return refused.blocked
        found = EvidenceRequest(key=secrets.token_hex(8), seq=1, head_sha=grant.head_sha, clean=True)
        await service.controller.evidence(*AT, on, claims_of(grant), found)
        return grant

    async def crashing(self, service: Replica, generation: int) -> Grant | Blocked:
        """A claim whose agent dies with the first thing it does; its lease runs out."""
        outcome = await self.claimed(service, generation)
        await self.pass_time(LEASE_OVER_S, service)
        return outcome

    async def beat(self, controller: Controller, grant: Grant) -> None:
        """One heartbeat of a holder."""
        await controller.heartbeat(*AT, grant.ticket, claims_of(grant), HeartbeatRequest())

    # ---- what is seen

    async def record(self, service: Replica, ticket: TicketId | None = None) -> Record:
        """What the ledger says now."""
        view = await service.controller._views.look(*AT, self.ticket if ticket is None else ticket)
        assert view.record is not None, view.frozen
        return view.record

    def places(self, ticket: TicketId | None = None) -> set[str]:
        """Where ledgers of the ticket lie."""
        on = self.ticket if ticket is None else ticket
        found = set()
        for place in ("active", "done"):
            refs = self.get(f"git/matching-refs/agent-recovery/{place}/{on}")
            if any(ref["ref"] == f"refs/agent-recovery/{place}/{on}" for ref in refs):
                found.add(place)
        return found

    def runs(self) -> list[dict[str, Any]]:
        """The workflow runs that were started, the oldest first."""
        return list(reversed(self.get("actions/runs")["workflow_runs"]))

    def ended(self, run: dict[str, Any], how: str = "failure") -> None:
        """Let a run end: failure, success or cancelled."""
        match how:
            case "cancelled":
                self.ask("wanda", "POST", f"actions/runs/{run['id']}/cancel")
            case "failure" | "success":
                self.emulator.workflow_command(REPO, "agent.yml", ["true" if how == "success" else "false"])
        self._until_completed(int(run["id"]))
        if how != "cancelled":
            self.emulator.workflow_command(REPO, "agent.yml", [])

    def _until_completed(self, run: int) -> None:
        for _ in range(2000):
            if self.get(f"actions/runs/{run}")["status"] == "completed":
                return
        raise AssertionError("the run does not end")

    def reports(self, ticket: int | None = None) -> list[dict[str, Any]]:
        """What was told to a person in a comment of its own, on the Issue and on the pull requests."""
        number = ticket or self.ticket
        places = [number, *(pull["number"] for pull in self.get("pulls?state=all"))]
        return [comment for place in places for comment in self.comments(place, REPORT)]

    def told_to(self, ticket: int | None = None) -> list[str]:
        """The first words of each of these."""
        return [report["body"].splitlines()[1] for report in self.reports(ticket)]

    def asked(self, since: int, part: str = "") -> list[tuple[str, str]]:
        """What the App asked GitHub since a request, reads and writes: method and route."""
        seen = self.emulator.requests(since)
        ours = [r for r in seen if str(r["identity"]).startswith("app:") and part in r["path"]]
        return [(r["method"], r["route"]) for r in ours]

    def dispatches(self, since: int = 0) -> int:
        """How often the App asked GitHub to start a workflow."""
        return len(self.asked(since, "/dispatches"))

    def mark(self) -> int:
        return self.requested()


async def drain(service: Replica, at_most: int = 200) -> list[str]:
    """Everything that is due now, by the loop's own hand: words and rounds; the keys in order."""
    controller, keys = service.controller, list[str]()
    for _ in range(at_most):
        poke = await service.pokes.take("test", First.WORDS) or await service.pokes.take("test")
        if poke is None:
            return keys
        keys.append(poke.key)
        await service.pokes.settle(poke, await controller._loop._run(poke))
    raise AssertionError(f"still something due: {keys[-6:]}")


async def alive(service: Replica) -> None:
    """What a running service does every few seconds besides its rounds: it notices that it lives."""
    await service.controller.tick()


class _Made:
    """The world as a replica sees it that is made with settings of its own."""

    def __init__(self, world: ResumeWorld, resume: bool, skew_s: float) -> None:
        self._world, self._resume, self._skew_s = world, resume, skew_s

    def controller(self, **more: Any) -> Controller:
        return self._world.controller(resume=self._resume, skew_s=self._skew_s, **more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)
