"""The crash-everywhere harness: a story is played once undisturbed, then again with every write of the App disturbed.

Every write to GitHub has to answer what happens if it was done and we did not hear. So the n-th write of a story is hit
by a fault, the agent repeats its call as the command line does, fresh replicas run the loop to its fixed point, and the
end state must be that of the undisturbed run.
"""

import json
import re
import secrets
import subprocess
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import httpx
from child_story import children
from git_story import plain_first_push, plain_second_push
from life_cycle_story import cancelled_with_its_issue, comes_back, pruned
from loop_world import REPO, Agent, LoopWorld, claims_of

from app.controller.controller import Controller
from app.domain.agent_api import CheckpointRequest, ClaimRequest, EvidenceRequest, Grant, HandoffRequest
from app.domain.effect import Kind
from app.domain.effect_api import EffectDispatch, EffectIntent, EffectOutcome
from app.domain.effect_probe import TagProbe
from app.domain.keys import TicketKey
from app.domain.outcome import Refused
from app.domain.validation import Validation, validations_of
from app.domain.validation_api import ValidationRequest
from app.emulator.client import Emulator
from app.github.errors import GitHubError

T = TypeVar("T")

DISTURBANCES = (
    "killed before",
    "killed before, database lost",
    "killed after",
    "killed after, database lost",
    "cut before",
    "cut after",
    "502 though done",
    "late",
    "very late",
)
LATE = 2
VERY_LATE = 60
"""Requests after which a late effect comes: while the same round goes on, and after everything was settled."""
MAX_ROUNDS = 40
MAX_REPEATS = 6


class Killed(BaseException):
    """The process is gone: nothing it was about to do happens any more, and no handler of errors sees it."""


@dataclass
class Disturber:
    """Counts the App's writes over all its processes, and disturbs the one that is meant."""

    emulator: Emulator
    kind: str | None = None
    target: int = -1
    on: bool = False
    seen: list[str] = field(default_factory=list)
    of_story: list[str] = field(default_factory=list)
    """The writes up to the story's own fixed point."""

    def meets(self, request: httpx.Request) -> bool:
        """Count a request, and say whether it is the one."""
        name = _written(request)
        if not self.on or name is None:
            return False
        self.seen.append(name)
        return self.kind is not None and len(self.seen) - 1 == self.target

    def order(self, request: httpx.Request) -> None:
        """Have the emulator treat exactly this request as the disturbance wants."""
        members: dict[str, Any] = {
            "cut before": {"kind": "drop_before"},
            "cut after": {"kind": "drop_after"},
            "502 though done": {"kind": "status_after", "code": 502},
            "late": {"kind": "late", "after": LATE},
            "very late": {"kind": "late", "after": VERY_LATE},
        }[self.kind or ""]
        self.emulator.fault(
            match={"method": request.method, "path_regex": f"^{re.escape(request.url.path)}$"}, **members
        )


class DisturbedTransport(httpx.AsyncBaseTransport):
    """One process's way to GitHub."""

    def __init__(self, disturber: Disturber) -> None:
        self._inner = httpx.AsyncHTTPTransport()
        self._disturber = disturber
        self._dead = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request, unless the process is dead or dies of it."""
        if self._dead:
            raise Killed
        if not self._disturber.meets(request):
            return await self._inner.handle_async_request(request)
        kind = self._disturber.kind or ""
        if not kind.startswith("killed"):
            self._disturber.order(request)
            return await self._inner.handle_async_request(request)
        self._dead = True
        if kind.startswith("killed after"):
            response = await self._inner.handle_async_request(request)
            await response.aread()
            await response.aclose()
        raise Killed

    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()


def _written(request: httpx.Request) -> str | None:
    """The name of a write; None for a read and for the minting of tokens."""
    path = request.url.path
    if request.method in ("GET", "HEAD") or path.endswith("/access_tokens"):
        return None
    if path.endswith("/graphql"):
        query = json.loads(request.content)["query"].lstrip()
        return f"graphql {re.findall(r'[a-zA-Z]+', query)[1]}" if query.startswith("mutation") else None
    return f"{request.method} {re.sub(r'[0-9a-f]{40}|[0-9]+', '*', path.removeprefix(f'/repos/{REPO}/'))}"


@dataclass(frozen=True)
class EndState:
    """What GitHub holds in the end, without anything that differs from run to run."""

    status: str
    generation: int
    completed_steps: tuple[str, ...]
    open_permits: int
    attempts: int
    branch_at_published: bool
    pulls: tuple[tuple[str, bool, str, str], ...]
    handoff_comments: tuple[int, ...]
    """How many stand on each PR."""
    check_runs: tuple[tuple[str, int, str], ...]
    """(the code commit's message, generation, conclusion) of the check-runs on any branch."""
    doubled_check_runs: int
    """More than one of a commit and generation. GitHub lets nobody delete a check-run."""
    recovered: int
    """Foreign heads that were kept."""
    ledgers: int
    two_nonces: tuple[int, ...]
    """Generations that had more than one nonce: always none."""
    validations: tuple[tuple[str, int, tuple[str, ...]], ...] = ()
    """(profile, generation, what did not run) of the validations in the record."""
    effects: tuple[tuple[str, str], ...] = ()
    """(key, state) of the effects in the record."""
    carried_out: int = 0
    """How often something was done outside Git."""
    children: tuple[tuple[str, str, int, bool], ...] = ()
    """(name, state, generation, whether its result is sealed in the parent's record) of the ticket's children."""


class Play:
    """One run of a story: the agent's side, the processes of the service, and what is left at the end."""

    def __init__(self, world: LoopWorld, disturber: Disturber, data: Path) -> None:
        self.world = world
        self._data = data
        self.disturber = disturber
        self._database = world.folder / f"{secrets.token_hex(4)}.db"
        self.controller = self._start()
        self._carried_out = 0

    def _start(self) -> Controller:
        return self.world.controller(database_file=self._database, transport=DisturbedTransport(self.disturber))

    def begin(self) -> None:
        """From here on writes are counted and disturbed."""
        self.disturber.on = True

    async def call(self, deed: Callable[[Controller], Awaitable[T]]) -> T:
        """Do something by the service, as an agent that repeats its request until it has an answer."""
        for number in range(MAX_REPEATS):
            try:
                return await deed(self.controller)
            except Killed:
                self._restart()
            except Refused as refused:
                if not refused.blocked.retryable:
                    raise
            except GitHubError:
                pass
            self.world.emulator.advance(2**number)
        raise AssertionError(f"no answer after {MAX_REPEATS} repeats")

    def _restart(self) -> None:
        if (self.disturber.kind or "").endswith("database lost"):
            self._database = self.world.folder / f"{secrets.token_hex(4)}.db"
        self.controller = self._start()

    async def claim(self, claim_id: str, generation: int = 0) -> Agent:
        """Claim and hand in the evidence."""
        request = ClaimRequest(claim_id=claim_id, observed_generation=generation, holder="agent")
        grant: Grant = await self.call(lambda c: c.claim("acme", "shop", self.world.ticket, request, "wanda"))
        evidence = EvidenceRequest(key=f"evidence-{claim_id}", seq=1, head_sha=grant.head_sha, clean=True)
        await self.call(lambda c: c.evidence("acme", "shop", self.world.ticket, claims_of(grant), evidence))
        return self.world.agent(grant)

    async def checkpoint(self, agent: Agent, status: str = "working") -> None:
        """A checkpoint through the service."""
        body = {"completed_steps": [{"id": "one", "text": "one"}], "next_steps": [{"text": "more"}]}
        request = CheckpointRequest(key=f"checkpoint-{status}", seq=500, checkpoint=body, status=status)
        claims = claims_of(agent.grant)
        await self.call(lambda c: c.checkpoint("acme", "shop", self.world.ticket, claims, request))

    async def validation(self, agent: Agent, sha: str) -> None:
        """What was checked on a commit, recorded."""
        made = Validation(profile="unit", version="3", validated_sha=sha, completed=("a",), not_run=("b",))
        request = ValidationRequest(key="validation-1", seq=550, validation=made)
        claims = claims_of(agent.grant)
        await self.call(lambda c: c.validation("acme", "shop", self.world.ticket, claims, request))

    async def handoff(self, agent: Agent) -> None:
        """Give the ticket back."""
        request = HandoffRequest(key="handoff-1", seq=600, reason="enough for today")
        claims = claims_of(agent.grant)
        await self.call(lambda c: c.handoff("acme", "shop", self.world.ticket, claims, request))

    async def effect(self, agent: Agent, key: str, *, tells: bool = True) -> None:
        """Make a tag through the journal of effects, as the command line does; with `tells` its end is told too."""
        claims, place = claims_of(agent.grant), ("acme", "shop", self.world.ticket)
        intent = EffectIntent(key=f"intend-{key}", seq=700, effect=key, kind=Kind.TAG, probe=TagProbe(name=key))
        await self.call(lambda c: c.intend_effect(*place, claims, intent))
        asked = EffectDispatch(key=f"dispatch-{key}", seq=701, attempt=f"attempt-{key}")
        answer = await self.call(lambda c: c.dispatch_effect(*place, claims, key, asked))
        if answer.effect is not None and answer.effect.go:
            self._carried_out += 1
            self.world.git(agent.folder, "push", "-q", "origin", f"{agent.grant.head_sha}:refs/tags/{key}")
        if tells:
            told = EffectOutcome(
                key=f"result-{key}", seq=702, attempt=f"attempt-{key}", outcome="confirmed", exit_code=0
            )
            await self.call(lambda c: c.report_effect(*place, claims, key, told))

    async def settle(self) -> None:
        """Run the loop until it waits for nothing, moving GitHub's clock to each next look."""
        for _ in range(MAX_ROUNDS):
            try:
                ended = await self.controller.round(TicketKey(REPO, self.world.ticket))
            except Killed:
                self._restart()
                continue
            except GitHubError:
                self.world.emulator.advance(5)
                continue
            if ended.again_at is None:
                return
            ahead = ended.again_at.timestamp() - self.world.emulator.now()
            self.world.emulator.advance(max(ahead, 0) + 1)
        raise AssertionError(f"no fixed point after {MAX_ROUNDS} rounds")

    async def finish(self) -> EndState:
        """Let late effects come, then let a fresh replica find its fixed point; it then writes nothing more."""
        await self.settle()
        self.disturber.of_story = list(self.disturber.seen)
        if self.disturber.kind == "very late":
            for _ in range(VERY_LATE + 1):
                self.world.get("branches/main")
        self.disturber.on = False
        self._database = self.world.folder / f"{secrets.token_hex(4)}.db"
        self.controller = self._start()
        await self.settle()
        self.disturber.on, self.disturber.kind = True, None
        counted = len(self.disturber.seen)
        await self.settle()
        assert self.disturber.seen[counted:] == [], "a round on a settled world writes nothing"
        return await self._state()

    async def _state(self) -> EndState:
        world = self.world
        view = await self.controller._views.look("acme", "shop", world.ticket)
        assert view.frozen is None, view.frozen
        assert view.standing is not None
        record = view.standing.record
        assert record.work is not None
        published = record.published.sha if record.published else None
        pulls = world.get("pulls?state=all")
        marker = f"agent-recovery:handoff:{world.ticket} "
        comments = [sum(marker in c["body"] for c in world.get(f"issues/{pull['number']}/comments")) for pull in pulls]
        check_runs = self._check_runs()
        return EndState(
            status=record.status,
            generation=record.generation,
            completed_steps=tuple(step.id for step in record.checkpoint.completed_steps),
            open_permits=len(record.open),
            attempts=record.attempts.count,
            branch_at_published=world.head(record.work.branch) == published,
            pulls=tuple((p["state"], p["draft"], p["head"]["ref"], p["base"]["ref"]) for p in pulls),
            handoff_comments=tuple(comments),
            check_runs=tuple(sorted(set(check_runs))),
            doubled_check_runs=len(check_runs) - len({(name, generation) for name, generation, _ in check_runs}),
            recovered=len(world.get("git/matching-refs/agent-recovery/recovered/")),
            ledgers=len(world.get("git/matching-refs/agent-recovery/active/")),
            two_nonces=self._generations_with_two_nonces(),
            validations=tuple((v.profile, v.generation, v.not_run) for v in validations_of(record)),
            effects=tuple((effect.key, effect.state) for effect in record.effects),
            carried_out=self._carried_out,
            children=tuple(
                (c.name, c.state, c.generation, c.result_commit is not None) for c in view.family.shown(record)
            ),
        )

    def _check_runs(self) -> list[tuple[str, int, str]]:
        found = {}
        for branch in self.world.get("branches"):
            for commit in self.world.get(f"commits?sha={branch['name']}"):
                runs = self.world.get(f"commits/{commit['sha']}/check-runs?filter=all")["check_runs"]
                for run in runs:
                    generation = int(run["external_id"].split(":")[1])
                    found[run["id"]] = (commit["commit"]["message"], generation, str(run["conclusion"]))
        return list(found.values())

    def _generations_with_two_nonces(self) -> tuple[int, ...]:
        bare = next(self._data.glob("repos/*.git"))
        place = "active" if self.world.ledger() else "done"
        ref = f"refs/agent-recovery/{place}/{self.world.ticket}"
        git = ["git", "-C", str(bare)]
        shas = subprocess.run([*git, "rev-list", "--first-parent", ref], check=True, capture_output=True, text=True)
        names = "".join(f"{sha}:record.json\n" for sha in shas.stdout.split())
        raw = subprocess.run([*git, "cat-file", "--batch"], input=names, check=True, capture_output=True, text=True)
        leases = [json.loads(line).get("lease") for line in raw.stdout.splitlines() if line.startswith("{")]
        nonces = {(lease["generation"], lease["nonce"]) for lease in leases if lease}
        return tuple(g for g, count in Counter(generation for generation, _ in nonces).items() if count > 1)


Story = Callable[[Play], Awaitable[None]]


async def _published(play: Play) -> Agent:
    agent = await play.claim("claim-first")
    agent.push("one")
    await play.settle()
    return agent


async def first_claim(play: Play) -> None:
    """Nobody has claimed the ticket before."""
    play.begin()
    await play.claim("claim-first")


async def first_push(play: Play) -> None:
    """The first commits are published: PR, comment and check-run appear."""
    agent = await play.claim("claim-first")
    play.begin()
    agent.push("one")


async def second_push(play: Play) -> None:
    """The branch moves on: another check-run, the same PR and comment."""
    agent = await _published(play)
    play.begin()
    agent.push("two")


async def takeover(play: Play) -> None:
    """The first holder is dead; a second one claims."""
    await _published(play)
    play.world.emulator.advance(17 * 60)
    play.begin()
    await play.claim("claim-second", 1)


async def checkpoint(play: Play) -> None:
    """A checkpoint through the service, and what was validated on the published commit."""
    agent = await _published(play)
    play.begin()
    await play.checkpoint(agent)
    await play.validation(agent, play.world.head(agent.grant.branch) or "")


async def ready(play: Play) -> None:
    """The holder says that the work is ready."""
    agent = await _published(play)
    play.begin()
    await play.checkpoint(agent, "ready")


async def handoff(play: Play) -> None:
    """The holder gives the ticket back."""
    agent = await _published(play)
    play.begin()
    await play.handoff(agent)


async def effect_run(play: Play) -> None:
    """Something is done outside Git, journaled before and after."""
    agent = await play.claim("claim-first")
    play.begin()
    await play.effect(agent, "tag-first")


async def effect_of_the_dead(play: Play) -> None:
    """A holder died after it did something outside Git: its successor's loop looks."""
    agent = await play.claim("claim-first")
    await play.effect(agent, "tag-first", tells=False)
    play.world.emulator.advance(17 * 60)
    play.begin()
    await play.claim("claim-second", 1)


async def branch_deleted(play: Play) -> None:
    """Somebody deletes the branch; its PR closes."""
    agent = await _published(play)
    play.begin()
    play.world.git(agent.folder, "push", "-q", "origin", f":refs/heads/{agent.grant.branch}")


async def branch_forced(play: Play) -> None:
    """Somebody forces another history over the branch."""
    agent = await _published(play)
    play.begin()
    tree = play.world.git(agent.folder, "rev-parse", "HEAD^{tree}")
    orphan = play.world.git(agent.folder, "commit-tree", "-m", "foreign", tree)
    play.world.git(agent.folder, "push", "-q", "--force", "origin", f"{orphan}:refs/heads/{agent.grant.branch}")


STORIES: dict[str, Story] = {
    story.__name__: story
    for story in (
        first_claim,
        first_push,
        second_push,
        takeover,
        checkpoint,
        ready,
        handoff,
        children,
        effect_run,
        effect_of_the_dead,
        branch_deleted,
        branch_forced,
        plain_first_push,
        plain_second_push,
        cancelled_with_its_issue,
        comes_back,
        pruned,
    )
}


@dataclass(frozen=True)
class Stage:
    """Where stories are played: an emulator, its data and a folder for the agents."""

    emulator: Emulator
    data: Path
    folder: Path

    async def play(self, story: str, kind: str | None = None, write: int = -1) -> tuple[EndState, list[str]]:
        """Play a story with one write disturbed; the end state, and the names of the story's writes."""
        folder = self.folder / secrets.token_hex(4)
        folder.mkdir()
        disturber = Disturber(self.emulator, kind, write)
        world = LoopWorld(self.emulator, folder)
        try:
            run = Play(world, disturber, self.data)
            await STORIES[story](run)
            return await run.finish(), disturber.of_story
        finally:
            await world.close()
