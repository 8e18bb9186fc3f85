"""`validate`: what is about to run is on record as not run, the result takes its place, and belongs to one commit."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.agent import dependencies, verify_runs
from app.domain.agent_api import VerifyRun
from app.domain.brief import Brief, ShownValidation
from app.domain.validation import version_of
from tests.agent.conftest import TICKET, World
from tests.agent.in_process import swift

VERIFY = [["python3", "check.py"]]
NAMED = {"AGENT_RECOVERY_DEPENDENCIES": "image 7"}


@pytest.fixture
def world(world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> World:
    """The shared world, with commands called in this process."""
    return swift(world, monkeypatch, capsys)


@pytest.fixture
def here(world: World) -> Path:
    world.service.verify = VERIFY
    folder = world.folder("agent")
    assert world.run(folder, "recover", str(TICKET)).code == 0
    return folder


def sent(world: World) -> list[dict[str, Any]]:
    return [call.body["validation"] for call in world.service.of("validation")]


def test_the_policys_commands_are_recorded_first_as_not_run_and_then_as_they_ended(world: World, here: Path) -> None:
    done = world.run(here, "validate", "--deterministic", "--artifact", "report.txt", "--json", **NAMED)
    assert done.code == 0, done.err
    before, after = sent(world)
    assert (before["not_run"], before.get("completed", [])) == (["python3 check.py"], [])
    assert (after["completed"], after["failed"]) == (["python3 check.py"], [])
    assert after["not_run"] == []
    for said in (before, after):
        assert said["profile"] == "verify"
        assert said["validated_sha"] == world.service.head_sha
        assert said["version"] == version_of(VERIFY)
        assert said["dependencies"] == dependencies.digest(NAMED)
        assert (said["deterministic"], said["artifacts"]) == (True, ["report.txt"])
    assert done.json["passed"] is True
    assert done.json["runs"][0]["exit_code"] == 0


def test_a_check_that_fails_is_recorded_and_ends_with_1(world: World, here: Path) -> None:
    command = ("python3", "-c", "raise SystemExit(3)")
    done = world.run(here, "validate", "unit", "--version", "7", "--", *command)
    assert done.code == 1
    assert "ended with 3" in done.err
    assert "unit failed" in done.out + done.err
    assert (sent(world)[-1]["failed"], sent(world)[-1]["version"]) == ([" ".join(command)], "7")


def test_what_is_not_committed_is_not_validated(world: World, here: Path) -> None:
    (here / "new.txt").write_text("x")
    done = world.run(here, "validate")
    assert (done.code, sent(world)) == (2, [])
    assert "new.txt" in done.err


def test_a_profile_of_ones_own_needs_its_command(world: World, here: Path) -> None:
    done = world.run(here, "validate", "unit")
    assert (done.code, sent(world)) == (2, [])
    assert "after `--`" in done.err


def test_checks_that_move_head_are_left_as_not_run(world: World, here: Path) -> None:
    done = world.run(here, "validate", "x", "--", "git", "commit", "-q", "--allow-empty", "-m", "moved")
    assert done.code == 2
    assert [said["not_run"] for said in sent(world)] == [["git commit -q --allow-empty -m moved"]]


def test_a_result_made_elsewhere_is_recorded_as_it_is(world: World, here: Path) -> None:
    made = {"profile": "ci", "version": "9", "validated_sha": "a" * 40, "completed": ["a"], "not_run": ["b"]}
    (world.root / "ci.json").write_text(json.dumps(made))
    done = world.run(here, "validate", "--file", str(world.root / "ci.json"))
    assert done.code == 1, "half-way is no pass"
    (said,) = sent(world)
    assert {name: said[name] for name in made} == made


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"profile": "x", "version": "1"}', "no json"])
def test_what_is_no_validation_is_not_sent(world: World, here: Path, text: str) -> None:
    (world.root / "ci.json").write_text(text)
    done = world.run(here, "validate", "--file", str(world.root / "ci.json"), "--json")
    assert (done.code, done.json["error"]["code"], sent(world)) == (2, "usage", [])


@pytest.mark.parametrize("arguments", [(), ("--file", "ci.json")])
def test_a_dry_run_runs_and_records_nothing(world: World, here: Path, arguments: tuple[str, ...]) -> None:
    (here / ".agent-recovery/ci.json").write_text(
        json.dumps({"profile": "ci", "version": "9", "validated_sha": "a" * 40, "completed": ["a"]})
    )
    told = [a if a != "ci.json" else ".agent-recovery/ci.json" for a in arguments]
    done = world.run(here, "validate", *told, "--dry-run", "--json")
    assert (done.code, sent(world)) == (0, [])
    assert done.json["dry_run"]["would_run"] == ([] if arguments else VERIFY)


def test_a_lost_answer_is_asked_for_again_and_the_checks_run_once(world: World, here: Path) -> None:
    world.service.faults = [("validation", "lost")]
    done = world.run(here, "validate", "--json")
    assert done.code == 0, done.err
    keys = [call.body["key"] for call in world.service.of("validation")]
    assert (len(keys), len(set(keys))) == (3, 2)


def test_a_digest_needs_a_name_for_what_it_stands_for() -> None:
    assert dependencies.digest({}) is None
    assert dependencies.digest({"AGENT_RECOVERY_DEPENDENCIES": " "}) is None
    one, other = (dependencies.digest({"AGENT_RECOVERY_DEPENDENCIES": text}) for text in ("image 7", "image 8"))
    assert one is not None
    assert one.startswith("sha256:")
    assert one != other


COMMANDS = (("python3", "check.py"),)


def shown(**fields: Any) -> tuple[ShownValidation, ...]:
    facts: dict[str, Any] = {
        "profile": "verify",
        "version": version_of(COMMANDS),
        "snapshot": "a" * 40,
        "state": "passed",
        "deterministic": True,
        "dependencies": dependencies.digest(NAMED),
        **fields,
    }
    return (ShownValidation(**facts),)


@pytest.mark.parametrize(
    ("known", "head", "now", "reused"),
    [
        (shown(), "a" * 40, NAMED, True),
        ((), "a" * 40, NAMED, False),
        (shown(), "b" * 40, NAMED, False),
        (shown(), "a" * 40, {}, False),
        (shown(dependencies=None), "a" * 40, {}, False),
        (shown(state="not run"), "a" * 40, NAMED, False),
        (shown(state="failed"), "a" * 40, NAMED, False),
        (shown(deterministic=False), "a" * 40, NAMED, False),
        (shown(version="other"), "a" * 40, NAMED, False),
        (shown(profile="unit"), "a" * 40, NAMED, False),
    ],
)
def test_what_recover_does_not_run_again(
    world: World, known: tuple[ShownValidation, ...], head: str, now: dict[str, str], reused: bool
) -> None:
    brief = Brief.model_validate(world.service.brief()).model_copy(update={"validations": known})
    stands = verify_runs.reused(COMMANDS, brief, head, dependencies.digest(now))
    output = f"not run again: it passed on {head}"
    assert stands == ((VerifyRun(command=COMMANDS[0], exit_code=0, output=output, reused=True),) if reused else ())
