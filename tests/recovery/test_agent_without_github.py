"""An agent with a lease token and no GitHub credential at all: the whole way, by the command line and by plain git."""

import json
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for the world of this folder's git tests

from git_world import REPO, GitWorld

pytestmark = pytest.mark.drill

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class HandedAgent:
    """A folder, an empty home, and the environment that whoever claimed handed over."""

    def __init__(self, world: GitWorld, grant: dict[str, Any]) -> None:
        self.world, self.grant = world, grant
        self.home = world.folder / secrets.token_hex(4)
        self.folder = self.home / "work"
        self.folder.mkdir(parents=True)
        self.environment = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "HOME": str(self.home),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            **{f"GIT_{role}_{what}": "agent" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
            "AGENT_RECOVERY_URL": world.url,
            "AGENT_RECOVERY_REPO": REPO,
            "AGENT_RECOVERY_TICKET": str(grant["ticket"]),
            "AGENT_RECOVERY_GENERATION": str(grant["generation"]),
            "AGENT_RECOVERY_LEASE_TOKEN": grant["lease_token"],
        }

    def run(self, *words: str, cwd: Path | None = None) -> Outcome:
        done = subprocess.run(
            words, cwd=cwd or self.folder, env=self.environment, capture_output=True, text=True, timeout=90, check=False
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    def call(self, *words: str) -> Outcome:
        return self.run(sys.executable, "-m", "app.cli", *words)

    def call_here(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> Outcome:
        """The same in this process, which starts no program but git and git's question for the token."""
        from app.agent.cli import app

        with monkeypatch.context() as during:
            for name in os.environ.keys() - self.environment.keys():
                during.delenv(name)
            for name, value in self.environment.items():
                during.setenv(name, value)
            during.chdir(self.folder)
            capsys.readouterr()
            try:
                app(args=list(words), standalone_mode=False)
                code = 0
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 1
            said = capsys.readouterr()
        return Outcome(code, said.out, said.err)

    def commit(self, name: str) -> str:
        (self.folder / name).write_text("x\n")
        assert self.run("git", "add", name).code == 0
        assert self.run("git", "commit", "-qm", f"Add {name}").code == 0
        return self.run("git", "rev-parse", "HEAD").out.strip()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitWorld]:
    world = GitWorld(tmp_path_factory.mktemp("handed"))
    yield world
    world.end()


def test_the_whole_way_without_a_github_credential(world: GitWorld) -> None:
    ticket = world.issue()
    agent = HandedAgent(world, world.claim(ticket))
    begun = agent.call("recover", "--json")
    assert begun.code == 0, begun.err
    assert (begun.json["workspace"]["head_sha"], begun.json["workspace"]["clean"]) == (agent.grant["head_sha"], True)
    assert begun.json["grant"]["generation"] == 1
    assert agent.grant["lease_token"] not in begun.out
    assert world.record(ticket)["status"] == "working"
    config = (agent.folder / ".git" / "config").read_text()
    assert f"url = {world.url}/git/{REPO}.git" in config
    assert "arl_" not in config

    first = agent.commit("one.txt")
    pushed = agent.call("push", "--json")
    assert pushed.code == 0, pushed.err
    assert world.ref(f"refs/heads/{agent.grant['branch']}") == first == pushed.json["pushed"]
    # The holder's own ledger commit went with it: the service added none.
    assert [line for line in world.story(ticket) if "pushed" in line] == [f"{ticket} · pushed {first[:12]}"]

    second = agent.commit("two.txt")
    plain = agent.run("git", "push", "-q", "origin", "HEAD")
    assert plain.code == 0, plain.err
    assert world.record(ticket)["published"]["sha"] == second

    told = agent.call("brief", "--json")
    assert (told.code, told.json["work"]["published_sha"]) == (0, second), told.err
    # The branch is where it should be: this push brings the checkpoint alone.
    assert agent.call("push").code == 0
    assert agent.call("ready").code == 0
    assert (world.record(ticket)["status"], world.record(ticket)["published"]["sha"]) == ("ready", second)


def test_foreign_commits_are_adopted_or_put_aside_through_the_service(
    world: GitWorld, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = (monkeypatch, capsys)
    ticket = world.issue()
    agent = HandedAgent(world, world.claim(ticket))
    assert agent.call_here(*here, "recover").code == 0
    agent.commit("one.txt")
    assert agent.call_here(*here, "push").code == 0
    branch = agent.grant["branch"]
    world.emulator.commit(REPO, {"by-hand.txt": "x\n"}, branch=branch)
    foreign = world.ref(f"refs/heads/{branch}")
    assert foreign is not None
    mine = agent.commit("two.txt")
    refused = agent.call_here(*here, "push", "--json")
    assert (refused.code, refused.json["error"]["code"]) == (5, "foreign_commits")
    rewound = agent.call_here(*here, "push", "--rewind", "--json")
    assert rewound.code == 0, rewound.err
    assert world.ref(f"refs/heads/{branch}") == mine
    assert world.ref(f"refs/agent-recovery/recovered/{ticket}/{foreign}") == foreign
    world.emulator.commit(REPO, {"again.txt": "x\n"}, branch=branch)
    other = world.ref(f"refs/heads/{branch}")
    assert other is not None
    adopted = agent.call_here(*here, "adopt", other, "--json")
    assert adopted.code == 0, adopted.err
    assert world.record(ticket)["published"]["sha"] == other


def test_an_agent_that_lost_its_lease_is_told_so_by_its_git(
    world: GitWorld, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = (monkeypatch, capsys)
    ticket = world.issue()
    agent = HandedAgent(world, world.claim(ticket))
    assert agent.call_here(*here, "recover").code == 0
    agent.commit("late.txt")
    world.take_over(ticket)
    pushed = agent.call_here(*here, "push", "--json")
    assert (pushed.code, pushed.json["error"]["code"]) == (3, "stale_generation"), pushed.out
    assert "generation 2 is held by agent" in pushed.json["error"]["message"]
    assert world.ref(f"refs/heads/{agent.grant['branch']}") is None
    fresh = HandedAgent(world, agent.grant)
    refused = fresh.call_here(*here, "recover", "--json")
    assert (refused.code, refused.json["error"]["code"]) == (3, "stale_generation")
    assert list(fresh.folder.glob("*")) == []


def test_the_documented_lines_work_as_they_stand(world: GitWorld) -> None:
    ticket = world.issue()
    agent = HandedAgent(world, {"ticket": ticket, "generation": 0, "lease_token": ""})
    for name in ("TICKET", "GENERATION", "LEASE_TOKEN"):
        del agent.environment[f"AGENT_RECOVERY_{name}"]
    agent.environment["GITHUB_TOKEN"] = world.user
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    section = page.partition("## Without a GitHub credential")[2].partition("\n## ")[0]
    lines = [line[4:] for line in section.splitlines() if line.startswith("    ")]
    python = f'"{sys.executable}" -P'
    told = "import json, sys; print(json.load(open(sys.argv[3]))[sys.argv[2][1:]])"
    script = [
        "set -eu",
        f'agent-recovery() {{ {python} -m app.cli "$@"; }}',
        f"jq() {{ {python} -c '{told}' \"$@\"; }}",
        *(line.replace("https://recovery.example.com", world.url) for line in lines),
    ]
    text = "\n".join(script).replace("!agent-recovery ", f"!{sys.executable} -P -m app.cli ")
    done = agent.run("bash", "-c", re.sub(r"\b42\b", str(ticket), text))
    assert done.code == 0, done.err
    head = world.ref(f"refs/heads/{world.record(ticket)['work']['branch']}")
    assert head == world.record(ticket)["published"]["sha"]
    assert (agent.folder / "agent" / "shop" / "README.md").exists()
    assert world.story(ticket)[2].endswith("workspace rebuilt")


def test_a_plain_clone_gets_its_password_from_the_command_line(world: GitWorld) -> None:
    agent = HandedAgent(world, world.claim(world.issue()))
    url = f"{world.url}/git/{REPO}.git"
    helper = f"credential.{world.url}.helper=!{sys.executable} -P -m app.cli git-credential"
    path = f"credential.{world.url}.useHttpPath=true"
    done = agent.run("git", "-c", helper, "-c", path, "clone", "-q", url, "plain", cwd=agent.home)
    assert done.code == 0, done.err
    assert "arl_" not in (agent.home / "plain" / ".git" / "config").read_text()
    del agent.environment["AGENT_RECOVERY_LEASE_TOKEN"]
    assert agent.run("git", "-c", helper, "-c", path, "clone", "-q", url, "again", cwd=agent.home).code == 128
