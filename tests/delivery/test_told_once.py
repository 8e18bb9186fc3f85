"""Forks, repositories that moved or were archived, people who left, branches the App may not touch: told once at most,
and tried ever more rarely. Requests are counted while GitHub's clock goes on for hours.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from enrolled_world import Enrolled
from loop_world import REPO, LoopWorld

from app.controller.controller import Controller
from app.domain.keys import TicketKey
from app.domain.others_check import OTHERS_ID
from app.ledger.moving import Mover

HOURS = 3


async def _alone(world: LoopWorld, controller: Controller, key: str, most_runs: int = 40) -> int:
    """The loop alone with one key, as long as it asks to be run again; how often it was run."""
    until = datetime.fromtimestamp(world.emulator.now(), UTC) + timedelta(hours=HOURS)
    await world.pokes.poke(key)
    runs = 0
    while (due := await world.pokes.next_due()) is not None and due < until:
        world.emulator.advance(max(due.timestamp() - world.emulator.now(), 0) + 1)
        await world._opened[-1][0].installations()  # the service learns the time from GitHub's answers
        poke = await world.pokes.take("test")
        if poke is None:
            continue
        await world.pokes.settle(poke, await controller._loop._run(poke))
        runs += 1
        assert runs <= most_runs, "it is tried for ever"
    return runs


def _ours(world: LoopWorld, since: int) -> list[dict[str, Any]]:
    asked = world.emulator.requests(since)
    return [r for r in asked if str(r["identity"]).startswith("app:") and not r["path"].startswith("/app/")]


def _forked(given: Enrolled, branch: str) -> tuple[int, str]:
    """A stranger's fork with a branch of this name, and its pull request; the number and the head."""
    token = given.emulator.user("stranger")["token"]
    headers = {"Authorization": f"Bearer {token}"}
    http = given.world.http
    http.post(f"/repos/{REPO}/forks", json={}, headers=headers).raise_for_status()
    at = given.world.head("release-1")
    ref = {"ref": f"refs/heads/{branch}", "sha": at}
    http.post("/repos/stranger/shop/git/refs", json=ref, headers=headers).raise_for_status()
    sha = given.emulator.commit("stranger/shop", {"theirs.txt": "x"}, branch=branch, author="stranger")
    fields = {"title": "Mine", "head": f"stranger:{branch}", "base": "release-1", "body": "Ticket: #1"}
    made = http.post(f"/repos/{REPO}/pulls", json=fields, headers=headers).raise_for_status().json()
    return int(made["number"]), sha


@pytest.mark.parametrize("fork", ["stands", "was deleted"])
async def test_a_forks_branch_is_nobodys_whatever_its_name_says(world: LoopWorld, fork: str) -> None:
    given = Enrolled(world, "version: 1\nmode: repair\ntrunks: [release-*]\nenroll: {label: agent, branch: true}\n")
    ticket = given.issue()
    number, sha = _forked(given, f"{ticket}-pears")
    if fork == "was deleted":
        given.world.http.delete("/repos/stranger/shop")
    before = world.requested()
    controller = world.controller()
    for key in (f"{REPO}#{ticket}", f"{REPO}#{number}", REPO):
        await _alone(world, controller, key)
    # One for the pull request, and one that shows the policy on the default branch.
    assert world.writes(before) == [f"POST /repos/{REPO}/check-runs"] * 2
    assert [(r["external_id"], r["conclusion"]) for r in world.check_runs(sha)] == [(OTHERS_ID, "success")]
    assert given.ledger(ticket) is None


@pytest.mark.parametrize("how", ["renamed", "transferred"])
async def test_a_repository_that_moved_is_not_asked_for_under_its_old_name_again(world: LoopWorld, how: str) -> None:
    given = Enrolled(world)
    number = given.issue()
    given.work(f"{number}-pears")
    controller = world.controller()
    await given.settle(controller, number)
    if how == "renamed":
        world.emulator.rename_repo(REPO, "store")
    else:
        world.emulator.org("elsewhere")
        world.emulator.transfer_repo(REPO, "elsewhere")
    before = world.requested()
    runs = await _alone(world, controller, f"{REPO}#{number}")
    assert runs == 1
    assert len(_ours(world, before)) <= 4
    assert world.writes(before) == []
    if how == "renamed":
        # Under its new name it goes on where it was: the ids are the same.
        await _alone(world, controller, f"acme/store#{number}")
        assert world.writes(before) == []


async def test_an_archived_repository_is_left_as_it_is(world: LoopWorld) -> None:
    given = Enrolled(world)
    number = given.issue()
    given.work(f"{number}-pears")
    world.emulator.change_repo(REPO, archived=True)
    controller = world.controller()
    before = world.requested()
    runs = [await _alone(world, controller, key) for key in (f"{REPO}#{number}", REPO)]
    # One of them is that of its trunk.
    assert sum(runs) <= 4
    assert world.writes(before) == []
    # Taken out of the archive, it goes on.
    world.emulator.change_repo(REPO, archived=False)
    await given.settle(controller, number)
    assert len(given.pulls(f"{number}-pears")) == 1


async def test_people_who_left_stop_nothing_and_are_not_mentioned(world: LoopWorld) -> None:
    given = Enrolled(world)
    world.emulator.user("gone")
    world.emulator.change_repo(REPO, collaborators={"wanda": "write", "gone": "write"})
    fields = {"author": "gone", "labels": ["agent"], "assignees": ["gone"]}
    clear = int(world.emulator.issue(REPO, "Theirs", **fields)["number"])
    unclear = int(world.emulator.issue(REPO, "Theirs too", **fields)["number"])
    given.work(f"{clear}-pears")
    for name in ("one", "two"):
        given.work(f"{unclear}-{name}")
    world.emulator.delete_user("gone")
    controller = world.controller()
    for number in (clear, unclear):
        await given.settle(controller, number)
    (pull,) = given.pulls(f"{clear}-pears")
    assert pull["assignees"] == []
    (told,) = world.comments(unclear, "agent-recovery:report")
    assert "@" not in told["body"]
    before = world.requested()
    for number in (clear, unclear):
        await given.settle(world.controller(), number)
    assert world.writes(before) == []


async def test_a_holder_who_left_keeps_the_ticket_until_the_lease_ends(world: LoopWorld) -> None:
    controller, agent, sha = await world.published()
    (pull,) = world.get("pulls?state=all")
    replacement = world.emulator.user("heir")["token"]
    world.emulator.change_repo(REPO, collaborators={"wanda": "write", "heir": "admin"})
    world.emulator.delete_user("wanda")
    world.http.headers["Authorization"] = f"Bearer {replacement}"
    before = world.requested()
    await world.settle(controller)
    assert world.writes(before) == []
    assert world.head(agent.grant.branch) == sha
    assert world.get(f"pulls/{pull['number']}")["state"] == "open"


def _nobody_may_push(given: Enrolled, branch: str) -> None:
    """A ruleset that lets nobody update or create a branch."""
    boss = given.emulator.user("boss")["token"]
    given.emulator.change_repo(REPO, collaborators={"wanda": "write", "boss": "admin"})
    body = {
        "name": "locked",
        "enforcement": "active",
        "target": "branch",
        "conditions": {"ref_name": {"include": [f"refs/heads/{branch}"], "exclude": []}},
        "rules": [{"type": "update"}, {"type": "creation"}],
    }
    headers = {"Authorization": f"Bearer {boss}"}
    given.world.http.post(f"/repos/{REPO}/rulesets", json=body, headers=headers).raise_for_status()


async def test_a_branch_that_the_app_may_not_put_back_is_told_once_and_tried_ever_more_rarely(
    world: LoopWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def at_once(mover: Mover, number: int) -> None:
        return None

    monkeypatch.setattr(Mover, "_pause", at_once)
    given = Enrolled(world)
    controller, agent, _ = await world.published()
    (pull,) = world.get("pulls?state=all")
    world.git(agent.folder, "push", "-q", "origin", f":refs/heads/{agent.grant.branch}")
    _nobody_may_push(given, agent.grant.branch)
    before = world.requested()
    runs = await _alone(world, controller, str(TicketKey(REPO, world.ticket)))
    assert len(world.comments(pull["number"], "unrestored")) + len(world.comments(world.ticket, "unrestored")) == 1
    # Ten minutes apart at last: eighteen in three hours, and some in the first minutes.
    assert 10 <= runs <= 30
    assert world.head(agent.grant.branch) is None
    assert len([w for w in world.writes(before) if w.endswith("/comments")]) == 1


async def test_a_pr_that_github_refuses_is_told_and_tried_ever_more_rarely(world: LoopWorld) -> None:
    given = Enrolled(world)
    number = given.issue()
    given.work(f"{number}-pears")
    refusal = {"message": "Validation Failed", "errors": [{"message": "head sha is not allowed here"}]}
    match = {"path_regex": "/pulls$", "method": "POST"}
    world.emulator.fault("status", match=match, times=1000, code=422, body=refusal)
    controller = world.controller()
    before = world.requested()
    await _alone(world, controller, str(TicketKey(REPO, number)))
    tries = [r for r in _ours(world, before) if r["method"] == "POST" and r["path"].endswith("/pulls")]
    world.emulator.clear_faults()
    assert 2 <= len(tries) <= 15


async def test_a_permission_that_the_app_was_not_given_is_tried_ever_more_rarely(world: LoopWorld) -> None:
    given = Enrolled(world)
    given.work("topic")
    number = given.pull("topic")
    refusal = {"message": "Resource not accessible by integration"}
    match = {"path_regex": "/check-runs$", "method": "POST"}
    world.emulator.fault("status", match=match, times=1000, code=403, body=refusal)
    controller = world.controller()
    before = world.requested()
    runs = await _alone(world, controller, str(TicketKey(REPO, number)))
    world.emulator.clear_faults()
    assert runs <= 30
    assert len([w for w in world.writes(before) if w.endswith("/check-runs")]) == runs
