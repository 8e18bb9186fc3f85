"""An agent under `run` that is told to stop, and the next one that goes on: with the real service, git and signals."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for the world of this folder's git tests

from git_world import GitWorld
from test_agent_without_github import HandedAgent

pytestmark = pytest.mark.drill

AGENT = """
import json, pathlib, subprocess, sys, time
told = pathlib.Path(".agent-recovery/next.json")
pathlib.Path("counted.txt").write_text("12 trees\\n")
subprocess.run(["git", "add", "counted.txt"], check=True)
subprocess.run(["git", "commit", "-qm", "Count the trees"], check=True)
told.write_text(json.dumps({
    "objective": "Ripen the apples",
    "completed_steps": [{"id": "1", "text": "Count the trees"}],
    "next_steps": [{"id": "2", "text": "Water the roots"}],
}))
pathlib.Path("begun").touch()
time.sleep(120)
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitWorld]:
    world = GitWorld(tmp_path_factory.mktemp("wrapped"))
    yield world
    world.end()


def begun(agent: HandedAgent, *options: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "app.cli", "run", *options, "--", sys.executable, "-c", AGENT]
    process = subprocess.Popen(
        command,
        cwd=agent.folder,
        env=agent.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not (agent.folder / "begun").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return process


def test_a_machine_that_is_taken_away_loses_nothing_that_was_committed(world: GitWorld) -> None:
    ticket = world.issue()
    agent = HandedAgent(world, world.claim(ticket))
    assert agent.call("recover").code == 0
    process = begun(agent)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=90)
    assert process.returncode == 128 + signal.SIGTERM, said
    head = agent.run("git", "rev-parse", "HEAD").out.strip()
    assert world.ref(f"refs/heads/{agent.grant['branch']}") == head
    stored = world.record(ticket)["checkpoint"]
    assert (stored["trigger"], stored["completed_steps"][0]["id"]) == ("shutdown", "1")

    fresh = HandedAgent(world, world.take_over(ticket))
    done = fresh.call("recover", "--json")
    assert done.code == 0, done.err
    assert done.json["workspace"]["head_sha"] == head
    sixth = done.json["brief"]["findings"][5]
    assert (sixth["evidence"]["trigger"], "about to stop" in sixth["finding"]) == ("shutdown", True)
    told = json.loads((fresh.folder / ".agent-recovery" / "next.json").read_text())
    assert (told["objective"], told["next_steps"][0]["text"]) == ("Ripen the apples", "Water the roots")
    assert "trigger" not in told


def test_a_takeover_ends_an_agent_under_run_and_its_work_is_kept_aside(world: GitWorld) -> None:
    ticket = world.issue()
    agent = HandedAgent(world, world.claim(ticket))
    assert agent.call("recover").code == 0
    kept = agent.folder / ".agent-recovery" / "lease.json"
    kept.write_text(kept.read_text().replace('"heartbeat_every_s": 60', '"heartbeat_every_s": 1'))
    process = begun(agent)
    process.send_signal(signal.SIGSTOP)  # the whole machine sleeps longer than its lease lives
    world.take_over(ticket)
    process.send_signal(signal.SIGCONT)
    _, said = process.communicate(timeout=90)
    assert process.returncode == 3, said
    assert world.ref(f"refs/heads/{agent.grant['branch']}") is None
    head = agent.run("git", "rev-parse", "HEAD").out.strip()
    again = agent.call("resume", "--json")
    assert again.code == 3
    held_here = agent.run("git", "for-each-ref", "--format=%(objectname)", f"refs/agent-recovery-local/{ticket}/kept")
    assert held_here.out.split() == [head], again.err  # its lease token opens no way to the remote any more
