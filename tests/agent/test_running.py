"""`run -- command`: real processes and signals; and its keeper, with times short enough to watch."""

import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.agent import held, last_save
from app.agent.home import Home
from app.agent.keeping import Keeper, Times
from tests.agent.conftest import BRANCH, TICKET, World, refusal
from tests.agent.in_process import note, soft_refs, swift

HEAD_REF = f"refs/heads/{BRANCH}"
AGENT = """
import pathlib, signal, subprocess, sys, time
def end(number, frame):
    pathlib.Path("last-words.txt").write_text("ended by %d\\n" % number)
    sys.exit(5)
signal.signal(signal.SIGTERM, end)
signal.signal(signal.SIGINT, end)
pathlib.Path("work.txt").write_text("done\\n")
subprocess.run(["git", "add", "work.txt"], check=True)
subprocess.run(["git", "commit", "-qm", "Work"], check=True)
pathlib.Path("loose.txt").write_text("not committed\\n")
pathlib.Path("begun").touch()
time.sleep(60)
"""


@pytest.fixture
def here(world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    with monkeypatch.context() as during:
        folder = swift(world, during, capsys).holder()
    note(folder)
    (folder / ".git" / "info" / "exclude").open("a").write("begun\n")
    return folder


def until(holds: Callable[[], Any], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come to be in time"
        time.sleep(0.05)


def started(world: World, here: Path, *options: str) -> "subprocess.Popen[str]":
    """An agent under `run`, once it has committed and left something loose."""
    command = [sys.executable, "-m", "app.cli", "run", *options, "--", sys.executable, "-c", AGENT]
    process = subprocess.Popen(
        command,
        cwd=here,
        env=world.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until((here / "begun").exists)
    return process


def test_a_signal_saves_softly_and_hard_and_reaches_the_agent(world: World, here: Path) -> None:
    process = started(world, here)
    process.terminate()
    _, said = process.communicate(timeout=60)
    assert process.returncode == 5, said
    assert (here / "last-words.txt").read_text() == "ended by 15\n"
    sha = world.git(here, "rev-parse", "HEAD")
    assert world.server_ref(HEAD_REF) == sha
    checkpoint = world.record()["checkpoint"]
    assert (checkpoint["trigger"], checkpoint["objective"]) == ("shutdown", "Prices")
    kept = world.git(here, "ls-tree", "--name-only", soft_refs(world, here)[-1]).split()
    assert {"work.txt", "loose.txt", "last-words.txt"} <= set(kept)
    # What it left uncommitted is said: to the ledger with the push, or through the service after it.
    told = [call.body["checkpoint"]["current_diff"] for call in world.service.of("checkpoint")]
    assert any("untracked" in text for text in [checkpoint["current_diff"], *told])
    assert world.service.of("heartbeat")


TALKER = """
import pathlib, signal, sys, time
heard = []
signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
print("said:", input())
pathlib.Path("begun").touch()
signal.pause()
time.sleep(0.7)  # a second one would come in this time
pathlib.Path("heard.txt").write_text(str(len(heard)))
sys.exit(9)
"""


def test_an_agent_keeps_the_terminal_and_hears_ctrl_c_once(world: World, here: Path) -> None:
    ours, its = pty.openpty()
    command = [sys.executable, "-m", "app.cli", "run", "--", sys.executable, "-c", TALKER]
    process = subprocess.Popen(
        command,
        cwd=here,
        env=world.environment(),
        stdin=its,
        stdout=its,
        stderr=its,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0) and None,
    )
    os.close(its)
    try:
        os.write(ours, b"hello\n")
        until((here / "begun").exists)
        os.write(ours, b"\x03")
        assert process.wait(60) == 9
        assert (here / "heard.txt").read_text() == "1"
        assert b"said: hello" in os.read(ours, 65536)
    finally:
        os.close(ours)
    assert [call.body["at"] for call in world.service.of("checkpoint")][:1] == ["cancel"]


def test_an_agent_that_does_not_end_is_killed_after_its_grace(world: World, here: Path) -> None:
    deaf = (
        "import signal, time, pathlib; signal.signal(15, signal.SIG_IGN); pathlib.Path('begun').touch(); time.sleep(60)"
    )
    command = [sys.executable, "-m", "app.cli", "run", "--grace", "0.5", "--", sys.executable, "-c", deaf]
    process = subprocess.Popen(command, cwd=here, env=world.environment(), stdin=subprocess.DEVNULL)
    until((here / "begun").exists)
    process.terminate()
    assert process.wait(60) == 128 + signal.SIGKILL


def test_the_agents_exit_code_is_ours_and_what_it_knew_is_stored(
    world: World, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    swift(world, monkeypatch, capsys)
    assert world.run(here, "run", "--", sys.executable, "-c", "raise SystemExit(7)").code == 7
    stored = world.service.of("checkpoint")
    assert len(stored) == 1
    assert stored[0].body["checkpoint"]["objective"] == "Prices"
    assert stored[0].body["at"] is None
    assert world.run(here, "run", "--", "true").code == 0
    assert len(world.service.of("checkpoint")) == 1  # nothing new: nothing stored twice
    assert world.run(here, "run", "--", "no-such-agent").code == 127
    assert world.run(here, "run", "--ends-in", "soon", "--", "true").code == 2


HALF_WRITTEN = """
import pathlib, subprocess
pathlib.Path("work.txt").write_text("done\\n")
subprocess.run(["git", "add", "work.txt"], check=True)
subprocess.run(["git", "commit", "-qm", "Work"], check=True)
notes = pathlib.Path(".agent-recovery/next.json")
notes.write_text(notes.read_text()[:20]) if %r else notes.unlink()
"""


@pytest.mark.parametrize("half", [True, False], ids=["half written", "lost"])
def test_an_agent_that_ends_while_it_writes_its_notes_loses_no_commit(
    world: World, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], half: bool
) -> None:
    swift(world, monkeypatch, capsys)
    assert world.run(here, "checkpoint", "--soft").code == 0
    done = world.run(here, "run", "--", sys.executable, "-c", HALF_WRITTEN % half)
    assert done.code == 0, done.err
    assert world.server_ref(HEAD_REF) == world.git(here, "rev-parse", "HEAD"), done.err
    assert world.record()["checkpoint"]["objective"] == "Prices"
    assert "the last soft checkpoint" in done.err


def test_what_an_agent_declared_ready_stays_ready(
    world: World, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    swift(world, monkeypatch, capsys)
    answer = world.service.answer

    def ready(operation: str, bearer: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        status, told = answer(operation, bearer, body)
        return status, {**told, "status": "ready"} if operation == "heartbeat" else told

    monkeypatch.setattr(world.service, "answer", ready)
    assert world.run(here, "run", "--", "true").code == 0
    assert world.service.of("checkpoint") == []


def test_an_open_risk_is_not_covered_up_by_a_save_nobody_asked_for(
    world: World, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    swift(world, monkeypatch, capsys)
    assert world.run(here, "checkpoint", "--at", "effect-before").code == 0
    note(here, objective="Prices and more")
    assert world.run(here, "run", "--", "true").code == 0
    assert [call.body["at"] for call in world.service.of("checkpoint")] == ["effect-before", "effect-before"]


def test_a_lease_that_is_over_starts_no_agent(
    world: World, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    swift(world, monkeypatch, capsys)
    world.service.refusals["heartbeat"] = refusal(409, "held")
    assert world.run(here, "run", "--", "touch", "begun").code == 4
    world.take_over()
    del world.service.refusals["heartbeat"]
    assert world.run(here, "run", "--", "touch", "begun").code == 3
    assert not (here / "begun").exists()


# --- the keeper's times ---


@pytest.fixture
def keeper(
    world: World, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[Times], Keeper]:
    swift(world, monkeypatch, capsys)
    for name, value in world.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(here)
    home = Home.at(here)
    return lambda times: Keeper(home, held.held_lease(home), times)


def kept(keeper: Keeper, holds: Callable[[], Any]) -> None:
    keeper.start()
    try:
        until(holds)
    finally:
        keeper.stop()


def test_the_gap_of_the_policy_is_kept(world: World, keeper: Callable[[Times], Keeper]) -> None:
    kept(keeper(Times(ttl_s=900, max_gap_s=1)), lambda: world.service.of("checkpoint"))
    assert world.service.of("checkpoint")[0].body["at"] is None


def test_before_the_machine_goes_away_it_is_saved_once(world: World, keeper: Callable[[Times], Keeper]) -> None:
    kept(keeper(Times(ttl_s=900, max_gap_s=1800, ends_in=1)), lambda: world.service.of("checkpoint"))
    assert [call.body["at"] for call in world.service.of("checkpoint")] == ["shutdown"]


def test_a_silent_service_is_made_up_for_by_a_push_before_the_lease_ends(
    world: World, here: Path, keeper: Callable[[Times], Keeper], monkeypatch: pytest.MonkeyPatch
) -> None:
    sha = world.commit(here, "work.txt")
    lease = here / ".agent-recovery" / "lease.json"
    lease.write_text(lease.read_text().replace('"heartbeat_every_s": 60', '"heartbeat_every_s": 1'))
    made = keeper(Times(ttl_s=4, max_gap_s=1800))
    made.start()
    monkeypatch.setattr("app.agent.keeping.PATIENCE_S", 0.1)
    world.service.refusals["heartbeat"] = refusal(503, "unavailable")
    try:
        until(lambda: world.server_ref(HEAD_REF) == sha)
    finally:
        made.stop()
    assert world.record()["checkpoint"]["trigger"] == "shutdown"
    noted = last_save.last(Home.at(here), held.identity(Home.at(here), world.environment()))
    assert noted is not None
    assert noted.trigger == "shutdown"


def test_a_service_that_answers_needs_no_push_for_the_lease(world: World, keeper: Callable[[Times], Keeper]) -> None:
    made = keeper(Times(ttl_s=1, max_gap_s=1800))
    kept(made, lambda: time.monotonic() > made.born + 2)
    assert (world.service.of("checkpoint"), world.server_ref(HEAD_REF)) == ([], None)


def test_soft_checkpoints_follow_the_work(world: World, here: Path, keeper: Callable[[Times], Keeper]) -> None:
    def saved(name: str) -> bool:
        refs = soft_refs(world, here)
        return bool(refs) and name in world.git(here, "ls-tree", "--name-only", refs[-1]).split()

    made = keeper(Times(ttl_s=900, max_gap_s=1800))
    made.start()
    try:
        for name in ("a.txt", "b.txt"):
            (here / name).write_text("x")
            until(lambda name=name: saved(name))  # type: ignore[misc]
    finally:
        made.stop()
    assert held.held_lease(Home.at(here)).ticket == TICKET


@pytest.mark.parametrize(
    ("times", "lease", "gap", "end"),
    [
        (Times(900, 1800), 390, 1440, None),
        (Times(120, 300, 3600), 45, 240, 3540),
        (Times(14400, 1800, 60), 7140, 1440, 30),
    ],
)
def test_when_a_save_is_due(times: Times, lease: float, gap: float, end: float | None) -> None:
    assert (times.lease_margin, times.gap, times.end_margin) == (lease, gap, end)
