"""Soft checkpoints: everything in the folder as an immutable local ref, debounced, and promoted by a push."""

import threading
from pathlib import Path

import pytest

from app.agent import held, soft_checkpoints
from app.agent.home import Home
from app.agent.soft_checkpoints import Coalesced, Place, Saved
from tests.agent.conftest import TICKET, USER_TOKEN, World
from tests.agent.in_process import note, soft_refs, swift


@pytest.fixture
def here(world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.setattr(soft_checkpoints.save, "__kwdefaults__", {"debounce_s": 0.0})
    folder = swift(world, monkeypatch, capsys).holder()
    note(folder)
    return folder


def test_all_that_stands_in_the_folder_is_kept_here_and_nowhere_else(world: World, here: Path) -> None:
    (here / ".git" / "info" / "exclude").open("a").write("build/\n")
    (here / "build").mkdir()
    (here / "build" / "out.bin").write_text("made again at any time")
    (here / "check.py").write_text("changed\n")
    (here / "new.txt").write_text("precious\n")
    index = world.git(here, "ls-files", "--stage")
    calls = len(world.service.calls)
    done = world.run(here, "checkpoint", "--soft", "--at", "before-risk", "--json")
    assert done.code == 0, done.err
    soft = done.json["soft"]
    assert soft["ref"] == f"refs/agent-recovery-local/{TICKET}/g1/000001"
    assert soft["trigger"] == "before-risk"
    assert world.git(here, "ls-tree", "-r", "--name-only", soft["sha"]).split() == ["check.py", "new.txt"]
    assert world.git(here, "show", f"{soft['sha']}:new.txt") == "precious"
    assert world.git(here, "rev-parse", f"{soft['sha']}^") == world.git(here, "rev-parse", "HEAD")
    assert world.git(here, "ls-files", "--stage") == index
    assert len(world.service.calls) == calls
    assert "agent-recovery-local" not in world.git(world.service.bare, "for-each-ref")

    again = world.run(here, "checkpoint", "--soft", "--at", "before-risk", "--json").json
    assert (again["is_new"], again["soft"]["sha"]) == (False, soft["sha"])

    (here / "new.txt").unlink()
    world.git(here, "checkout", "-q", "--", "check.py")
    listed = world.run(here, "soft", "--json").json["soft"]
    assert [one["sha"] for one in listed] == [soft["sha"]]
    world.git(here, *listed[0]["restore"][1:])
    assert (here / "new.txt").read_text() == "precious\n"
    assert (here / "check.py").read_text() == "changed\n"


def test_a_secret_in_the_notes_stays_out_of_its_message(world: World, here: Path) -> None:
    note(here, objective=f"log in with {USER_TOKEN}")
    sha = world.run(here, "checkpoint", "--soft", "--json").json["soft"]["sha"]
    assert USER_TOKEN not in world.git(here, "log", "-1", "--format=%B", sha)


def test_a_push_promotes_what_it_made_hard_and_leaves_the_rest(world: World, here: Path) -> None:
    (here / "prices.txt").write_text("x\n")
    world.run(here, "checkpoint", "--soft")
    world.commit(here, "prices.txt")
    (here / "half.txt").write_text("not committed\n")
    world.run(here, "checkpoint", "--soft")
    first, second = soft_refs(world, here)
    pushed = world.run(here, "push", "--at", "milestone", "--json")
    assert pushed.code == 0, pushed.err
    assert pushed.json["promoted"] == [first]
    assert soft_refs(world, here) == [second]
    assert world.record()["checkpoint"]["trigger"] == "milestone"


def test_notes_that_are_lost_come_from_the_latest_soft_checkpoint(world: World, here: Path) -> None:
    note(here, objective="Prices, all of them")
    world.run(here, "checkpoint", "--soft")
    (here / ".agent-recovery" / "next.json").unlink()
    world.commit(here, "prices.txt")
    pushed = world.run(here, "push", "--json")
    assert pushed.code == 0, pushed.err
    assert world.record()["checkpoint"]["objective"] == "Prices, all of them"


def test_the_oldest_go_and_no_ref_ever_moves(world: World, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soft_checkpoints, "KEPT", 3)
    home, place = Home.at(here), Place(str(TICKET), 1)
    seen: dict[str, str] = {}
    for number in range(5):
        (here / "n.txt").write_text(str(number))
        done = soft_checkpoints.save(home, place, {"objective": "x"}, None, debounce_s=0)
        assert isinstance(done, Saved)
        assert done.soft.ref not in seen
        seen[done.soft.ref] = done.soft.sha
    assert soft_refs(world, here) == [f"{place.own}/{n:06d}" for n in (3, 4, 5)]
    assert {one.ref: one.sha for one in soft_checkpoints.saved(home, place)}.items() <= seen.items()


def test_a_burst_makes_one_and_that_holds_all(world: World, here: Path) -> None:
    home, place = Home.at(here), Place(str(TICKET), 1)
    soft_checkpoints.save(home, place, {}, None, debounce_s=0)
    outcomes: list[Saved | Coalesced] = []

    def call() -> None:
        outcomes.append(soft_checkpoints.save(home, place, {}, None, debounce_s=1.0))

    threads = [threading.Thread(target=call) for _ in range(6)]
    for number, thread in enumerate(threads):
        (here / f"burst-{number}.txt").write_text("x")
        thread.start()
    for thread in threads:
        thread.join()
    made = [one for one in outcomes if isinstance(one, Saved)]
    assert len(made) == 1
    assert sum(isinstance(one, Coalesced) for one in outcomes) == 5
    names = world.git(here, "ls-tree", "--name-only", made[0].soft.sha).split()
    assert [name for name in names if name.startswith("burst")] == [f"burst-{n}.txt" for n in range(6)]


def test_a_save_that_was_killed_stops_no_later_one(world: World, here: Path) -> None:
    world.run(here, "checkpoint", "--soft")
    for left_behind in ("soft.index.lock", "soft.waiting", "soft.lock"):
        (here / ".agent-recovery" / left_behind).touch()
    (here / "new.txt").write_text("x")
    done = world.run(here, "checkpoint", "--soft", "--json")
    assert (done.code, done.json["is_new"]) == (0, True), done.err


def test_they_are_shown_when_the_lease_is_over(world: World, here: Path) -> None:
    (here / "half.txt").write_text("x")
    sha = world.run(here, "checkpoint", "--soft", "--json").json["soft"]["sha"]
    assert world.run(here, "handoff").code == 0
    listed = world.run(here, "soft")
    assert listed.code == 0, listed.err
    assert f"git restore --source={sha} --worktree -- ." in listed.out
    assert world.run(world.folder("elsewhere"), "soft").code == 2


def test_somebody_elses_refs_are_not_taken_for_soft_checkpoints(world: World, here: Path) -> None:
    head = world.git(here, "rev-parse", "HEAD")
    for name in ("g1/000007", "kept/abc", "g1/x"):
        world.git(here, "update-ref", f"refs/agent-recovery-local/{TICKET}/{name}", head)
    home, place = Home.at(here), Place(str(TICKET), 1)
    assert soft_checkpoints.saved(home, place) == ()
    assert soft_checkpoints.newest(home, Place.of(held.identity(home, world.environment()))) is None
