"""A parent and its children as processes: the parent is killed, the children live on, its successor takes them in."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from app.agent.cli import app as commands
from app.drill.processes import StoryProcess
from tests.recovery.git_world import REPO, GitWorld

pytestmark = pytest.mark.drill

FIRST, SECOND = "1" * 40, "2" * 40
AGENTS = Path(__file__).with_name("child_agents.py")
PATIENCE_S = 120.0


@pytest.fixture
def git_world(tmp_path: Path) -> Iterator[GitWorld]:
    world = GitWorld(tmp_path)
    yield world
    world.end()


class Machines:
    """Where agents run: each process in a folder and a HOME of its own."""

    def __init__(self, world: GitWorld) -> None:
        self.world = world
        self.started: list[StoryProcess] = []
        self._commands = CliRunner()

    def folder(self, name: str) -> Path:
        made = self.world.folder / "agents" / name / "work"
        made.mkdir(parents=True)
        return made

    def environment(self, folder: Path) -> dict[str, str | None]:
        """With the user's token, or with nothing but the lease token that stands beside the folder."""
        lease = folder.parent / "lease-token"
        alone = {"AGENT_RECOVERY_LEASE_TOKEN": lease.read_text(), "GITHUB_TOKEN": None} if lease.exists() else {}
        who = {f"GIT_{role}_{what}": "agent" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(folder.parent),
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GITHUB_TOKEN": self.world.user,
            "AGENT_RECOVERY_URL": self.world.url,
            "AGENT_RECOVERY_REPO": REPO,
            **who,
            **alone,
        }

    def start(self, name: str, *arguments: str) -> StoryProcess:
        folder = self.folder(name)
        process = StoryProcess(
            name,
            [sys.executable, str(AGENTS), *arguments],
            cwd=folder,
            env={name: value for name, value in self.environment(folder).items() if value},
            log=self.world.folder / f"{name}.log",
        )
        self.started.append(process)
        return process

    def go(self, name: str) -> None:
        (self.world.folder / "agents" / name / "go").touch()

    def run(self, folder: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
        """A command in this process, where no process has to die: its exit code and what it printed."""
        with contextlib.chdir(folder):
            done = self._commands.invoke(commands, [*arguments, "--json"], env=self.environment(folder))
        assert done.stdout, done.output
        return done.exit_code, json.loads(done.stdout)

    def end(self) -> None:
        for process in self.started:
            if process.exit_code is None:
                process.kill()


@pytest.fixture
def machines(git_world: GitWorld) -> Iterator[Machines]:
    made = Machines(git_world)
    yield made
    made.end()


def _event(name: str) -> Callable[[dict[str, Any]], bool]:
    return lambda event: event["event"] == name


def _states(brief: dict[str, Any]) -> dict[str, str]:
    return {child["name"]: child["state"] for child in brief["children"]}


@pytest.mark.timeout(600)
def test_children_outlive_their_parent_and_are_integrated_by_its_successor(
    git_world: GitWorld, machines: Machines
) -> None:
    git_world.issue("The predecessor")
    ticket = git_world.issue()
    parent = machines.start("parent", "parent", str(ticket), FIRST, SECOND)
    parent.wait_for(_event("spawned"), PATIENCE_S)
    idler = machines.start("code", "idler", f"{ticket}.code")
    workers = {name: machines.start(name, "worker", f"{ticket}.{name}") for name in ("old", "docs")}
    idler.wait_for(_event("claimed"), PATIENCE_S)
    pushed = {name: w.wait_for(_event("pushed"), PATIENCE_S) for name, w in workers.items()}
    assert pushed["docs"]["objective"] == "Write docs.txt"

    # The parent dies; nobody told the children. One of them dies too, the others finish.
    parent.kill()
    assert all(w.exit_code is None for w in (idler, *workers.values()))
    idler.kill()
    for name, worker in workers.items():
        machines.go(name)
        worker.wait_for(_event("completed"), PATIENCE_S)

    git_world.emulator.advance(3600)
    here = machines.folder("successor")
    code, recovered = machines.run(here, "recover", str(ticket))
    assert code == 0, recovered
    brief = recovered["brief"]
    assert _states(brief) == {"old": "stale", "docs": "completed", "code": "interrupted"}, brief["children"]
    assert brief["findings"][8]["state"] == "pending"
    assert brief["criteria"][9]["met"] is False
    argv = [c["argv"] for c in brief["commands"] if c["when"] == "children"]
    assert ["agent-recovery", "child", "integrate", "docs"] in argv
    assert ["agent-recovery", "child", "respawn", "old"] in argv
    assert ["agent-recovery", "recover", f"{ticket}.code", "--repo", REPO] in argv

    # What is stale is never integrated by itself.
    code, refused = machines.run(here, "child", "integrate", "old")
    assert (code, refused["error"]["code"]) == (5, "child_stale")
    assert FIRST in refused["error"]["message"]
    code, first = machines.run(here, "child", "integrate")
    assert (code, first["integrated"]) == (0, "docs"), first
    code, refused = machines.run(here, "child", "integrate")
    assert (code, refused["error"]["code"]) == (5, "child_unfinished")

    # Both others are worked on again: one by its next holder, one from the start at the present snapshot.
    assert machines.run(here, "child", "respawn", "old")[0] == 0
    again = {name: machines.start(f"{name}-again", "worker", f"{ticket}.{name}") for name in ("old", "code")}
    resumed = {name: w.wait_for(_event("pushed"), PATIENCE_S) for name, w in again.items()}
    assert resumed["old"]["sha"] != pushed["old"]["sha"]
    for name, process in again.items():
        machines.go(f"{name}-again")
        process.wait_for(_event("completed"), PATIENCE_S)
    assert [machines.run(here, "child", "integrate")[1]["integrated"] for _ in range(3)] == ["code", "old", None]

    record = git_world.record(ticket)
    head = git_world.ref(f"refs/heads/{record['work']['branch']}")
    assert [child["name"] for child in record["children"]] == ["docs", "code", "old"]
    assert record["children"][-1]["result"]["merged"] == head
    assert [child["result"]["generation"] for child in record["children"]] == [1, 2, 2]
    files = {f.name for f in here.iterdir()}
    assert {"plan.txt", "docs.txt", "code.txt", "old.txt"} <= files
    assert not _contains(here, pushed["old"]["sha"])
    assert len(record["checkpoint"]["integrated_child_results"]) == 3
    code, listed = machines.run(here, "child", "list")
    assert [(c["name"], c["state"]) for c in listed["children"]] == [
        ("docs", "integrated"),
        ("code", "integrated"),
        ("old", "integrated"),
    ]


@pytest.mark.timeout(600)
def test_what_a_holder_says_about_children_on_the_command_line(git_world: GitWorld, machines: Machines) -> None:
    ticket = git_world.issue()
    here = machines.folder("parent")
    # Who holds the ticket was handed a lease token and has no account of its own: its git goes through the service.
    (here.parent / "lease-token").write_text(git_world.claim(ticket)["lease_token"])

    def say(*arguments: str, folder: Path = here) -> dict[str, Any]:
        code, answer = machines.run(folder, *arguments)
        assert code == 0, answer
        return answer

    say("recover", str(ticket))
    _commit(here, "plan.txt", "first\n")
    say("push")
    say("child", "spawn", "rewrite", "--objective", "Rewrite the plan", "--dry-run")
    assert say("child", "list")["children"] == []
    task = {"objective": "Rewrite the plan", "acceptance": ["it is shorter"], "budget": {"minutes": 20}}
    (here.parent / "task.json").write_text(json.dumps(task))
    say("child", "spawn", "rewrite", "--file", "../task.json", "--role", "editor")
    for name in ("broken", "late"):
        say("child", "spawn", name, "--objective", f"Do what {name} is for")

    child = machines.folder("rewrite")
    brief = say("recover", f"{ticket}.rewrite", folder=child)["brief"]
    assert (brief["contract"]["role"], brief["contract"]["budget"]["minutes"]) == ("editor", 20)
    _commit(child, "plan.txt", "second\n")
    code, refused = machines.run(child, "complete", "--summary", "Shorter now")
    assert (code, refused["error"]["code"]) == (2, "not_published")
    pushed = say("push", folder=child)["pushed"]
    code, refused = machines.run(here, "complete", "--summary", "x")
    assert (code, refused["error"]["code"]) == (2, "usage")
    say("complete", "--summary", "Shorter now", "--met", "it is shorter", folder=child)
    assert machines.run(child, "push")[0] == 3
    other = machines.folder("broken")
    say("recover", f"{ticket}.broken", folder=other)
    say("fail", "--summary", "It cannot be done", folder=other)

    # A conflict is told with its files and leaves the tree as it was; resolved by hand it is only recorded.
    _commit(here, "plan.txt", "third\n")
    code, refused = machines.run(here, "child", "integrate")
    assert (code, refused["error"]["code"]) == (5, "branch_moved")
    assert "plan.txt" in refused["error"]["message"]
    assert _git(here, "status", "--porcelain") == ""
    _git(here, "merge", "--no-ff", "-X", "ours", "-m", "Take the rewriting in", pushed)
    by_hand = _git(here, "rev-parse", "HEAD")
    assert say("child", "integrate", "rewrite")["result"]["merged"] == by_hand
    assert say("child", "integrate", "rewrite")["integrated"] is None

    code, refused = machines.run(here, "child", "integrate", "broken")
    assert (code, refused["error"]["code"]) == (5, "child_failed")
    say("child", "cancel", "late")
    assert say("child", "integrate")["integrated"] is None
    states = {c["name"]: c["state"] for c in say("child", "list")["children"]}
    assert states == {"rewrite": "integrated", "broken": "failed", "late": "cancelled"}
    code, refused = machines.run(here, "child", "adopt", "nobody")
    assert (code, refused["error"]["code"]) == (2, "not_found")


def _git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=agent", "-c", "user.email=agent@example.org")
    return subprocess.run(
        ["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def _commit(folder: Path, name: str, content: str) -> None:
    (folder / name).write_text(content)
    _git(folder, "add", name)
    _git(folder, "commit", "-qm", f"Write {name}")


def _contains(folder: Path, sha: str) -> bool:
    done = subprocess.run(["git", "merge-base", "--is-ancestor", sha, "HEAD"], cwd=folder, check=False)
    return done.returncode == 0
