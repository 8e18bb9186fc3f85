"""`resume`: the public case of a session that overwrote newer work, played with real git against the ledger."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.agent.conftest import BRANCH, TICKET, World
from tests.agent.in_process import note, swift

CASE = json.loads((Path(__file__).parents[1] / "fixtures" / "resumed_sessions.json").read_text())
INPUTS: dict[str, dict[str, Any]] = {case["name"]: case for case in CASE["input"]["cases"]}
EXPECTED: dict[str, dict[str, Any]] = CASE["expected"]["cases"]
HEAD_REF = f"refs/heads/{BRANCH}"


@pytest.fixture
def here(world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    folder = swift(world, monkeypatch, capsys).holder()
    note(folder)
    return folder


def published(world: World, folder: Path, name: str) -> str:
    sha = world.commit(folder, name)
    done = world.run(folder, "push", "--json")
    assert done.code == 0, done.err
    return sha


def twin(world: World, here: Path) -> Path:
    """The same agent's other folder, under the same lease: what a paused session looks like from outside."""
    other = world.root / "twin"
    shutil.copytree(here, other)
    return other


def test_equal_goes_on(world: World, here: Path) -> None:
    sha = published(world, here, "one.txt")
    done = world.run(here, "resume", "--json")
    assert done.code == 0, done.err
    assert done.json["resume"] == EXPECTED["equal"]["resume"]
    assert (done.json["head"], world.server_ref(HEAD_REF)) == (sha, sha)


def test_remote_ahead_is_fast_forwarded_first(world: World, here: Path) -> None:
    published(world, here, "one.txt")
    newer = published(world, twin(world, here), "two.txt")
    would = world.run(here, "resume", "--dry-run", "--json").json
    assert (would["resume"], would["head"] == newer) == (EXPECTED["remote_ahead"]["resume"], False)
    done = world.run(here, "resume", "--json")
    assert done.code == 0, done.err
    assert (done.json["resume"], done.json["head"]) == (EXPECTED["remote_ahead"]["resume"], newer)
    assert (here / "two.txt").exists()
    assert world.run(here, "push").code == 0


def test_diverged_stops_keeps_both_and_asks(world: World, here: Path) -> None:
    published(world, here, "one.txt")
    theirs = published(world, twin(world, here), "two.txt")
    mine = [world.commit(here, f"mine-{n}.txt") for n in range(INPUTS["diverged"]["local_commits"])][-1]
    done = world.run(here, "resume", "--json")
    error = done.json["error"]
    assert (done.code, error["code"], error["resume"]) == (5, "branch_moved", EXPECTED["diverged"]["resume"])
    assert (world.server_ref(HEAD_REF) != theirs) is EXPECTED["diverged"]["push"]
    place = {"recovery ref": f"refs/agent-recovery/recovered/{TICKET}"}[EXPECTED["diverged"]["save_to"]]
    for sha in (mine, theirs):
        assert world.server_ref(f"{place}/{sha}") == sha
    assert world.git(here, "rev-parse", "HEAD") == mine
    assert world.run(here, "push").code != 0
    assert world.server_ref(HEAD_REF) == theirs
    world.git(here, *error["commands"][0][1:], "--no-edit")
    assert world.run(here, "push").code == 0


def test_remote_gone_offers_the_published_commit_and_puts_it_back_when_told(world: World, here: Path) -> None:
    sha = published(world, here, "one.txt")
    world.git(world.service.bare, "update-ref", "-d", HEAD_REF)
    offered = world.run(here, "resume", "--json")
    error = offered.json["error"]
    assert (offered.code, error["resume"]) == (5, EXPECTED["remote_gone"]["resume"])
    assert error["restore_sha"] == sha
    assert world.server_ref(HEAD_REF) is None
    # The ledger's second parents alone still hold it: a clone that never saw the branch can put it back.
    world.commit(here, "later.txt")
    done = world.run(here, *error["commands"][0][1:], "--json")
    assert done.code == 0, done.err
    assert world.server_ref(HEAD_REF) == sha
    assert world.git(world.service.bare, "rev-parse", f"{world.ledger_head()}^2") == sha


def test_a_fetch_before_the_push_makes_no_foreign_head_ours(world: World, here: Path) -> None:
    assert INPUTS["bare_lease_after_fetch"]["fetched_since"]
    sha = published(world, here, "one.txt")
    other = world.folder("stranger")
    world.git(other, "clone", "-q", "-b", BRANCH, str(world.service.bare), ".")
    foreign = world.commit(other, "reviewed.txt")
    world.git(other, "push", "-q", "origin", BRANCH)
    world.git(here, "fetch", "-q", "origin")
    mine = world.commit(here, "mine.txt")
    # What git itself does with either form, against a copy of the server that was fetched from just as well.
    copy = world.root / "copy.git"
    shutil.copytree(world.service.bare, copy)
    world.git(here, "remote", "add", "copy", str(copy))
    world.git(here, "fetch", "-q", "copy")

    def git_push(lease: str) -> int:
        told = ["git", "push", "-q", lease, "copy", f"HEAD:{HEAD_REF}"]
        return subprocess.run(told, cwd=here, env=world.environment(), capture_output=True, check=False).returncode

    assert git_push(f"--force-with-lease={BRANCH}:{sha}") == EXPECTED["explicit_lease"]["git_rc"]
    assert (world.git(copy, "rev-parse", HEAD_REF) != foreign) is EXPECTED["explicit_lease"]["overwritten"]
    assert git_push("--force-with-lease") == 0
    assert world.git(copy, "rev-parse", HEAD_REF) == mine
    assert "overwrites" in EXPECTED["bare_lease_after_fetch"]["seen"]
    # We never use that form.
    assert world.run(here, "push", "--json").json["error"]["code"] == "foreign_commits"
    assert world.run(here, "resume", "--json").json["error"]["code"] == "branch_moved"
    assert (world.server_ref(HEAD_REF) == mine) is EXPECTED["bare_lease_after_fetch"]["allowed"]
    assert world.server_ref(HEAD_REF) == foreign


def test_a_branch_that_tracks_another_is_never_pushed_there(world: World, here: Path) -> None:
    case = INPUTS["foreign_upstream"]
    world.git(world.service.bare, "update-ref", case["merge"], world.service.base_sha)
    world.git(here, "config", f"branch.{BRANCH}.remote", "origin")
    world.git(here, "config", f"branch.{BRANCH}.merge", case["merge"])
    sha = published(world, here, "one.txt")
    assert (world.server_ref(HEAD_REF), world.server_ref(case["merge"])) == (sha, world.service.base_sha)
    world.git(here, "checkout", "-q", "-b", case["branch"])
    world.git(here, "config", f"branch.{case['branch']}.merge", case["merge"])
    world.commit(here, "two.txt")
    assert EXPECTED["foreign_upstream"]["reason"] == "target is not the leased ref"
    for command in ("push", "resume"):
        refused = world.run(here, command, "--json")
        assert (refused.code == 2) is not EXPECTED["foreign_upstream"]["push"]
        assert f"the ticket branch {BRANCH} is not checked out" in refused.json["error"]["message"]
    assert (world.server_ref(HEAD_REF), world.server_ref(case["merge"])) == (sha, world.service.base_sha)


def test_an_old_base_is_said_with_its_age(world: World, here: Path) -> None:
    age = INPUTS["base_old"]["base_sha_age_commits"]
    who = "committer T <t@example.org> 1700000000 +0000\ndata 1\nx\n"
    stream = f"commit refs/heads/release-1-2-0\n{who}from {world.service.base_sha}\n" + "".join(
        f"commit refs/heads/release-1-2-0\n{who}" for _ in range(age - 1)
    )
    subprocess.run(["git", "fast-import", "--quiet"], cwd=world.service.bare, input=stream.encode(), check=True)
    done = world.run(here, "resume", "--json")
    assert done.code == 0, done.err
    assert (done.json["trunk_ahead"], done.json["results_count"]) == (age, EXPECTED["base_old"]["tests_count"])
    assert "update the base first" in world.run(here, "resume").err


def test_an_overwritten_branch_is_put_back_by_rewinding(world: World, here: Path) -> None:
    published(world, here, "one.txt")
    world.git(world.service.bare, "update-ref", HEAD_REF, world.service.base_sha)
    error = world.run(here, "resume", "--json").json["error"]
    assert error["commands"] == [["agent-recovery", "push", "--rewind"]]
    assert world.run(here, *error["commands"][0][1:]).code == 0
    assert world.run(here, "resume").code == 0


def test_a_fenced_out_session_keeps_its_commits_aside_and_stops(world: World, here: Path) -> None:
    published(world, here, "one.txt")
    mine = world.commit(here, "mine.txt")
    world.take_over()
    assert world.run(here, "resume", "--dry-run").code == 3
    assert world.server_ref(f"refs/agent-recovery/recovered/{TICKET}/{mine}") is None
    done = world.run(here, "resume", "--json")
    assert (done.code, done.json["error"]["code"]) == (3, "stale_generation")
    assert world.server_ref(f"refs/agent-recovery/recovered/{TICKET}/{mine}") == mine
    assert "your commits are kept" in done.err


def test_without_the_remote_nothing_is_concluded(world: World, here: Path) -> None:
    published(world, here, "one.txt")
    world.service.git_fault = ("git-upload-pack", "503")
    done = world.run(here, "resume", "--json")
    assert (done.code, done.json["error"]["retryable"]) == (7, True)


def test_recover_in_a_workspace_that_stands_compares_it(world: World, here: Path) -> None:
    published(world, here, "one.txt")
    newer = published(world, twin(world, here), "two.txt")
    again = world.run(here, "recover", str(TICKET), "--json")
    assert again.code == 0, again.err
    assert (again.json["resumed"]["resume"], again.json["workspace"]["head_sha"]) == ("fast_forward", newer)
    theirs = published(world, world.root / "twin", "three.txt")
    mine = world.commit(here, "mine.txt")
    stopped = world.run(here, "recover", str(TICKET), "--json")
    assert (stopped.code, stopped.json["error"]["resume"]) == (5, "stop")
    assert (stopped.json["error"]["local"], stopped.json["error"]["remote"]) == (mine, theirs)


def test_commits_of_a_lease_that_is_over_are_kept_before_anybody_is_asked(world: World, here: Path) -> None:
    published(world, here, "one.txt")
    mine = world.commit(here, "mine.txt")
    world.service.dead, world.service.holder_claim = True, None
    kept = f"refs/agent-recovery/recovered/{TICKET}/{mine}"
    assert world.run(here, "recover", str(TICKET), "--dry-run").code == 2
    assert world.server_ref(kept) is None
    stopped = world.run(here, "recover", str(TICKET))
    assert (stopped.code, world.service.generation) == (2, 1)
    assert f"its commits are kept: {kept}" in stopped.err
    assert world.server_ref(kept) == mine


@pytest.mark.parametrize("goes_on", [False, True])
def test_after_a_hold_the_fence_commit_is_taken_into_the_work(world: World, here: Path, goes_on: bool) -> None:
    """On hold nothing is taken for lost; off hold the same lease goes on, over the commit that withdrew its head."""
    on = published(world, here, "one.txt")
    tree = world.git(world.service.bare, "rev-parse", f"{on}^{{tree}}")
    fence = world.git(world.service.bare, "commit-tree", tree, "-p", on, "-m", "Withdraw")
    world.git(world.service.bare, "update-ref", HEAD_REF, fence, on)
    fields = {
        "published": {**world.record()["published"], "sha": fence},
        "burned_shas": (on,),
        "fence": {"sha": fence, "on": on, "because": "on hold"},
    }
    held = {"by": "wanda", "at": "2026-11-30T12:00:00Z", "before": "working", "reason": "wait for QA"}
    world.write_ledger(event="on hold", status="held", held=held, **fields)
    work = world.commit(here, "two.txt") if goes_on else on
    stopped = world.run(here, "resume", "--json")
    assert (stopped.code, stopped.json["error"]["code"]) == (4, "held")
    assert "wanda put the ticket on hold" in stopped.json["error"]["message"]
    world.write_ledger(event="off hold", **fields)
    assert world.run(here, "resume", "--dry-run", "--json").code == 0
    assert world.git(here, "rev-parse", "HEAD") == work
    done = world.run(here, "resume", "--json")
    assert done.code == 0, done.err
    head = world.git(here, "rev-parse", "HEAD")
    parents = world.git(here, "log", "-1", "--format=%P")
    assert (parents if goes_on else head) == (f"{work} {fence}" if goes_on else fence)
    assert world.run(here, "push", "--json").json["pushed"] == head == world.server_ref(HEAD_REF)
