"""Published faults of tokens that die during a run, played through the git endpoint: no credential is kept in git's
settings, the service's own token is renewed, and who cannot push is told so.
"""

import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from git_world import GitWorld
from loop_world import REPO, LoopWorld

from app.agent.next_checkpoint import with_local_facts
from app.agent.workspace import State
from app.domain.keys import TicketKey
from app.github.errors import NotFound
from app.service.events import Poked, keys_of

CASE = json.loads((Path(__file__).parents[1] / "fixtures" / "tokens_and_installations.json").read_text())
PUSH = {"method": "POST", "path_regex": "git-receive-pack$", "identity": "app:agent-recovery"}


def case(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return next(c for c in CASE["input"]["cases"] if c["name"] == name), CASE["expected"]["cases"][name]


@pytest.fixture(scope="module")
def git_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitWorld]:
    made = GitWorld(tmp_path_factory.mktemp("git"))
    yield made
    made.end()


def mints(world: GitWorld) -> int:
    return sum(r["path"].endswith("/access_tokens") for r in world.emulator.requests())


@pytest.mark.parametrize("name", ["push_401_once", "push_401_twice"])
def test_a_refused_token_is_replaced_once(git_world: GitWorld, name: str) -> None:
    given, expected = case(name)
    agent = git_world.agent(git_world.claim(git_world.issue()))
    sha = agent.commit("one.txt")
    before = mints(git_world)
    git_world.emulator.fault("status", match=PUSH, code=401, times=given["push"].count(401))
    done = agent.push()
    asked = mints(git_world) - before
    git_world.emulator.clear_faults()
    assert asked == expected["mints"], done.stderr
    published = git_world.record(agent.grant["ticket"])["published"]
    if expected["result"] == "ok":
        assert published is not None, done.stderr
        assert (done.returncode, published["sha"]) == (0, sha)
        return
    assert done.returncode != 0
    assert (published, git_world.ref(f"refs/heads/{agent.branch}")) == (None, None)
    state = State(head=sha, changed=(), untracked=())
    told = with_local_facts({}, state, None)["current_diff"]
    assert f"HEAD {sha} is not published" in told
    words = expected["checkpoint_says"].replace("work", f"HEAD {sha}").replace("not pushed", "is not published")
    assert words in told
    # The commit is still there, and goes out once GitHub takes the App's token again.
    assert agent.push().returncode == 0


def test_a_run_of_two_hours_ends_with_a_push(git_world: GitWorld) -> None:
    given, expected = case("run_of_two_hours")
    agent = git_world.agent(git_world.claim(git_world.issue()))
    agent.commit("one.txt")
    assert agent.push().returncode == 0
    git_world.emulator.advance(given["duration_s"])
    sha = agent.commit("two.txt")
    done = agent.push()
    assert (done.returncode == 0) == (expected["result"] == "ok"), done.stderr
    assert git_world.record(agent.grant["ticket"])["published"]["sha"] == sha


async def test_an_event_that_comes_after_the_app_was_removed_does_nothing(world: LoopWorld) -> None:
    given, expected = case("late_event_after_uninstall")
    await world.published()
    ledger, ticket = world.ledger(), world.ticket
    world.emulator.uninstall(world.installation)
    payload = {
        "repository": {"id": 1, "full_name": REPO, "default_branch": "main"},
        "issue": {"number": ticket},
        "comment": {"id": 1, "body": secrets.token_hex(4)},
        "installation": {"id": world.installation},
    }
    routed = keys_of(given["event"], payload, own_app_id=world.app["id"])
    assert isinstance(routed, Poked)
    before = world.requested()
    with pytest.raises(NotFound):
        await world.controller().round(TicketKey(REPO, ticket))
    assert len([w for w in world.writes(before) if "access_tokens" not in w]) == expected["effects"]
    # What it wrote before is all still there to be read.
    assert case("deleted")[1]["data"] == ("kept read-only" if world.ledger() == ledger else "changed")
