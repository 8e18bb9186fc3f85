"""`checkpoint`, `heartbeat`, `handoff`: keys on disk before the call, refusals as exit codes, no secret anywhere."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.agent.conftest import TICKET, USER_TOKEN, World, refusal
from tests.agent.in_process import swift


@pytest.fixture
def world(world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> World:
    """The shared world, with commands called in this process."""
    return swift(world, monkeypatch, capsys)


@pytest.fixture
def here(world: World) -> Path:
    folder = world.folder("agent")
    assert world.run(folder, "claim", str(TICKET)).code == 0
    note(folder, {"objective": "Prices", "next_steps": ["Then"]})
    return folder


def note(folder: Path, content: Any) -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / ".agent-recovery" / "next.json").write_text(text)


def test_a_checkpoint_is_stored_and_says_what_is_missing_for_a_hard_one(world: World, here: Path) -> None:
    done = world.run(here, "checkpoint")
    assert done.code == 0, done.err
    assert "sequence 1" in done.out
    assert "soft, because: the code commit is not on the remote" in done.out
    sent = world.service.of("checkpoint")[0]
    assert sent.bearer == world.service.lease_token
    assert sent.body["checkpoint"]["objective"] == "Prices"


def test_the_moment_goes_with_it_and_waiting_is_a_status_too(world: World, here: Path) -> None:
    done = world.run(here, "checkpoint", "--at", "waiting", "--hint", "native-session=0f3c")
    assert done.code == 0, done.err
    sent = world.service.of("checkpoint")[0].body
    assert (sent["at"], sent["status"]) == ("waiting", "waiting")
    assert sent["checkpoint"]["artifact_refs"] == ["hint:native-session:0f3c"]
    assert "a successor looks for blockers" in done.err
    assert world.run(here, "checkpoint", "--at", "tea-break").code == 2
    assert world.run(here, "checkpoint", "--hint", "native-session=https://agent.example/s/1").code == 2
    assert len(world.service.of("checkpoint")) == 1


def test_numbers_rise_and_keys_differ(world: World, here: Path) -> None:
    for objective in ("one", "two"):
        note(here, {"objective": objective})
        assert world.run(here, "checkpoint").code == 0
    first, second = (call.body for call in world.service.of("checkpoint"))
    assert (first["seq"], second["seq"]) == (1, 2)
    assert first["key"] != second["key"]


def test_a_lost_answer_is_asked_for_again_with_the_same_key(world: World, here: Path) -> None:
    world.service.faults = [("checkpoint", "lost"), ("checkpoint", "down")]
    done = world.run(here, "checkpoint", "--json")
    assert done.code == 0, done.err
    assert done.json["repeated"] is True
    assert len({(call.body["key"], call.body["seq"]) for call in world.service.of("checkpoint")}) == 1
    assert world.service.sequence == 1


def test_a_key_without_an_answer_survives_the_command(world: World, here: Path) -> None:
    world.service.refusals["checkpoint"] = refusal(500, "nonsense")
    assert world.run(here, "checkpoint").code == 7
    del world.service.refusals["checkpoint"]
    assert world.run(here, "checkpoint").code == 0
    first, second = (call.body for call in world.service.of("checkpoint"))
    assert first == second


def test_other_content_overtakes_an_unanswered_write(world: World, here: Path) -> None:
    world.service.refusals["checkpoint"] = refusal(500, "nonsense")
    assert world.run(here, "checkpoint").code == 7
    del world.service.refusals["checkpoint"]
    note(here, {"objective": "another"})
    assert world.run(here, "checkpoint").code == 0
    first, second = (call.body for call in world.service.of("checkpoint"))
    assert second["key"] != first["key"]
    assert second["seq"] > first["seq"]


@pytest.mark.parametrize(
    ("status", "code", "exit_code"),
    [
        (409, "stale_generation", 3),
        (409, "stale_request", 5),
        (409, "ended", 3),
        (409, "mode_observe", 4),
        (409, "writes_off", 4),
        (409, "no_policy", 4),
        (409, "resume_disabled", 4),
        (409, "too_old", 4),
        (409, "attempts_exhausted", 4),
        (409, "held", 4),
        (409, "frozen", 4),
        (409, "installation_suspended", 4),
        (403, "forbidden", 4),
        (409, "issue_closed", 4),
        (409, "lease_live", 5),
        (409, "lost_race", 5),
        (409, "unknown_outcome", 6),
        (401, "unauthenticated", 2),
        (404, "not_found", 2),
        (422, "not_a_ticket", 2),
        (422, "trunk_unclear", 2),
        (413, "checkpoint_too_large", 2),
        (409, "a_code_of_a_newer_service", 2),
        (500, "a_code_of_a_newer_service", 7),
    ],
)
def test_refusals_become_exit_codes(
    world: World, here: Path, status: int, code: str, exit_code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from app.agent import holding, show

    world.service.refusals["checkpoint"] = refusal(status, code)
    monkeypatch.chdir(here)
    monkeypatch.setenv("AGENT_RECOVERY_URL", world.service.url)
    with pytest.raises(SystemExit) as ended, show.reporting(as_json=False):
        holding.checkpoint(None, "working", dry_run=False, as_json=False)
    assert ended.value.code == exit_code


def test_a_refusal_is_json_on_stdout_when_asked_for(world: World, here: Path) -> None:
    world.service.refusals["checkpoint"] = refusal(409, "stale_generation", holder="second agent", generation=2)
    done = world.run(here, "checkpoint", "--json")
    assert done.code == 3
    assert done.json == {
        "error": {
            "code": "stale_generation",
            "message": "because of stale_generation",
            "next_action": "do the right thing",
            "retryable": False,
            "holder": "second agent",
            "generation": 2,
        }
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"objective": "x",\n "next_steps": [,]}', "line 2"),
        ("[]", "not a JSON object"),
        ('{"next_steps": 7}', "next_steps"),
        ("[" * 100_000, "nested too deep"),
        ('{"predecessor_issue_or_pr": ' + "9" * 5000 + "}", "number too long"),
        (json.dumps({"objective": "x" * 900_000}), ""),
        ("x" * 1_100_000, "larger than 1 MiB"),
    ],
)
def test_a_broken_checkpoint_is_refused_before_the_call(world: World, here: Path, text: str, words: str) -> None:
    note(here, text)
    done = world.run(here, "checkpoint", "--json")
    assert done.code == 2, done.out
    assert words in done.json["error"]["message"]
    assert world.service.of("checkpoint") == []


def test_a_missing_checkpoint_file_is_named(world: World, here: Path) -> None:
    done = world.run(here, "checkpoint", "--file", "plan.json", "--json")
    assert done.code == 2
    assert "plan.json does not exist" in done.json["error"]["message"]


def test_secrets_are_taken_out_before_anything_is_sent(world: World, here: Path) -> None:
    note(here, {"objective": f"log in with {USER_TOKEN}", "thinking": "hm"})
    done = world.run(here, "checkpoint", "--json")
    assert done.code == 0, done.err
    assert USER_TOKEN not in json.dumps(world.service.of("checkpoint")[0].body)
    assert {change["field"] for change in done.json["changes"]} == {"objective", "thinking"}


def test_dry_run_sends_nothing(world: World, here: Path) -> None:
    for command in ("checkpoint", "handoff"):
        assert world.run(here, command, "--dry-run", "--json").code == 0
    assert world.service.of("checkpoint") == world.service.of("handoff") == []


def test_after_a_handoff_the_lease_is_over_here(world: World, here: Path) -> None:
    done = world.run(here, "handoff", "--json")
    assert done.code == 0, done.err
    assert world.service.of("handoff")[0].body["checkpoint"]["objective"] == "Prices"
    again = world.run(here, "checkpoint", "--json")
    assert again.code == 3
    assert again.json["error"]["code"] == "ended"
    assert world.service.of("checkpoint") == []
    assert not (here / ".agent-recovery" / "claim.json").exists()


def test_the_environment_alone_identifies_a_holder(world: World, here: Path) -> None:
    elsewhere = world.folder("elsewhere")
    identity = {"AGENT_RECOVERY_LEASE_TOKEN": world.service.lease_token, "AGENT_RECOVERY_TICKET": str(TICKET)}
    done = world.run(elsewhere, "heartbeat", "--json", AGENT_RECOVERY_GENERATION="1", **identity)
    assert done.code == 0, done.err
    assert done.json["generation"] == 1
    wrong = world.run(elsewhere, "heartbeat", "--json", AGENT_RECOVERY_GENERATION="2", **identity)
    assert wrong.code == 2


def test_the_heartbeat_loop_ends_with_0_on_sigterm_and_with_3_when_fenced_out(world: World, here: Path) -> None:
    lease = json.loads((here / ".agent-recovery" / "lease.json").read_text())
    (here / ".agent-recovery" / "lease.json").write_text(json.dumps({**lease, "heartbeat_every_s": 1}))
    command = [sys.executable, "-m", "app.cli", "heartbeat", "--loop"]

    def started(beats: int) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            command, cwd=here, env=world.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        deadline = time.monotonic() + 20
        while len(world.service.of("heartbeat")) < beats and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(world.service.of("heartbeat")) >= beats
        return process

    process = started(2)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=10)
    assert process.returncode == 0
    process = started(len(world.service.of("heartbeat")) + 1)
    world.service.generation += 1
    _, error = process.communicate(timeout=20)
    assert process.returncode == 3
    assert b"stale_generation" in error


def test_without_a_lease_the_next_step_is_told(world: World) -> None:
    done = world.run(world.folder("nothing"), "checkpoint")
    assert done.code == 2
    assert "agent-recovery recover TICKET" in done.err


def test_a_damaged_lease_file_is_named_and_not_quoted(world: World, here: Path) -> None:
    (here / ".agent-recovery" / "lease.json").write_text('{"lease_token": "arl_secret.payload.secret"}')
    done = world.run(here, "checkpoint")
    assert done.code == 2
    assert "lease.json is damaged" in done.err
    assert "arl_" not in done.err
