"""The ten failures of the specification's first section, and worse, each caused for real: the ticket ends as it does
undisturbed.

| failure | test |
|---|---|
| model or session context lost | `..._goes_on_in_its_folder[session ended]` |
| agent process crashed or cancelled | `..._goes_on_elsewhere[crashed]` |
| terminal or IDE restarted | `..._goes_on_in_its_folder[terminal closed]` |
| parent agent dead while its children live | `test_children_processes.py` |
| child dead | `test_children_processes.py` |
| sandbox, container or VM made anew | `..._goes_on_elsewhere[folder and HOME gone]` |
| local supervisor (the service) restarted | `..._a_restart_of_the_service[...]`, `..._between_an_answer_...` |
| network or provider down for a while | `test_a_network_that_drops_requests_...` |
| CI interrupted and retried | `..._goes_on_elsewhere[CI cancelled and retried]` |
| host rebooted | `test_a_reboot_...` |
| machine and provider lost | `test_when_everything_is_lost_at_once_...` |

RPO: nothing that was pushed is ever done again. RTO: what passed on GitHub's clock, and how long the work itself took.
"""

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.domain.policy import Policy
from app.drill.processes import StoryProcess
from tests.recovery.git_world import REPO, GitWorld, until

AGENT = Path(__file__).with_name("steady_agent.py")
PAGE = Path(__file__).parents[2] / "docs" / "rpo-rto.md"
PATIENCE_S = 100.0
LEASE = Policy().lease
WAIT_S = (LEASE.ttl + LEASE.grace).total_seconds() + 60
"""After so long without a sign of life a ticket is taken over; the agent pushed a moment before it died."""
RESTART_S = 30.0
pytestmark = [pytest.mark.drill, pytest.mark.timeout(300)]


@dataclass(frozen=True)
class End:
    """What GitHub shows of a ticket in the end, save who did it in which generation."""

    status: str
    steps: tuple[str, ...]
    published: bool
    tree: str
    pulls: tuple[tuple[str, bool, str], ...]
    handoff_comments: int
    conclusions: tuple[str, ...]
    open_permits: int


class Machine:
    """A place where agents run: a folder, a HOME, an account."""

    def __init__(self, world: GitWorld, name: str, token: str) -> None:
        self.world = world
        self.home = world.folder / "machines" / name
        self.folder = self.home / "work"
        self.folder.mkdir(parents=True)
        self._token = token
        self.log = world.folder / f"{name}.log"
        self.running: StoryProcess | None = None

    def start(self, ticket: int, *stop_at: str, **environment: str) -> StoryProcess:
        who = {f"GIT_{role}_{what}": "agent" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        self.running = StoryProcess(
            self.home.name,
            [sys.executable, str(AGENT), str(ticket), *stop_at],
            cwd=self.folder,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.home),
                "PYTHONPATH": str(AGENT.parents[2]),
                "GIT_CONFIG_NOSYSTEM": "1",
                "GITHUB_TOKEN": self._token,
                "AGENT_RECOVERY_URL": self.world.url,
                "AGENT_RECOVERY_REPO": REPO,
                **who,
                **environment,
            },
            log=self.log,
        )
        return self.running

    def wipe(self) -> None:
        shutil.rmtree(self.home)


class Numbers:
    """What the tests measured."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, failure: str, lost: str, waited_s: float, took_s: float) -> None:
        waited = f"{waited_s / 60:.0f} min of waiting + " if waited_s else ""
        self.lines.append(f"{failure}: RPO {lost}; RTO {waited}{took_s:.1f} s")


@pytest.fixture(scope="module")
def numbers(request: pytest.FixtureRequest) -> Iterator[Numbers]:
    made = Numbers()
    yield made
    with request.config.pluginmanager.get_plugin("capturemanager").global_and_fixture_disabled():
        print("", *made.lines, sep="\n  measured · ")


@pytest.fixture(scope="module")
def github(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitWorld]:
    world = GitWorld(tmp_path_factory.mktemp("ten"))
    world.settings["AGENT_RECOVERY_PORT"] = world.url.rpartition(":")[2]  # an agent finds the service again
    yield world
    world.end()


@pytest.fixture
def machines(github: GitWorld) -> Iterator[Callable[..., Machine]]:
    made: list[Machine] = []

    def new(token: str = "") -> Machine:
        made.append(Machine(github, f"machine-{len(list(github.folder.glob('machine*')))}-{len(made)}", token))
        return made[-1]

    yield lambda token=github.user: new(token)
    for machine in made:
        if machine.running is not None and machine.running.exit_code is None:
            machine.running.kill()


def event(name: str) -> Callable[[dict[str, Any]], bool]:
    return lambda told: told["event"] == name


def end_of(world: GitWorld, ticket: int) -> End:
    record = world.record(ticket)
    branch, published = record["work"]["branch"], record["published"]["sha"]
    head = world.ref(f"refs/heads/{branch}")
    get = lambda path: world.github.get(f"/repos/{REPO}/{path}").json()  # noqa: E731
    pulls = get(f"pulls?state=all&head=acme:{branch}")
    comments = [c["body"] for pull in pulls for c in get(f"issues/{pull['number']}/comments")]
    runs = get(f"commits/{head}/check-runs?filter=all")["check_runs"]
    present = [r for r in runs if r["external_id"].startswith(f"{ticket}:{record['generation']}:")]
    return End(
        status=record["status"],
        steps=tuple(step["id"] for step in record["checkpoint"]["completed_steps"]),
        published=head == published,
        tree=get(f"commits/{head}")["commit"]["tree"]["sha"],
        pulls=tuple((p["state"], p["draft"], p["base"]["ref"]) for p in pulls),
        handoff_comments=sum("agent-recovery:handoff:" in body for body in comments),
        conclusions=tuple(str(run["conclusion"]) for run in present),
        open_permits=len(record.get("open", [])),
    )


@pytest.fixture(scope="module")
def undisturbed(github: GitWorld) -> End:
    ticket = github.issue("Undisturbed")
    agent = Machine(github, "undisturbed", github.user).start(ticket)
    agent.wait_for(event("ready"), PATIENCE_S)
    reached = End("ready", ("one", "two", "three"), True, "", (("open", False, "release-1"),), 1, ("success",), 0)

    def same() -> bool:
        seen = end_of(github, ticket)
        return End(**{**vars(seen), "tree": ""}) == reached

    until(same, "the undisturbed end")
    return end_of(github, ticket)


def ends_like(world: GitWorld, ticket: int, wanted: End) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while (seen := end_of(world, ticket)) != wanted:
        assert time.monotonic() < deadline, f"{seen}\ninstead of\n{wanted}"
        time.sleep(0.4)


def lose_database(world: GitWorld) -> None:
    for leftover in world.folder.glob("service.db*"):
        leftover.unlink()


def at_work(world: GitWorld, machine: Machine, title: str, **environment: str) -> int:
    """A ticket whose agent has pushed one step and committed another."""
    ticket = world.issue(title)
    machine.start(ticket, "two", **environment).wait_for(event("stopped"), PATIENCE_S)
    return ticket


@pytest.mark.parametrize(("how", "name"), [(signal.SIGTERM, "session ended"), (signal.SIGHUP, "terminal closed")])
def test_an_agent_goes_on_in_its_folder(
    github: GitWorld,
    machines: Callable[..., Machine],
    undisturbed: End,
    numbers: Numbers,
    how: signal.Signals,
    name: str,
) -> None:
    machine = machines()
    ticket = at_work(github, machine, name)
    assert machine.running is not None
    os.killpg(machine.running.pid, how)
    machine.running.wait(10)
    began = time.monotonic()
    # Another session, without a memory of the first, and at once: the folder still holds the lease.
    agent = machine.start(ticket)
    recovered = agent.wait_for(event("recovered"), PATIENCE_S)
    numbers.note(name, "nothing", 0, time.monotonic() - began)
    assert (recovered["done"], recovered["generation"]) == (["one"], 1)
    agent.wait_for(event("ready"), PATIENCE_S)
    assert [told["step"] for told in agent.events if told["event"] == "did"] == ["three"]
    ends_like(github, ticket, undisturbed)


@pytest.mark.parametrize("name", ["crashed", "folder and HOME gone", "CI cancelled and retried"])
def test_another_agent_goes_on_elsewhere(
    github: GitWorld, machines: Callable[..., Machine], undisturbed: End, numbers: Numbers, name: str
) -> None:
    machine, other = machines(), machines()
    run = {"GITHUB_ACTIONS": "true", "GITHUB_RUN_ID": "77"} if name.startswith("CI") else {}
    ticket = at_work(github, machine, name, **run)
    assert machine.running is not None
    if run:
        # As a runner does it: asked to end first, then ended.
        os.killpg(machine.running.pid, signal.SIGINT)
    machine.running.kill()
    if name != "crashed":
        machine.wipe()
    again = {**run, "GITHUB_RUN_ATTEMPT": "2"} if run else {}
    # While the lease of the dead runs, nobody takes the ticket; afterwards whoever comes first.
    body = {"claim_id": "too-early-1", "observed_generation": 1, "holder": "early"}
    early = github.api.post(f"/{ticket}/claim", json=body, headers={"Authorization": f"Bearer {github.user}"})
    assert (early.status_code, early.json()["error"]["code"]) == (409, "lease_live")
    github.emulator.advance(WAIT_S)
    began = time.monotonic()
    agent = other.start(ticket, **again)
    recovered = agent.wait_for(event("recovered"), PATIENCE_S)
    numbers.note(name, "one commit that was not pushed", WAIT_S, time.monotonic() - began)
    assert (recovered["done"], recovered["generation"]) == (["one"], 2)
    agent.wait_for(event("ready"), PATIENCE_S)
    assert [told["step"] for told in agent.events if told["event"] == "did"] == ["two", "three"]
    ends_like(github, ticket, undisturbed)


@pytest.mark.parametrize("database", ["kept", "deleted"])
def test_an_agent_outlives_a_restart_of_the_service(
    github: GitWorld, machines: Callable[..., Machine], undisturbed: End, numbers: Numbers, database: str
) -> None:
    machine = machines()
    ticket = at_work(github, machine, f"Service restarted, database {database}")
    began = time.monotonic()
    github.end_service(signal.SIGKILL)
    (machine.home / "go").touch()  # the agent goes on while nobody is there
    if database == "deleted":
        lose_database(github)
    github.start()
    assert github.api.get(f"{github.url}/healthz").status_code == 200
    back_s = time.monotonic() - began
    numbers.note(f"service killed, database {database}", "nothing", 0, back_s)
    assert back_s < RESTART_S
    assert machine.running is not None
    machine.running.wait_for(event("ready"), PATIENCE_S)
    ends_like(github, ticket, undisturbed)


def test_nothing_is_lost_between_an_answer_and_what_follows_from_it(
    github: GitWorld, machines: Callable[..., Machine], undisturbed: End, numbers: Numbers
) -> None:
    """The service dies with its database after it answered `ready`, before the loop showed it."""
    ticket = github.issue("Answered and not carried out")
    agent = machines().start(ticket)
    agent.wait_for(event("ready"), PATIENCE_S)
    began = time.monotonic()
    github.end_service(signal.SIGKILL)
    lose_database(github)
    github.start()
    ends_like(github, ticket, undisturbed)
    took_s = time.monotonic() - began
    numbers.note("database deleted between an answer and what follows", "nothing", 0, took_s)


def test_a_network_that_drops_requests_changes_nothing(
    github: GitWorld, machines: Callable[..., Machine], undisturbed: End, numbers: Numbers
) -> None:
    ticket = github.issue("Bad network")
    began = time.monotonic()
    for kind, seed in (("drop_before", 3), ("drop_after", 4), ("status_after", 5)):
        code = {"code": 502} if kind == "status_after" else {}
        github.emulator.fault(
            kind=kind, match={"identity": "app:agent-recovery"}, probability=0.08, times=12, seed=seed, **code
        )
    agent = machines().start(ticket)
    agent.wait_for(event("ready"), PATIENCE_S)
    ends_like(github, ticket, undisturbed)
    numbers.note("network dropping requests", "nothing", 0, time.monotonic() - began)


def test_a_reboot_of_the_host_costs_the_restart_alone(
    github: GitWorld, machines: Callable[..., Machine], undisturbed: End, numbers: Numbers
) -> None:
    machine = machines()
    ticket = at_work(github, machine, "Host rebooted")
    assert machine.running is not None
    began = time.monotonic()
    machine.running.kill()
    github.end_service(signal.SIGKILL)
    github.start()
    agent = machine.start(ticket)
    assert agent.wait_for(event("recovered"), PATIENCE_S)["generation"] == 1
    numbers.note("host rebooted, its disk kept", "nothing", 0, time.monotonic() - began)
    agent.wait_for(event("ready"), PATIENCE_S)
    assert [told["step"] for told in agent.events if told["event"] == "did"] == ["three"]
    ends_like(github, ticket, undisturbed)


def test_when_everything_is_lost_at_once_github_is_enough(
    github: GitWorld, machines: Callable[..., Machine], undisturbed: End, numbers: Numbers
) -> None:
    """Agent, service, database, folder and HOME, in one moment; another person's agent comes."""
    machine = machines()
    ticket = at_work(github, machine, "Everything lost")
    assert machine.running is not None
    machine.running.kill()
    github.end_service(signal.SIGKILL)
    lose_database(github)
    machine.wipe()
    began = time.monotonic()
    github.start()
    # What nobody saw before counts from when it is seen; then the lease of the dead has to run out.
    until(lambda: (r := github.record(ticket))["lease"]["renewals_seen"] == r["renewals"], "the push is seen")
    github.emulator.advance(WAIT_S)
    agent = machines(github.admin.headers["authorization"].removeprefix("Bearer ")).start(ticket)
    recovered = agent.wait_for(event("recovered"), PATIENCE_S)
    numbers.note("everything lost at once", "one commit that was not pushed", WAIT_S, time.monotonic() - began)
    assert (recovered["done"], recovered["generation"]) == (["one"], 2)
    agent.wait_for(event("ready"), PATIENCE_S)
    ends_like(github, ticket, undisturbed)


def test_the_page_says_the_policys_numbers() -> None:
    text = PAGE.read_text("utf-8")
    minutes = {
        "lease.ttl": LEASE.ttl,
        "lease.grace": LEASE.grace,
        "lease.recovering_ttl": LEASE.recovering_ttl,
        "checkpoint.max_gap": Policy().checkpoint.max_gap,
    }
    for name, value in minutes.items():
        assert f"| `{name}` | {value.total_seconds() / 60:.0f} min |" in text
    assert f"{(LEASE.ttl + LEASE.grace).total_seconds() / 60:.0f} minutes" in text
