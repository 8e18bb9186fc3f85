"""The demo itself, and what its first proofs say where the service's writes are switched off."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.drill import proofs_of_work as proofs
from app.drill.proof import NotProved
from app.drill.scripted_agent import must_push, tasks_of
from app.drill.story import APART, PROOFS, Story, moment_of_death
from app.drill.story_resume import PROOFS as PROOFS_OF_RESUMING
from app.drill.telling import Result, Telling
from app.drill.world import TICKET, World

pytestmark = pytest.mark.drill

ROOT = Path(__file__).parents[2]
SEED = 7
MAKES_OWN = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "SEED", "KEEP", "STORY")


@pytest.mark.timeout(400)
def test_the_demo_proves_every_step_and_is_kept_until_it_is_ended(tmp_path: Path) -> None:
    """One story for all that can be seen of it: what it tells, the seed, what `--keep` keeps, what is left after."""
    out, err = tmp_path / "out", tmp_path / "err"
    work = tmp_path / "work"
    work.mkdir()
    with out.open("w") as stdout, err.open("w") as stderr:
        demo = subprocess.Popen(
            [sys.executable, "-m", "app.cli", "demo", "--json", "--seed", str(SEED), "--keep"],
            cwd=ROOT,
            env=os.environ | {"TMPDIR": str(work)},
            stdout=stdout,
            stderr=stderr,
        )
    try:
        _wait_for("Ctrl-C ends it", err, demo)
        told = json.loads(out.read_text())
        _assert_all_is_proved(told)
        everything = _below(demo.pid)
        assert demo.poll() is None
        assert _answer(f"{told['urls']['GitHub']}/api/v3/repos/acme/orchard/issues/42")["title"] == "Ripen the apples"
        assert _answer(f"{told['urls']['service']}/healthz")
        assert _answer(f"{told['urls']['service']}/.well-known/agent-recovery")
        assert Path(told["urls"]["folder"]).is_dir()
        demo.send_signal(signal.SIGTERM)
        assert demo.wait(40) == 0
    finally:
        # A polite end first: it ends what it started.
        if demo.poll() is None:
            demo.terminate()
            demo.wait(40)
    assert len(everything) >= 2, "GitHub and the service run in processes of their own"
    assert [pid for pid in everything if _lives(pid)] == []
    for url in (told["urls"]["GitHub"], told["urls"]["service"]):
        with pytest.raises(httpx.ConnectError):
            httpx.get(url, trust_env=False)
    assert list(work.iterdir()) == [], "a story that was proved leaves no folder behind"


def _assert_all_is_proved(told: dict[str, Any]) -> None:
    assert told["failed"] == {}
    assert set(told["proved"]) == set(PROOFS)
    assert all(told["proved"].values())
    assert told["generation"] == 2
    assert told["duplicates"] == 0
    assert 0 < told["recovery_requests"] <= 17
    assert set(told["requests_apart"]) == set(APART)
    assert told["seed"] == SEED
    killed, moment = told["proved"]["killed"], moment_of_death(SEED)
    assert (killed["amid_step"], killed["seconds_into_it"]) == (moment.step, moment.delay)
    assert f"work/step-{moment.step}.txt" in killed["dirty"]


def _wait_for(words: str, log: Path, demo: subprocess.Popen[bytes], within: float = 300.0) -> None:
    deadline = time.monotonic() + within
    while words not in log.read_text():
        assert demo.poll() is None, log.read_text()[-2000:]
        assert time.monotonic() < deadline, log.read_text()[-2000:]
        time.sleep(0.1)


def _answer(url: str) -> dict[str, Any]:
    answer = httpx.get(url, trust_env=False)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def _below(pid: int) -> list[int]:
    """The processes that this one started, and those that they started."""
    children = [child for child, parent in _parents().items() if parent == pid]
    return children + [grandchild for child in children for grandchild in _below(child)]


def _parents() -> dict[int, int]:
    if Path("/proc/self/stat").exists():
        found: dict[int, int] = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):  # other programs end while we look
                stat = path.read_text()
                found[int(stat.split()[0])] = int(stat.rpartition(")")[2].split()[1])
        return found
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    return {int(pid): int(parent) for pid, parent in (line.split() for line in listed.splitlines())}


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_seed_chooses_the_moment_of_death() -> None:
    moments = [moment_of_death(seed) for seed in range(1, 21)]
    assert moments == [moment_of_death(seed) for seed in range(1, 21)]
    assert len({moment.delay for moment in moments}) == 20
    assert {moment.step for moment in moments} == {"3", "5"}
    assert all(0.05 <= moment.delay <= 0.35 for moment in moments)


@pytest.mark.parametrize(
    ("given", "commands"),
    [
        ((), ["demo --story delivery", "demo --story resume"]),
        (("SEED=12",), ["demo --story delivery --seed 12", "demo --story resume --seed 12"]),
        (("STORY=resume",), ["demo --story resume"]),
        (("KEEP=1",), ["demo --story delivery --keep"]),
        (("SEED=12", "KEEP=1", "STORY=resume"), ["demo --story resume --seed 12 --keep"]),
        (("KEEP=0",), ["demo --story delivery", "demo --story resume"]),
    ],
)
def test_make_demo_passes_on_what_it_is_given(given: tuple[str, ...], commands: list[str]) -> None:
    # Whatever make runs this test must not pass its own orders on.
    env = {name: value for name, value in os.environ.items() if name not in MAKES_OWN}
    planned = subprocess.run(
        ["make", "--dry-run", "demo", *given], cwd=ROOT, env=env, capture_output=True, text=True, check=True
    )
    told = [line.split() for line in planned.stdout.splitlines() if "agent-recovery demo" in line]
    assert told == [[".venv/bin/agent-recovery", *command.split()] for command in commands]


@pytest.mark.timeout(200)
def test_the_story_of_resuming_proves_every_step(tmp_path: Path) -> None:
    demo = [sys.executable, "-m", "app.cli", "demo", "--story", "resume", "--json"]
    done = subprocess.run(
        demo, cwd=ROOT, env=os.environ | {"TMPDIR": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    told = json.loads(done.stdout)
    assert told["failed"] == {}
    assert done.returncode == 0
    assert set(told["proved"]) == set(PROOFS_OF_RESUMING)
    assert all(told["proved"].values())
    assert (told["story"], told["duplicates"]) == ("resume", 0)


def test_a_story_that_there_is_not_is_answered_with_those_that_there_are() -> None:
    demo = [sys.executable, "-m", "app.cli", "demo", "--story", "happy-end"]
    done = subprocess.run(demo, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "delivery:" in done.stderr
    assert "resume:" in done.stderr


def test_with_writes_off_nothing_is_claimed(tmp_path: Path) -> None:
    world = World(tmp_path)
    try:
        story = Story(world, Telling(quiet=True), Result(seed=1))
        world.start_service(AGENT_RECOVERY_WRITES="off")
        world.install()
        workspace = tmp_path / "agent"
        workspace.mkdir()
        attempt = world.command(world.first, workspace, "recover", str(TICKET), "--json")
        assert attempt.exit_code == 4
        assert "writes_off" in attempt.said
        assert isinstance(proofs.claimed(world.observer, story.place, generation=1), NotProved)
        assert isinstance(proofs.pr_created(world.observer, story.place), NotProved)
    finally:
        world.stop()


def test_steps_are_the_issues_task_list() -> None:
    body = "Do this:\r\n\r\n- [ ] Water the roots\r\n- [x] Count `all` trees  \r\n* [ ] Rest\r\n- no task\r\n"
    assert [(t.id, t.text) for t in tasks_of(body.replace("\r\n", "\n"))] == [
        ("1", "Water the roots"),
        ("2", "Count `all` trees"),
        ("3", "Rest"),
    ]


@pytest.mark.parametrize(
    ("unpushed", "ever_pushed", "remaining", "pushes"),
    [(1, False, 5, True), (1, True, 4, False), (2, True, 3, True), (1, True, 0, True), (0, False, 3, False)],
)
def test_the_agents_habit_leaves_something_to_lose(
    unpushed: int, ever_pushed: bool, remaining: int, pushes: bool
) -> None:
    assert must_push(unpushed, ever_pushed, remaining) is pushes
