"""The story of a fresh agent: a first one dies with four of six steps done, the fresh one reads a brief and goes on."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.drill.world import BRANCH, STEPS, TICKET, Person, World
from tests.recovery.fresh_agent import FreshAgent

DONE_BY_THE_FIRST = 4
DEPENDENCIES = "AGENT_RECOVERY_DEPENDENCIES"


@dataclass(frozen=True)
class Told:
    """The two briefs the honest agent read, its folder as it was when it read the second, and how it ended."""

    before: dict[str, Any]
    held: dict[str, Any]
    folder: Path
    verify: list[dict[str, Any]]
    record: dict[str, Any]
    draft: bool
    files: dict[str, str]


def play(world: World) -> Told:
    _first_agent_until_its_death(world)
    world.wait_until_idle()
    world.pass_lease()
    folder, kept = world.folder / "fresh", world.folder / "kept"
    folder.mkdir()

    def run(argv: Sequence[str]) -> dict[str, Any]:
        answer = _command(world, world.second, folder, *argv[1:], holder="fresh agent")
        if argv[1] == "recover":
            subprocess.run(["cp", "-a", str(folder), str(kept)], check=True)
            recovered.append(answer)
        return answer

    recovered: list[dict[str, Any]] = []
    before = _command(world, world.second, folder, "brief", str(TICKET), holder="fresh agent")
    agent = FreshAgent(folder, "fresh agent", run, lambda *words: git_in(folder, *words))
    held = agent.take(before)
    agent.finish(held)
    world.wait_until_idle()
    ledger = world.observer.ledger(TICKET)
    head = world.observer.branch(BRANCH)
    names = [f"work/step-{n}.txt" for n in range(1, len(STEPS) + 1)]
    return Told(
        before=before,
        held=held,
        folder=kept,
        verify=recovered[0]["workspace"]["verify"],
        record=dict(ledger[0].record),
        draft=world.observer.pulls(BRANCH)[0].draft,
        files={name: world.observer.file(name, head)[1] for name in names},
    )


def _first_agent_until_its_death(world: World) -> None:
    """Four steps in one push, what was validated on them, an old result of another commit; then silence."""
    folder = world.folder / "first"
    folder.mkdir()
    recovered = _command(world, world.first, folder, "recover", str(TICKET), holder="first agent")
    base, done = recovered["grant"]["base_sha"], []
    for number, text in enumerate(STEPS[:DONE_BY_THE_FIRST], start=1):
        (folder / "work").mkdir(exist_ok=True)
        (folder / f"work/step-{number}.txt").write_text(f"{text}\nby the first\nfinished\n")
        git_in(folder, "add", "-A")
        git_in(folder, "commit", "-qm", f"Step {number}")
        done.append({"id": str(number), "text": text, "sha": git_in(folder, "rev-parse", "HEAD")})
    left = [{"id": str(n), "text": t} for n, t in enumerate(STEPS, start=1) if n > DONE_BY_THE_FIRST]
    notes = {
        "objective": "Do every step of the Issue's list",
        "completed_steps": done,
        "next_steps": left,
        "accepted_decisions": ["One file a step"],
        "blockers": ["needs tools/check.py"],
        "pending_validation": ["verify"],
        "decision_refs": ["tools/check.py", f"README.md@{base}"],
    }
    (folder / ".agent-recovery/next.json").write_text(json.dumps(notes))
    _command(world, world.first, folder, "push", holder="first agent")
    _command(
        world, world.first, folder, "validate", "verify", "--deterministic", "--artifact", "none", holder="first agent"
    )
    slow = {
        "profile": "slow",
        "version": "1",
        "validated_sha": base,
        "completed": ["short"],
        "failed": ["long"],
        "not_run": ["longest"],
        "artifacts": ["https://ci.example.com/17"],
    }
    (world.folder / "slow.json").write_text(json.dumps(slow))
    file = str(world.folder / "slow.json")
    _command(world, world.first, folder, "validate", "--file", file, holder="first agent", code=1)


def _command(world: World, person: Person, folder: Path, *arguments: str, holder: str, code: int = 0) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "app.cli", *arguments, "--json"],
        cwd=folder,
        env=world.agent_environment(person) | {"AGENT_RECOVERY_HOLDER": holder, DEPENDENCIES: "image 7"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, (arguments, done.stdout, done.stderr)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def git_in(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=f", "-c", "user.email=f@example.org")
    return subprocess.run(
        ["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()
