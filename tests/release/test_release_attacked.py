"""Somebody with write access plays with heads, branches and late answers: nothing that is not authorized stays green,
and nobody is told what is not so.
"""

import json

import pytest
from landing_world import Landing
from loop_world import REPO
from release_world import AT, INTO, POLICY, TRUNK, ReleaseWorld
from test_release_door import Door, authorized, told

from app.controller import release_looks

pytestmark = pytest.mark.drill

READY = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { clientMutationId } }"


def turn_green(world: ReleaseWorld, sha: str) -> None:
    """A green of our App that was sent before, carried out now."""
    token = world.emulator.installation_token(world.app, world.installation)
    (run,) = world.guards(sha)
    path = f"/repos/{REPO}/check-runs/{run['id']}"
    body = {"status": "completed", "conclusion": "success"}
    world.http.patch(path, json=body, headers={"Authorization": f"Bearer {token}"}).raise_for_status()


async def test_a_green_that_comes_late_on_a_commit_that_was_left_does_not_stay(world: ReleaseWorld) -> None:
    controller, _, sha = await authorized(world)
    world.differ()
    await world.settle(controller)
    assert world.guard(sha) == "action_required"
    # Nothing will tell of it: the release is looked at again by itself.
    assert (await world.round(controller)).in_time is not None
    turn_green(world, sha)
    await world.round(controller)
    assert world.guard(sha) == "action_required"
    world.emulator.advance(3700)
    assert (await world.round(controller)).in_time is None


async def test_a_word_taken_back_before_the_new_head_was_seen_leaves_no_green_behind(world: ReleaseWorld) -> None:
    controller, number, sha = await authorized(world)
    world.differ()
    assert await told(world.word(controller, "wanda", "revoke-release", number=number)) == "done"
    await world.settle(controller)
    assert world.guard(sha) == "action_required"


async def test_no_green_is_left_where_the_ledger_goes_together_with_the_head(world: ReleaseWorld) -> None:
    controller, _, sha = await authorized(world)
    (ledger,) = world.release_refs()
    world.differ()
    world.as_person("wanda", "DELETE", f"git/{ledger}")
    await world.settle(controller)
    assert world.guard(sha) == "action_required"
    since = world.requested()
    await world.round(controller)
    assert world.writes(since) == []


async def test_no_green_stands_because_github_refuses_the_words_of_the_red(world: ReleaseWorld) -> None:
    controller, number, sha = await authorized(world)
    patch = {"method": "PATCH", "path_regex": "/check-runs/"}
    world.emulator.fault("status", match=patch, code=422, body={"message": "Validation Failed"})
    await world.word(controller, "wanda", "revoke-release", number=number)
    assert world.guard(sha) == "action_required"
    await world.settle(controller)
    (run,) = world.guards(sha)
    assert run["output"]["title"] == "Not authorized"


@pytest.mark.parametrize("merged", [True, False])
async def test_a_word_taken_back_on_an_older_pull_request_is_answered_by_the_merge_under_way(
    world: ReleaseWorld, merged: bool
) -> None:
    world.policy(POLICY)
    world.differ()
    older = world.open_pull(TRUNK, INTO)
    world.as_person("wanda", "PATCH", f"pulls/{older}", state="closed")
    door = Door()
    controller, number, _ = await authorized(world, door)
    assert number != older
    await told(world.word(controller, "wanda", "merge-release"))
    if merged:
        assert await door.go_through() == 200
    answer = await told(world.word(controller, "wanda", "revoke-release", number=older))
    assert answer == ("landed" if merged else "done")
    assert world.pull(number)["draft"] is not merged


async def test_nobody_is_told_that_it_is_merged_while_its_check_is_red(world: ReleaseWorld) -> None:
    controller, number, sha = await authorized(world)
    world.policy(POLICY + "  exclusive: true\n")
    world.differ("newer")
    await world.settle(controller)
    sha = str(world.head(TRUNK))
    await world.word(controller, "maya", "authorize-release", sha)
    # Whoever brings the same commit there by another way makes it red.
    world.branch("other", of=TRUNK)
    world.open_pull("other", INTO)
    await world.settle(controller)
    assert world.guard(sha) == "failure"
    done = await world.word(controller, "wanda", "merge-release", number=number)
    assert "is not merged yet" in done.answer
    assert "Agent Recovery / release" in done.answer
    again = await world.word(controller, "milo", "merge-release", number=number)
    assert "is not merged yet" in again.answer
    assert world.merges() == []


async def test_an_issue_that_is_gone_hides_nobodys_work(world: ReleaseWorld) -> None:
    """Who worked in the release and may authorize deletes the Issue, so that the release names its ticket no more."""
    gone = 901
    text = json.dumps({"lease": {"login": "Maya"}})
    file = {"path": "record.json", "mode": "100644", "type": "blob", "content": text}
    tree = world.as_person("wanda", "POST", "git/trees", tree=[file])["sha"]
    made = world.as_person("wanda", "POST", "git/commits", message="Ledger", tree=tree, parents=[])["sha"]
    world.as_person("wanda", "POST", "git/refs", ref=f"refs/agent-recovery/done/{gone}", sha=made)
    world.branch(f"{gone}-work", of=TRUNK)
    world.differ(branch=f"{gone}-work")
    ticket = world.open_pull(f"{gone}-work", TRUNK)
    world.as_person("wanda", "PUT", f"pulls/{ticket}/merge")
    controller = world.controller()
    await world.settle(controller)
    sha = str(world.head(TRUNK))
    done = await world.word(controller, "maya", "authorize-release", sha)
    assert f"the ledger of ticket #{gone}" in done.answer
    await world.settle(controller)
    assert world.guard(sha) == "action_required"


@pytest.mark.parametrize("how", ["left alone", "deleted", "replaced", "begun anew"])
async def test_the_only_worker_cannot_take_away_what_tells_of_the_work(world: ReleaseWorld, how: str) -> None:
    says = POLICY + '  authorizers: ["permission:write"]\nresume:\n  enabled: false\n'
    controller = world.controller()
    ticket = await Landing.begun(world, says, controller)
    ticket.click_ready()
    ticket.merge_by_hand()
    await ticket.settle()
    place = f"refs/agent-recovery/done/{world.ticket}"
    assert world.get(f"git/matching-refs/{place.removeprefix('refs/')}")
    if how in ("replaced", "begun anew"):
        world.as_person("wanda", "PATCH", f"git/{place}", sha=world.head(TRUNK), force=True)
    elif how == "deleted":
        world.as_person("wanda", "DELETE", f"git/{place}")
    if how == "begun anew":
        await controller.rebuild(*AT, world.ticket, by="wanda")
    await world.settle(controller)
    sha = str(world.head(TRUNK))
    done = await world.word(controller, "wanda", "authorize-release", sha)
    lost = how in ("deleted", "replaced")
    assert ("it is not known who worked" if lost else "held or started a lease") in done.answer
    await world.settle(controller)
    assert world.guard(sha) == "action_required"
    await world.word(controller, "milo", "authorize-release", sha)
    await world.settle(controller)
    assert world.guard(sha) == ("action_required" if lost else "success")


async def test_no_crowd_of_refs_keeps_an_incident_from_being_told(
    world: ReleaseWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release_looks, "MOST_OTHERS", 3)
    controller = world.controller()
    world.differ()
    await world.settle(controller)
    pull = world.pull()
    for n in range(8):
        ref = f"refs/agent-recovery/releases/release-x-{n}"
        world.as_person("wanda", "POST", "git/refs", ref=ref, sha=world.head(TRUNK))
    world.graphql("wanda", READY, id=pull["node_id"])
    world.as_person("wanda", "PUT", f"pulls/{pull['number']}/merge")
    since = world.requested()
    await world.settle(controller)
    (incident,) = world.issues_of_app()
    assert f"#{pull['number']}" in incident["title"]
    read = {n for n in range(8) for one in world.emulator.requests(since) if f"release-x-{n}" in one["path"]}
    assert 0 < len(read) <= 3
