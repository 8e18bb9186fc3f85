"""The story of the demo: an agent dies, a fresh one goes on, the dead one comes back and changes nothing that counts,
what is ready lands, and a person's word brings the release.

The chapters up to `ready` are here, those of the zombie in `story_zombie.py`, the delivery in `story_landing.py`, the
release in `story_release.py`. A chapter that cannot be proved ends the story, because the next ones would speak of
something that did not happen; every proof that was not reached is then reported as not proved.
"""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from app.drill import proofs_of_work as proofs
from app.drill import world as names
from app.drill.door import Passage
from app.drill.duplicates import find_duplicates
from app.drill.git_reader import LedgerCommit
from app.drill.processes import StoryProcess, StoryStopped
from app.drill.proof import NotProved, Proof, Proved, Unproved
from app.drill.proofs_of_work import Place
from app.drill.telling import Result, Telling
from app.drill.world import World

PROOFS = (
    "installed",
    "claimed",
    "work_pushed",
    "pr_created",
    "comment",
    "check",
    "killed",
    "service_lost",
    "recovered",
    "workspace_exact",
    "no_step_redone",
    "ready",
    "zombie_checkpoint",
    "zombie_push",
    "zombie_ready",
    "plain_push",
    "force_push",
    "branch_deleted",
    "ledger_moved_back",
    "missing_pr",
    "base_guarded",
    "both_ready",
    "landed",
    "issues_closed",
    "branches_gone",
    "ledgers_done",
    "release_draft",
    "release_refused",
    "release_authorized",
    "release_void",
    "release_merged",
)
STEP_IDS = tuple(str(n) for n in range(1, len(names.STEPS) + 1))
PATIENCE = 20.0
"""Seconds until a step that is not proved counts as failed; most take well under one. Every story may set its own."""
APART = ("token mint", "permission look-up", "git")
"""What is counted beside a recovery's requests, also where it is none."""
SETTLED = 5.0
"""Seconds after an attempt at which GitHub must still show the same. Every story may set its own."""


@dataclass(frozen=True)
class Moment:
    """When the first agent dies: while it works on `step`, `delay` seconds after it began it."""

    step: str
    delay: float


def moment_of_death(seed: int) -> Moment:
    """The moment that a seed chooses: always amid a step that follows one which is committed and not pushed."""
    chance = random.Random(seed)
    return Moment(step=chance.choice(("3", "5")), delay=chance.uniform(0.05, 0.35))


@dataclass
class Agents:
    """The two agents: their processes, their folders, and what is known of them from outside."""

    first: StoryProcess
    first_folder: Path
    second: StoryProcess | None = None
    second_folder: Path | None = None
    done_before: tuple[str, ...] = ()
    left_behind: tuple[str, ...] = ()


@dataclass
class Story:
    """One telling of the story in one world. Proofs fill `result`."""

    world: World
    telling: Telling
    result: Result
    patience: float = PATIENCE
    settled: float = SETTLED
    place: Place = field(init=False)

    def __post_init__(self) -> None:
        self.place = Place(
            app=self.world.app,
            ticket=names.TICKET,
            default_branch=names.DEFAULT_BRANCH,
            trunk=names.TRUNK,
            branch=names.BRANCH,
        )

    # Proving

    def prove(self, name: str, look: Callable[[], Proof]) -> Proved:
        """Asks until it is proved, tells it in one line and keeps the evidence. Raises StoryStopped."""
        proof = self.ask(name, look)
        self.conclude(name, proof)
        if isinstance(proof, NotProved):
            raise StoryStopped(f"{name}: {proof.why}")
        return proof

    def ask(self, name: str, look: Callable[[], Proof]) -> Proof:
        """The first `Proved`, or the last `NotProved` when patience is at its end."""
        self.telling.doing(f"looking at GitHub: {name}")
        deadline = time.monotonic() + self.patience
        while True:
            proof = look()
            if isinstance(proof, Proved) or time.monotonic() > deadline:
                return proof
            time.sleep(0.1)

    def conclude(self, name: str, proof: Proof) -> None:
        self.telling.proof(name, proof)
        if isinstance(proof, Proved):
            self.result.proved[name] = proof.evidence
        else:
            self.result.failed[name] = proof.why

    # Chapters

    def install(self) -> None:
        """A repository with a trunk, a policy and a ticket; the App is installed on it."""
        self.telling.chapter("1  A repository, a ticket, the App")
        self.telling.doing("starting the service")
        self.world.start_service()
        self.world.install()
        self.prove("installed", lambda: proofs.installed(self.world.observer, self.place))

    def work_until_death(self) -> Agents:
        """An agent claims and works; it dies by SIGKILL at a random moment in the middle of unpushed work."""
        self.telling.chapter("2  An agent works on the ticket")
        agent, folder = self.world.start_agent("first agent", self.world.first)
        moment = moment_of_death(self.result.seed)
        death = Death(agent, moment)
        observer, place = self.world.observer, self.place
        agent.wait_for(_event("recovered"), 30)
        self.prove("claimed", lambda: proofs.claimed(observer, place, generation=1))
        agent.wait_for(_event("pushed"), 30)
        self.prove("work_pushed", lambda: proofs.work_pushed(observer, place, generation=1))
        self.prove("pr_created", lambda: proofs.pr_created(observer, place))
        self.prove("comment", lambda: proofs.comment(observer, place))
        self.prove("check", lambda: proofs.check(observer, place))
        self.telling.chapter("3  The agent dies, then the service with its database")
        self.telling.doing("waiting for the agent's death")
        exit_code = death.wait(60)
        pushed = [e for e in agent.events if e["event"] == "pushed"][-1]["head"]
        observed = proofs.Death(exit_code=exit_code, workspace=folder, pushed=pushed)
        killed = self.prove("killed", lambda: proofs.killed(observer, place, observed))
        # Which moment it was is the story's own knowledge; what it left behind was read from outside.
        self.result.proved["killed"] = killed.evidence | {"amid_step": moment.step, "seconds_into_it": moment.delay}
        observer.git.fetch()
        before = observer.git.commits(f"{observer.branch(place.trunk)}..{pushed}")
        return Agents(
            agent,
            folder,
            done_before=tuple(c.sha for c in before),
            left_behind=tuple(killed.evidence["unpushed"]),
        )

    def lose_the_service(self) -> None:
        """The service is killed, its database deleted, and it starts again."""
        self.telling.doing("killing the service and deleting its database")
        assert self.world.service is not None
        old = self.world.service.pid
        exit_code = self.world.lose_service()
        gone = not self.world.database.exists()
        mark = self.world.requests_served()
        new = self.world.start_service()

        def look() -> Proof:
            loss = proofs.ServiceLoss(exit_code, gone, old, new.pid, self.world.reads_since(mark))
            return proofs.service_lost(self.world.observer, self.place, loss)

        self.prove("service_lost", look)

    def recover(self, agents: Agents) -> None:
        """A second agent, in another empty folder, recovers the ticket and finishes it."""
        self.telling.chapter("4  A second agent goes on")
        observer, place, world = self.world.observer, self.place, self.world
        before = observer.ledger(place.ticket)[0]
        published = observer.branch(place.branch)
        world.pass_lease()
        self.telling.remark("GitHub's clock moves past the lease; the first agent is not heard of any more")
        agent, folder = world.start_agent("second agent", world.second)
        agents.second, agents.second_folder = agent, folder
        agent.wait_for(_event("recovered"), 30)
        self._count_requests(before, published)
        self.prove("recovered", lambda: proofs.recovered(observer, place, before=before, published=published))
        agent.wait_for(_event("pushed"), 30)
        self.prove(
            "workspace_exact",
            lambda: proofs.workspace_exact(
                observer, place, workspace=folder, published=published, left_behind=agents.left_behind
            ),
        )
        self.telling.doing("waiting for the second agent")
        if agent.wait(60) != 0:
            raise StoryStopped(f"the second agent ended with {agent.exit_code}: {agent.last_words()}")
        self.prove(
            "no_step_redone",
            lambda: proofs.no_step_redone(observer, place, steps=STEP_IDS, done_before=agents.done_before),
        )
        self.prove("ready", lambda: proofs.ready(observer, place, generation=2, steps=STEP_IDS))
        self.result.generation = 2

    def _count_requests(self, before: LedgerCommit, published: str) -> None:
        """From the claim's arrival until the evidence is projected: REST and GraphQL calls of the service."""
        observer, place, world = self.world.observer, self.place, self.world
        assert world.door is not None
        claim, evidence = world.door.last("/claim"), world.door.last("/evidence")
        if claim is None or evidence is None:
            raise StoryStopped("no claim or no evidence came through the service's door")

        def projected() -> Proof:
            runs = observer.check_runs(published, place.app)
            wanted = f"{place.ticket}:{before.generation + 1}:"
            shown = [r for r in runs if (r.external_id or "").startswith(wanted)]
            # `recovering` is what the claim projects; the evidence ends it.
            ledger = observer.ledger(place.ticket)
            for run in shown:
                try:
                    entry = proofs.ledger_commit_of(run.external_id, place.ticket, ledger)
                except Unproved:
                    continue
                if entry.record["status"] != "recovering":
                    return Proved("projected")
            return NotProved("the evidence is not projected")

        proof = self.ask("the evidence's projection", projected)
        if isinstance(proof, NotProved):
            raise StoryStopped(f"the recovery was not counted: {proof.why}")
        served = world.app_requests(claim.before, world.requests_served())
        self.result.recovery_requests_by_step, self.result.apart = sort_requests(served, claim, evidence)
        self.result.recovery_requests = sum(self.result.recovery_requests_by_step.values())

    def look_for_duplicates(self, place: Place, ledger_head: str) -> None:
        """Counts what is twice of one ticket, and adds what was not found before."""
        found = [f"{d.count} {d.kind}: {d.what}" for d in find_duplicates(self.world.observer, place, ledger_head)]
        self.result.duplicates_found = list(dict.fromkeys([*self.result.duplicates_found, *found]))
        self.result.duplicates = len(self.result.duplicates_found)


def sort_requests(
    served: list[dict[str, object]], claim: Passage, evidence: Passage
) -> tuple[dict[str, int], dict[str, int]]:
    """The service's requests by step of the recovery, and apart from them token mint, permission and git."""
    by_step: Counter[str] = Counter()
    apart: Counter[str] = Counter(dict.fromkeys(APART, 0))
    for request in served:
        path, kind, n = str(request["path"]), str(request["kind"]), int(str(request["n"]))
        if kind == "token" or path.endswith("/access_tokens"):
            apart["token mint"] += 1
        elif path.endswith("/permission") or (path.endswith("/user") and kind == "rest"):
            apart["permission look-up"] += 1
        elif kind == "git":
            apart["git"] += 1
        elif n <= claim.after:
            by_step["claim"] += 1
        elif n <= evidence.before:
            by_step["between"] += 1
        elif n <= evidence.after:
            by_step["evidence"] += 1
        else:
            by_step["projection"] += 1
    return dict(by_step), dict(apart)


class Death:
    """Kills an agent while it writes a step: after an unpushed commit, with the next one half done."""

    def __init__(self, agent: StoryProcess, moment: Moment) -> None:
        self._agent = agent
        self._moment = moment
        self._exit_code: int | None = None
        self._problem: StoryStopped | None = None
        self._thread = threading.Thread(target=self._strike, name="death", daemon=True)
        self._thread.start()

    def wait(self, timeout: float) -> int | None:
        """The exit code of the dead agent. Raises StoryStopped when it ended before its time."""
        self._thread.join(timeout)
        if self._problem is not None:
            raise self._problem
        return self._exit_code

    def _strike(self) -> None:
        try:
            self._agent.wait_for(lambda e: e["event"] == "step_started" and e["step"] == self._moment.step, 90)
            time.sleep(self._moment.delay)
            self._exit_code = self._agent.kill()
        except StoryStopped as problem:
            self._problem = problem


def _event(name: str) -> Callable[[dict[str, object]], bool]:
    return lambda event: event["event"] == name
