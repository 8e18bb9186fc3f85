"""`agent-recovery effect run` as processes: a service, a GitHub, and a server that does the thing and never says so."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.drill.proof import Attempt
from app.drill.world import NAME, OWNER, REPOSITORY, TICKET, Person, World
from tests.recovery.effect_target import Target, script, served

pytestmark = pytest.mark.drill


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = World(tmp_path_factory.mktemp("orchard"))
    try:
        made.install()
        made.start_service()
        yield made
    finally:
        made.stop()


class Deployer:
    """Deploys the trunk on GitHub, as the target does when it is asked."""

    def __init__(self, world: World, environment: str) -> None:
        headers = {"Authorization": f"Bearer {world.author.token}"}
        self._http = httpx.Client(base_url=world.emulator.url, headers=headers, trust_env=False, verify=False)
        self._repo, self._environment = f"/repos/{OWNER}/{NAME}", environment
        self.sha: str = self._http.get(f"{self._repo}/git/ref/heads/main").json()["object"]["sha"]

    def __call__(self) -> None:
        body = {"ref": self.sha, "environment": self._environment, "required_contexts": [], "auto_merge": False}
        made = self._http.post(f"{self._repo}/deployments", json=body).raise_for_status().json()
        said = self._http.post(f"{self._repo}/deployments/{made['id']}/statuses", json={"state": "success"})
        said.raise_for_status()


class Agent:
    """One agent's folder, and the command it runs for one effect."""

    def __init__(self, world: World, person: Person, folder: Path, target: Target) -> None:
        self.world, self.person, self.folder, self.target = world, person, folder, target
        folder.mkdir()

    def command(self, *arguments: str) -> Attempt:
        return self.world.command(self.person, self.folder, *arguments)

    def claim(self) -> None:
        claimed = self.command("claim", str(TICKET), "--repo", REPOSITORY)
        assert claimed.exit_code == 0, claimed

    def words(self, key: str, *more: str) -> list[str]:
        program = [sys.executable, str(script(self.folder)), self.target.url]
        return ["effect", "run", "--key", key, "--kind", "deploy.staging", *more, "--json", "--", *program]

    def effect(self, key: str, *more: str) -> tuple[int, dict[str, Any]]:
        attempt = self.command(*self.words(key, *more))
        return attempt.exit_code, told(attempt)

    def start(self, key: str, *more: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "app.cli", *self.words(key, *more)],
            cwd=self.folder,
            env=self.world.agent_environment(self.person),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def told(attempt: Attempt) -> dict[str, Any]:
    """What it printed as JSON; what its command said stands behind that."""
    value, _ = json.JSONDecoder().raw_decode(attempt.said)
    assert isinstance(value, dict)
    return value


def probe(environment: str, sha: str) -> tuple[str, str]:
    return "--probe", f"deployment environment={environment} sha={sha}"


def test_a_dropped_answer_is_looked_for_and_nothing_is_done_twice(world: World, tmp_path: Path) -> None:
    deploy = Deployer(world, "staging-one")
    with served(Target(deploy)) as target:
        agent = Agent(world, world.first, tmp_path / "first", target)
        agent.claim()
        code, answer = agent.effect("one", *probe("staging-one", deploy.sha))
        assert (code, answer["ran"], answer["effect"]["state"], answer["effect"]["by"]) == (
            0,
            True,
            "confirmed",
            "probe",
        )
        code, again = agent.effect("one", *probe("staging-one", deploy.sha))
        assert (code, again["ran"], again["effect"]["state"]) == (0, False, "confirmed")
        target.answers = True
        code, heard = agent.effect("two", *probe("staging-one", deploy.sha))
        assert (code, heard["ran"]) == (0, True)
        assert (heard["effect"]["by"], heard["effect"]["remote_id"]) == ("command", "order-1")
        assert [key.rpartition("-")[2] for key in target.done] == ["one", "two"]
        listed = told(agent.command("effect", "list", "--json"))
        assert {e["key"]: e["state"] for e in listed["effects"]} == {"one": "confirmed", "two": "confirmed"}
        assert agent.command("handoff").exit_code == 0


def test_a_program_killed_while_the_other_side_works_goes_on_by_looking(world: World, tmp_path: Path) -> None:
    deploy = Deployer(world, "staging-two")
    with served(Target(deploy)) as target:
        agent = Agent(world, world.second, tmp_path / "second", target)
        agent.claim()
        target.hold.clear()
        running = agent.start("three", *probe("staging-two", deploy.sha))
        assert target.began.wait(30)
        beside, refusal = agent.effect("three", *probe("staging-two", deploy.sha))
        assert (beside, refusal["error"]["code"]) == (5, "effect_running")
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
        code, answer = agent.effect("three", *probe("staging-two", deploy.sha))
        assert (code, answer["ran"], answer["effect"]["by"]) == (0, False, "probe")
        assert len(target.done) == 1
        assert agent.command("handoff").exit_code == 0


def test_a_successor_elsewhere_runs_nothing_and_without_a_probe_nobody_concludes(world: World, tmp_path: Path) -> None:
    with served(Target(lambda: None)) as target:
        first = Agent(world, world.first, tmp_path / "dies", target)
        first.claim()
        code, answer = first.effect("four")
        assert (code, answer["error"]["code"]) == (6, "effect_unknown")
        target.hold.clear()
        target.began.clear()
        running = first.start("five")
        assert target.began.wait(30)
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
        world.pass_lease()
        second = Agent(world, world.second, tmp_path / "follows", target)
        second.claim()
        for key in ("four", "five"):
            code, answer = second.effect(key)
            assert (code, answer["error"]["code"]) == (6, "effect_unknown")
        assert len(target.done) == 2
        late = first.command("effect", "probe", "five")
        assert late.exit_code == 3
        brief = told(second.command("brief", str(TICKET), "--json"))
        assert sum("is unknown: it has no probe" in blocker for blocker in brief["blockers"]) == 2
        word = ("--ticket", str(TICKET), "--effect", "four", "--by", "olive")
        said = world.operate("resolve", REPOSITORY, *word, "--done", "--json")
        assert (said.exit_code, told(said)["state"]) == (0, "confirmed"), said
        code, answer = second.effect("four")
        assert (code, answer["ran"], answer["effect"]["by"]) == (0, False, "person")
        assert world.operate("resolve", REPOSITORY, *word, "--not-done").exit_code == 2
        assert second.command("handoff").exit_code == 0


def test_what_cannot_be_undone_waits_for_a_person_and_a_dry_run_does_nothing(world: World, tmp_path: Path) -> None:
    with served(Target(lambda: None)) as target:
        agent = Agent(world, world.third, tmp_path / "third", target)
        agent.claim()
        code, answer = agent.effect("six", "--kind", "deploy.production")
        assert (code, answer["error"]["code"]) == (4, "effect_not_approved")
        code, answer = agent.effect("seven", "--dry-run")
        assert (code, answer["dry_run"]["effect"]) == (0, "seven")
        assert target.done == []
        word = ("--ticket", str(TICKET), "--effect", "six", "--by", "olive")
        assert world.operate("approve", REPOSITORY, *word).exit_code == 0
        target.answers = True
        code, answer = agent.effect("six", "--kind", "deploy.production")
        assert (code, answer["ran"], len(target.done)) == (0, True, 1)
