"""A stack of tickets in the loop's world: each begun on the branch of the one below, all of them looked after by one
controller that takes its own pokes.
"""

import secrets
from dataclasses import dataclass, field
from typing import Any

from landing_world import AT, POLICY_FILE, policy
from loop_world import REPO, Agent, LoopWorld, claims_of

from app.controller.controller import Controller
from app.domain.agent_api import CheckpointRequest, ClaimRequest, EvidenceRequest
from app.domain.checkpoint import Checkpoint, Step
from app.domain.keys import TicketKey, parse_key
from app.domain.record import Record

SOON = 300
"""Seconds within which another look belongs to what is going on; a later one is for a lease."""


@dataclass
class Storey:
    """One ticket of the stack, with its agent's clone."""

    world: LoopWorld
    controller: Controller
    agent: Agent
    ticket: int
    pin: dict[str, Any] = field(default_factory=dict)

    @property
    def branch(self) -> str:
        return self.agent.grant.branch

    def push(self, step: str, **checkpoint: Any) -> str:
        """One more commit, pushed with the fence; what it is stacked on is said with every checkpoint."""
        return self.publish(self.agent.work(step), step, **checkpoint)

    def publish(self, sha: str, step: str, *, rebased: bool = False, **checkpoint: Any) -> str:
        agent = self.agent
        agent._seq += 1
        said = Checkpoint(
            completed_steps=(Step(id=step, text=step),), next_steps=(Step(text="more"),), **{**self.pin, **checkpoint}
        )
        done = agent.ledger.fenced_push(
            agent.grant.lease_token,
            agent.grant.branch,
            sha,
            checkpoint=said,
            status="working",
            request=(f"push-{secrets.token_hex(4)}", agent._seq),
            rebased=rebased,
        )
        assert type(done).__name__ == "Pushed", done
        return sha

    async def accept_what_stands(self) -> None:
        """Its agent takes over what somebody else put on its branch."""
        world, agent = self.world, self.agent
        world.git(agent.folder, "fetch", "-q", "origin")
        world.git(agent.folder, "merge", "-q", "--ff-only", f"origin/{self.branch}")
        sha = world.git(agent.folder, "rev-parse", "HEAD")
        done = agent.push_commit(sha, "adopted", adopt=sha)
        assert type(done).__name__ == "Pushed", done

    async def say(self, status: str, **checkpoint: Any) -> None:
        body = {"completed_steps": [{"id": "one", "text": "one"}], "next_steps": [{"text": "land"}], **checkpoint}
        self.agent._seq += 1
        request = CheckpointRequest(
            key=f"say-{secrets.token_hex(4)}", seq=self.agent._seq, checkpoint=body, status=status
        )
        await self.controller.checkpoint(*AT, self.ticket, claims_of(self.agent.grant), request)

    async def record(self) -> Record:
        view = await self.world.controller()._views.look(*AT, self.ticket)
        assert view.record is not None, view.frozen
        return view.record

    def pull(self) -> dict[str, Any]:
        (found,) = self.world.get(f"pulls?state=all&head=acme:{self.branch}")
        whole: dict[str, Any] = self.world.get(f"pulls/{found['number']}")
        return whole

    def issue(self) -> tuple[str, str | None]:
        found = self.world.get(f"issues/{self.ticket}")
        return found["state"], found["state_reason"]


@dataclass
class Stack:
    """The tickets, the lowest first."""

    world: LoopWorld
    controller: Controller
    storeys: list[Storey]

    @classmethod
    async def of(cls, world: LoopWorld, height: int, text: str | None = None) -> "Stack":
        """So many tickets, each with one published commit on top of the one below; no round ran for any."""
        world.emulator.commit(REPO, {POLICY_FILE: text or policy()}, branch="main")
        made = cls(world, world.controller(), [])
        for number in range(height):
            await made.add(world.ticket if number == 0 else None)
        return made

    async def add(self, ticket: int | None = None, *, pins: bool = True, apart: bool = False) -> Storey:
        """One more ticket on top. `pins`: whether its agent says what it is stacked on. `apart`: it is begun at the
        trunk.
        """
        world = self.world
        if ticket is None:
            title = f"Storey {len(self.storeys) + 1} does not fix #13, fixes #13"
            ticket = world.emulator.issue(REPO, title, author="wanda")["number"]
        claim = ClaimRequest(claim_id=secrets.token_hex(8), observed_generation=0, holder="agent")
        grant = await self.controller.claim(*AT, ticket, claim, "wanda")
        shown = EvidenceRequest(key=secrets.token_hex(8), seq=1, head_sha=grant.head_sha, clean=True)
        await self.controller.evidence(*AT, ticket, claims_of(grant), shown)
        made = Storey(world, self.controller, world.agent(grant), ticket)
        if self.storeys and not apart:
            below = self.storeys[-1]
            sha = world.head(below.branch)
            world.git(made.agent.folder, "fetch", "-q", "origin")
            world.git(made.agent.folder, "checkout", "-q", "-B", made.branch, f"origin/{below.branch}")
            if pins:
                made.pin = {"predecessor_issue_or_pr": below.ticket, "predecessor_sha": sha}
        made.push(f"storey-{len(self.storeys) + 1}")
        self.storeys.append(made)
        return made

    async def run(self, rounds: int = 40, *, only: Storey | None = None) -> list[str]:
        """Rounds for whoever is poked or asked for another look, until nobody is; how each ended. They begin with all
        tickets, or with one.
        """
        await self.world.poked()
        due = {str(TicketKey(REPO, one.ticket)): 0.0 for one in self.storeys if only in (None, one)}
        told = []
        for _ in range(rounds):
            if not due:
                return told
            key, at = min(due.items(), key=lambda pair: pair[1])
            del due[key]
            self.world.emulator.advance(max(at - self.world.emulator.now(), 0) + 1)
            parsed = parse_key(key)
            assert isinstance(parsed, TicketKey)
            ended = await self.controller.round(parsed)
            told.append(f"{key}: {ended.reason}")
            if ended.again_at is not None and ended.again_at.timestamp() < self.world.emulator.now() + SOON:
                due[key] = ended.again_at.timestamp()
            due |= dict.fromkeys(await self.world.poked(), 0.0)
        raise AssertionError(f"still not at rest after {rounds} rounds: {told[-10:]}")
