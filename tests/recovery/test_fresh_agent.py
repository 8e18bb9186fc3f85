"""A fresh agent finishes a ticket from the brief's JSON and the brief's commands alone, in real processes.

Every field of the brief carries weight: blanked, one at a time, it stops this agent before it does anything. Which
fields there are is read from the brief's model, so that a new one is either used here or said to be of no use.
"""

import copy
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from app.domain.brief import Brief
from app.drill.world import BRANCH, STEPS, TICKET, TRUNK, Person, World
from tests.recovery.fresh_agent import CannotGoOn, FreshAgent

DONE_BY_THE_FIRST = 4
DEPENDENCIES = "AGENT_RECOVERY_DEPENDENCIES"
NOT_OF_A_TICKET = {("children",), ("contract",)}
"""A ticket without children has none, and only a child has a contract; the tests of children read both."""
NEVER_HAVE_A_COMMIT = {("next_steps", "sha"), ("untrusted", "issue_tasks", "sha")}

Path_ = tuple[str, ...]


def leaves(model: type[BaseModel], above: Path_ = ()) -> Iterator[Path_]:
    """The paths of all fields; lists of objects are gone through as one."""
    for name, field in model.model_fields.items():
        parts = [field.annotation, *get_args(field.annotation)]
        inner = next((p for p in parts if isinstance(p, type) and issubclass(p, BaseModel)), None)
        if inner is None:
            yield (*above, name)
        elif (*above, name) not in NOT_OF_A_TICKET:
            yield from leaves(inner, (*above, name))


LEAVES = [path for path in leaves(Brief) if path not in NOT_OF_A_TICKET | NEVER_HAVE_A_COMMIT]
LISTS = [("completed_steps",), ("next_steps",), ("findings",), ("criteria",), ("commands",), ("validations",)]
LISTS += [("untrusted", "issue_tasks")]


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


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    world = World(tmp_path_factory.mktemp("orchard"))
    try:
        world.start_service()
        world.install()
        yield _story(world)
    finally:
        world.stop()


def _story(world: World) -> Told:
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
    agent = FreshAgent(folder, "fresh agent", run, lambda *words: _git(folder, *words))
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
        _git(folder, "add", "-A")
        _git(folder, "commit", "-qm", f"Step {number}")
        done.append({"id": str(number), "text": text, "sha": _git(folder, "rev-parse", "HEAD")})
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


def _git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=f", "-c", "user.email=f@example.org")
    return subprocess.run(
        ["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def test_the_ticket_is_finished_and_nothing_was_done_twice(told: Told) -> None:
    record = told.record
    assert (record["status"], record["generation"], told.draft) == ("ready", 2, False)
    checkpoint = record["checkpoint"]
    assert [step["id"] for step in checkpoint["completed_steps"]] == [str(n) for n in range(1, len(STEPS) + 1)]
    assert all(step["sha"] for step in checkpoint["completed_steps"])
    assert (checkpoint["next_steps"], checkpoint["blockers"]) == ([], [])
    assert checkpoint["accepted_decisions"] == ["One file a step"]
    by_the_first = [name for name, text in told.files.items() if "by the first" in text]
    assert by_the_first == [f"work/step-{n}.txt" for n in range(1, DONE_BY_THE_FIRST + 1)]
    assert all(text.endswith("finished") or text.endswith("finished\n") for text in told.files.values())


def test_what_was_validated_on_this_very_commit_was_not_run_again(told: Told) -> None:
    assert [(run["exit_code"], run["reused"]) for run in told.verify] == [(0, True)]
    states = {shown["profile"]: shown["state"] for shown in told.held["validations"]}
    assert states == {"verify": "passed", "slow": "not run"}


def test_the_last_record_holds_what_was_validated_on_the_last_commit(told: Told) -> None:
    (verify,) = [v for v in told.record["validations"] if v["profile"] == "verify"]
    assert verify["validated_sha"] == told.record["published"]["sha"]
    assert verify["completed"] == ["python3 tools/check.py"]


def blanked(brief: dict[str, Any], path: Path_) -> dict[str, Any] | None:
    """The brief with one field blanked, in every place it stands; None where it was blank already."""
    mutant = copy.deepcopy(brief)
    holders = [mutant]
    for name in path[:-1]:
        found = [holder[name] for holder in holders]
        holders = [h for each in found for h in (each if isinstance(each, list) else [each])]
    hit = False
    for holder in holders:
        value = holder[path[-1]]
        hit = hit or value not in (None, "", [], {})
        holder[path[-1]] = [] if isinstance(value, list) else {} if isinstance(value, dict) else None
    return mutant if hit else None


class WentOn(Exception):
    """The agent had all it needed and began to act."""


def must_not(words: Sequence[str]) -> dict[str, Any]:
    raise WentOn(" ".join(words))


def stops(told: Told, path: Path_) -> bool:
    """Whether the agent stops, in the first brief or in the second, where the field is blank in both."""
    agent = FreshAgent(told.folder, "fresh agent", must_not, lambda *words: _git(told.folder, *words))
    before, held = blanked(told.before, path), blanked(told.held, path)
    assert before or held, "the story leaves this field blank, so nothing shows that it is needed"
    try:
        agent.take(before or told.before)
    except CannotGoOn:
        return True
    except WentOn:
        pass
    try:
        agent.check(held or told.held)
    except CannotGoOn:
        return True
    return False


@pytest.mark.parametrize("path", [*LEAVES, *LISTS], ids=".".join)
def test_a_blanked_field_stops_it_before_it_does_anything(told: Told, path: Path_) -> None:
    assert stops(told, path)


def test_from_what_it_read_it_goes_on(told: Told) -> None:
    agent = FreshAgent(told.folder, "fresh agent", must_not, lambda *words: _git(told.folder, *words))
    with pytest.raises(WentOn, match=r"^agent-recovery recover 42 --repo acme/orchard$"):
        agent.take(copy.deepcopy(told.before))
    assert agent.check(copy.deepcopy(told.held))["finish"] == ["agent-recovery", "ready"]
    assert told.held["work"]["trunk"] == TRUNK
