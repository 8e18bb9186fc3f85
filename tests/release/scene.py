"""What people, agents and other Apps do around one release, said in one line each, for tables of attempts."""

import secrets
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import httpx
from loop_world import REPO, Agent
from release_world import GUARD, INTO, TRUNK
from served import Served

from app.domain.agent_api import Grant

_MUTATION = "mutation($id: ID!) {{ {call} {{ clientMutationId }} }}"


@dataclass
class Scene:
    """A release on its way in a served world: its trunk differs and its pull request stands."""

    world: Served
    trunk: str = TRUNK
    _changed: bool = False

    @classmethod
    def begun(cls, world: Served, trunk: str = TRUNK) -> "Scene":
        made = cls(world, trunk)
        world.trunk(trunk)
        world.rest()
        return made

    # ---- what is there

    @property
    def number(self) -> int:
        """The open release pull request, opened again first where an attempt closed it."""
        if not self.world.pulls("open", head=self.trunk):
            self.world.rest()
        return int(self.world.release_pull(self.trunk)["number"])

    @property
    def node(self) -> str:
        return str(self.world.pull(self.number)["node_id"])

    @property
    def head(self) -> str:
        return str(self.world.head(self.trunk))

    def guard(self) -> str:
        """What the guard says of the head: all runs of it, where two looks at one moment made one each."""
        runs = self.world.guards(self.head)
        assert runs
        return " and ".join(sorted({str(run["conclusion"] or run["status"]) for run in runs}))

    def greens(self) -> list[str]:
        """Every guard run of the head that GitHub takes for a pass."""
        runs = self.world.guards(self.head)
        return [run["conclusion"] for run in runs if run["conclusion"] in ("success", "neutral", "skipped")]

    def leave(self) -> None:
        """Take the release away, so that nobody looks at it any more, and its policy."""
        self.world.emulator.clear_faults()
        self.world.asked("wanda", "DELETE", f"git/refs/heads/{self.trunk}")
        if self._changed:
            self.policy()
        # What may be written in a minute is counted.
        self.world.emulator.advance(20)
        self.world.rest()

    # ---- who acts: people of this release alone, because of one person only so much is heard

    @cached_property
    def maya(self) -> str:
        return self.person("maintain")

    @cached_property
    def milo(self) -> str:
        return self.person("maintain")

    @cached_property
    def boss(self) -> str:
        return self.person("admin")

    @cached_property
    def wanda(self) -> str:
        return self.person("write")

    def person(self, role: str = "write") -> str:
        """Somebody new with a role in the repository."""
        login = f"{role}-{secrets.token_hex(4)}"
        token = self.world.emulator.user(login)["token"]
        self.world.emulator.change_repo(REPO, collaborators={login: role})
        self.world.people[login] = self.world._client(token)
        return login

    @property
    def other_app(self) -> httpx.Client:
        """Another App that is installed here and may write nearly everything."""
        return self.world.another_app("other-app")

    @property
    def third_app(self) -> httpx.Client:
        """One more App, for what two of them say."""
        return self.world.another_app("third-app")

    def behalf(self, who: str) -> httpx.Client:
        """The other App acting for a person."""
        _ = self.other_app
        return self.world._client(self.world.emulator.token_on_behalf("other-app", who))

    # ---- what they do

    def say(self, who: str, text: str, number: int | None = None) -> int:
        """A comment, by default on the release pull request; its id."""
        return int(self.world.say(who, number or self.number, text)["id"])

    def told(self, who: str, text: str, number: int | None = None) -> str:
        """Say it and wait; the answer."""
        return self.world.told(who, number or self.number, text)

    def authorize(self, who: str, sha: str | None = None) -> str:
        return self.told(who, f"/recovery authorize-release {sha or self.head}")

    def mutate(self, who: str, call: str, **variables: str) -> dict[str, Any]:
        """A mutation on the release pull request, refusals included."""
        document = _MUTATION.format(call=f"{call}(input: {{pullRequestId: $id{_more(variables)}}})")
        return self.world.graphql(who, document, id=self.node)

    def as_other_app(self, method: str, path: str, **fields: Any) -> httpx.Response:
        return self.other_app.request(method, f"/repos/{REPO}/{path}", json=fields)

    def green_run(self, sha: str | None = None, name: str = GUARD) -> httpx.Response:
        """A green check-run of the guard's name by the other App."""
        return self.as_other_app("POST", "check-runs", name=name, head_sha=sha or self.head, conclusion="success")

    def ticket(self, title: str = "Ripen the plums", **fields: Any) -> int:
        return int(self.world.emulator.issue(REPO, title, author="wanda", **fields)["number"])

    def claimed(self, ticket: int, who: str = "wanda", generation: int = 0) -> Agent:
        """A holder of the ticket, by the agents' API, after its evidence."""
        body = {"claim_id": secrets.token_hex(8), "observed_generation": generation, "holder": "agent"}
        grant = Grant.model_validate(self._call(ticket, "claim", body, self._token(who)))
        evidence = {"key": secrets.token_hex(8), "seq": 1, "head_sha": grant.head_sha, "clean": True}
        self._call(ticket, "evidence", evidence, grant.lease_token)
        return Agent(self.world, grant)

    def ready(self, ticket: int, step: str = "one") -> Agent:
        """A holder that published its work and says it is ready."""
        agent = self.claimed(ticket)
        assert type(agent.push(step)).__name__ == "Pushed"
        self.say_ready(agent)
        return agent

    def say_ready(self, agent: Agent) -> None:
        agent._seq += 1
        checkpoint = {"completed_steps": [{"id": "one", "text": "one"}], "next_steps": [{"text": "land"}]}
        body = {"key": secrets.token_hex(8), "seq": agent._seq, "checkpoint": checkpoint, "status": "ready"}
        self._call(int(str(agent.grant.ticket)), "checkpoint", body, agent.grant.lease_token)

    def pull_of(self, branch: str, base: str, body: str = "", who: str = "wanda") -> int:
        """A pull request of a person's, from a new branch with a commit."""
        self.world.branch(branch, of=base)
        self.world.emulator.commit(REPO, {f"{branch.replace('/', '-')}.txt": "x"}, branch=branch, author=who)
        return self.world.open_pull(branch, base, body, who=who)

    def alone(self) -> None:
        """From now on no other branch is a trunk, so that a ticket can only go here."""
        self.told_by(f"trunks: [{self.trunk}]")

    def told_by(self, *lines: str) -> None:
        """The policy has these lines now, until `leave`."""
        self._changed = True
        self.policy(*lines)
        self.world.rest()

    def policy(self, *lines: str, unguarded: str = "accept", mode: str = "full") -> None:
        """A policy with these lines; without a word about landing, nothing but the App is in the way."""
        text = [f"version: 1\nmode: {mode}", *lines]
        if not any(line.startswith("landing:") for line in lines):
            text.append(f"landing:\n  checks: none\n  unguarded_base: {unguarded}")
        if not any(line.startswith("trunks:") for line in lines):
            text.append("trunks: [release-*]")
        if not any(line.startswith("release:") for line in lines):
            text.append(f"release:\n  into: {INTO}")
        self.world.policy("\n".join(text) + "\n")

    def _token(self, who: str) -> str:
        return str(self.world.people[who].headers["authorization"]).removeprefix("Bearer ")

    def _call(self, ticket: int, call: str, body: dict[str, Any], token: str) -> Any:
        path = f"/api/v1/repos/{REPO}/tickets/{ticket}/{call}"
        answer = self.world.service.post(path, json=body, headers={"Authorization": f"Bearer {token}"})
        assert answer.is_success, answer.text
        return answer.json()


def _more(variables: dict[str, str]) -> str:
    return "".join(f", {name}: {value}" for name, value in variables.items())
