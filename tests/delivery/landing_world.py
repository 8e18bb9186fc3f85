"""Tickets that are ready to land, in the loop's world: a trunk with rules, work that was published, its PR ready."""

import secrets
from dataclasses import dataclass
from typing import Any

from loop_world import REPO, Agent, LoopWorld, claims_of

from app.controller.controller import Controller
from app.controller.turn import Ended
from app.domain.agent_api import CheckpointRequest
from app.domain.keys import TicketKey
from app.domain.record import Record

POLICY_FILE = ".github/agent-recovery.yml"
POLICY = "version: 1\nmode: {mode}\ntrunks: [release-*]\nlanding:\n  checks: {checks}\n  unguarded_base: accept\n"
AT = ("acme", "shop")
ROUNDS = 12


def policy(mode: str = "full", checks: str = "none", method: str = "merge") -> str:
    return POLICY.format(mode=mode, checks=checks) + f"  method: {method}\n"


@dataclass
class Landing:
    """One ticket on its way: what its agent does, what the loop does, what GitHub shows."""

    world: LoopWorld
    controller: Controller
    agent: Agent
    ticket: int

    @classmethod
    async def begun(cls, world: LoopWorld, text: str | None = None, controller: Controller | None = None) -> "Landing":
        """A ticket with one published step, its PR a draft."""
        world.emulator.commit(REPO, {POLICY_FILE: text or policy()}, branch="main")
        controller = controller or world.controller()
        agent = world.agent(await world.claim(controller))
        pushed = agent.push("one")
        assert type(pushed).__name__ == "Pushed", pushed
        made = cls(world, controller, agent, world.ticket)
        await made.settle()
        return made

    @classmethod
    async def ready(cls, world: LoopWorld, text: str | None = None, controller: Controller | None = None) -> "Landing":
        """The same, and its holder says that it is ready; no round ran since."""
        made = await cls.begun(world, text, controller)
        await made.say("ready")
        return made

    async def say(self, status: str) -> None:
        """A checkpoint with this status."""
        body = {"completed_steps": [{"id": "one", "text": "one"}], "next_steps": [{"text": "land"}]}
        self.agent._seq += 1
        request = CheckpointRequest(
            key=f"say-{secrets.token_hex(4)}", seq=self.agent._seq, checkpoint=body, status=status
        )
        await self.controller.checkpoint(*AT, self.ticket, claims_of(self.agent.grant), request)

    async def settle(self, controller: Controller | None = None, rounds: int = ROUNDS) -> list[str]:
        """Run the loop until it waits for nothing, moving the clock to each next look; how each round ended."""
        ended: list[Ended] = []
        for _ in range(rounds):
            ended.append(await (controller or self.controller).round(TicketKey(REPO, self.ticket)))
            again = ended[-1].again_at
            if again is None:
                break
            self.world.emulator.advance(max(again.timestamp() - self.world.emulator.now(), 0) + 1)
        return [e.reason for e in ended]

    async def once(self) -> Ended:
        return await self.controller.round(TicketKey(REPO, self.ticket))

    async def record(self) -> Record:
        view = await self.world.controller()._views.look(*AT, self.ticket)
        assert view.record is not None, view.frozen
        return view.record

    @property
    def branch(self) -> str:
        return self.agent.grant.branch

    def pull(self) -> dict[str, Any]:
        (found,) = self.world.get(f"pulls?state=all&head=acme:{self.branch}")
        whole: dict[str, Any] = self.world.get(f"pulls/{found['number']}")
        return whole

    def issue(self) -> tuple[str, str | None]:
        found = self.world.get(f"issues/{self.ticket}")
        return found["state"], found["state_reason"]

    def closings(self) -> int:
        """How often the Issue was closed, by anybody."""
        return sum(e["event"] == "closed" for e in self.world.get(f"issues/{self.ticket}/events"))

    def place(self) -> str | None:
        """Where the ledger lies."""
        for place in ("active", "done"):
            refs = self.world.get(f"git/matching-refs/agent-recovery/{place}/{self.ticket}")
            if any(ref["ref"].endswith(f"/{place}/{self.ticket}") for ref in refs):
                return place
        return None

    def patch(self, path: str, **fields: Any) -> Any:
        return self.world.http.patch(f"/repos/{REPO}/{path}", json=fields).raise_for_status().json()

    def trunk_messages(self, trunk: str = "release-1") -> list[str]:
        return [c["commit"]["message"] for c in self.world.get(f"commits?sha={trunk}")]

    def merge_by_hand(self, **fields: Any) -> str:
        number = self.pull()["number"]
        path = f"/repos/{REPO}/pulls/{number}/merge"
        return str(self.world.http.put(path, json=fields).raise_for_status().json()["sha"])

    def click_ready(self) -> None:
        """A person marks the PR as ready for review."""
        query = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { clientMutationId } }"
        body = {"query": query, "variables": {"id": self.pull()["node_id"]}}
        self.world.http.post("/graphql", json=body).raise_for_status()

    def person_pull(self, head: str, base: str) -> int:
        """A PR of a person's, of no ticket."""
        world = self.world
        sha = world.head(base)
        world.http.post(f"/repos/{REPO}/git/refs", json={"ref": f"refs/heads/{head}", "sha": sha}).raise_for_status()
        world.emulator.commit(REPO, {f"{head}.txt": "x"}, branch=head, author="wanda")
        fields = {"title": "By hand", "head": head, "base": base, "body": ""}
        return int(world.http.post(f"/repos/{REPO}/pulls", json=fields).raise_for_status().json()["number"])


def rules(world: LoopWorld, branch: str, *wanted: dict[str, Any]) -> None:
    """An active ruleset on a branch, made by somebody who administrates the repository."""
    boss = world.emulator.user(f"boss-{secrets.token_hex(2)}")
    world.emulator.change_repo(REPO, collaborators={"wanda": "write", boss["login"]: "admin"})
    body = {
        "name": f"rules of {branch}",
        "enforcement": "active",
        "target": "branch",
        "conditions": {"ref_name": {"include": [f"refs/heads/{branch}"], "exclude": []}},
        "rules": list(wanted),
    }
    headers = {"Authorization": f"Bearer {boss['token']}"}
    world.http.post(f"/repos/{REPO}/rulesets", json=body, headers=headers).raise_for_status()


def required(*contexts: str, strict: bool = False) -> dict[str, Any]:
    """The rule that these checks have to be green."""
    parameters = {
        "strict_required_status_checks_policy": strict,
        "required_status_checks": [{"context": context} for context in contexts],
    }
    return {"type": "required_status_checks", "parameters": parameters}
