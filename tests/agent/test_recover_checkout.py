"""`recover` where git's own checkout leaves differences, and where no workspace can be made."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.agent.conftest import BRANCH, TICKET, World
from tests.agent.in_process import swift


@pytest.fixture
def world(world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> World:
    """The shared world, with commands called in this process."""
    return swift(world, monkeypatch, capsys)


def crlf_repository(world: World) -> str:
    """A file with CRLF whose attributes, a commit later, want LF: a plain clone shows it as changed."""
    seed = world.folder("seed")
    world.git(seed, "config", "core.autocrlf", "false")
    (seed / "w.txt").write_bytes(b"one\r\ntwo\r\n")
    world.git(seed, "add", "w.txt")
    blob = world.git(seed, "rev-parse", ":w.txt")
    (seed / ".gitattributes").write_text("*.txt text eol=lf\n")
    world.git(seed, "add", ".gitattributes")
    world.git(seed, "update-index", "--cacheinfo", f"100644,{blob},w.txt")
    world.git(seed, "commit", "-qm", "Want LF")
    world.git(seed, "push", "-q", str(world.service.bare), "main:main")
    return world.git(seed, "rev-parse", "HEAD")


def test_a_checkout_that_normalises_files_is_exact_and_can_be_finished(world: World) -> None:
    world.service.head_sha = world.service.base_sha = crlf_repository(world)
    here = world.holder()
    assert world.git(here, "status", "--porcelain") == "M w.txt"  # the trap is a real one
    (evidence,) = world.service.of("evidence")
    assert evidence.body["clean"] is True
    assert "normalises 1 files, first w.txt" in evidence.body["verify"][-1]["output"]
    again = world.run(here, "recover", str(TICKET), "--json")
    assert again.json["workspace"]["normalised"] == ["w.txt"]
    world.commit(here, "work.py")
    pushed = world.run(here, "push")
    assert (pushed.code, pushed.err) == (0, "")
    assert world.run(here, "ready").code == 0
    (here / "w.txt").write_bytes(b"three\n")
    refused = world.run(here, "ready", "--json")
    assert refused.json["error"]["code"] == "not_published"
    assert "first w.txt" in refused.json["error"]["message"]


def test_a_repository_nobody_can_work_in_is_not_kept(world: World) -> None:
    seed = world.folder("seed")
    (seed / ".agent-recovery").mkdir()
    bad = world.commit(seed, ".agent-recovery/notes.md")
    world.git(seed, "push", "-q", str(world.service.bare), "main:main")
    good, world.service.head_sha = world.service.head_sha, bad
    here = world.folder("agent")
    done = world.run(here, "recover", str(TICKET), "--json")
    assert done.code == 2
    assert "the ticket was handed back" in done.json["error"]["message"]
    assert (world.service.dead, len(world.service.of("handoff"))) == (True, 1)
    world.service.head_sha = good
    done = world.run(here, "recover", str(TICKET), "--json")  # mended: the same command in the same folder
    assert done.code == 0, done.out
    assert world.git(here, "rev-parse", "HEAD") == good


def test_a_checkout_that_failed_is_resumed_by_the_same_command(world: World) -> None:
    seed = world.folder("seed")
    (seed / ".gitattributes").write_text("*.bin filter=big\n")
    (seed / "a.bin").write_text("pointer\n")
    world.git(seed, "add", "-A")
    world.git(seed, "commit", "-qm", "Big files")
    world.git(seed, "push", "-q", str(world.service.bare), "main:main")
    world.service.head_sha = world.git(seed, "rev-parse", "HEAD")
    file = world.root / "filters.gitconfig"
    for name, value in (("filter.big.smudge", "no-such-program"), ("filter.big.required", "true")):
        subprocess.run(["git", "config", "--file", str(file), name, value], check=True)
    here = world.folder("agent")
    done = world.run(here, "recover", str(TICKET), "--json", GIT_CONFIG_GLOBAL=str(file))
    assert done.code == 2
    assert "smudge filter big failed" in done.json["error"]["message"]
    done = world.run(here, "recover", str(TICKET), "--json")
    assert done.code == 0, done.out
    assert (world.service.generation, world.git(here, "branch", "--show-current")) == (1, BRANCH)


def test_a_machine_where_git_cannot_work_claims_nothing(world: World) -> None:
    here: Path = world.folder("agent")
    file = world.root / "broken.gitconfig"
    file.write_text("[core\n")
    done = world.run(here, "recover", str(TICKET), "--json", GIT_CONFIG_GLOBAL=str(file))
    assert done.code == 2
    assert "bad config line 1" in json.dumps(done.json)
    assert world.service.calls == []
