"""The guard on every head, on every trigger: never missing, and never green without a word for that commit."""

import pytest
from loop_world import REPO
from release_world import INTO, POLICY, TRUNK, ReleaseWorld

from app.controller.controller import Controller

pytestmark = pytest.mark.drill

_AUTO = "mutation($id: ID!) { enablePullRequestAutoMerge(input: {pullRequestId: $id}) { clientMutationId } }"
_ENQUEUE = "mutation($id: ID!) { enqueuePullRequest(input: {pullRequestId: $id}) { clientMutationId } }"
_READY = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { clientMutationId } }"


async def begun(world: ReleaseWorld, *, guarded: bool = True) -> tuple[Controller, int, str]:
    """A release with its pull request: the controller, the number and the head."""
    controller = world.controller()
    if guarded:
        world.require_guard()
    world.differ()
    await world.hear_events(controller)
    pull = world.pull()
    return controller, int(pull["number"]), str(pull["head"]["sha"])


async def test_a_new_head_a_base_there_and_back_and_a_closed_pull_request(world: ReleaseWorld) -> None:
    controller, number, _ = await begun(world)
    newer = world.differ()
    await world.hear_events(controller)
    assert world.guard(newer) == "action_required"
    world.branch("elsewhere")
    world.as_person("wanda", "PATCH", f"pulls/{number}", base="elsewhere")
    await world.hear_events(controller)
    assert (world.pull(number)["base"]["ref"], world.guard(newer)) == (INTO, "action_required")
    world.as_person("wanda", "PATCH", f"pulls/{number}", state="closed")
    await world.hear_events(controller)
    assert [(p["number"], p["state"]) for p in world.pulls()] == [(number, "open")]
    assert world.guard(newer) == "action_required"
    assert world.asked("boss", "PUT", f"pulls/{number}/merge").status_code == 405


async def test_asked_for_anew_it_is_answered_anew(world: ReleaseWorld) -> None:
    controller, _, sha = await begun(world)
    (run,) = world.guards(sha)
    since = world.requested()
    world.rerequest(int(run["id"]))
    assert f"{REPO}@{TRUNK}" in await world.hear_events(controller)
    assert (world.guard(sha), world.writes(since)[1:]) == ("action_required", [])


async def test_everything_else_that_goes_there_has_the_guard_and_no_part_in_a_release(world: ReleaseWorld) -> None:
    controller, number, sha = await begun(world)
    world.branch("topic")
    head = world.differ(branch="topic")
    world.open_pull("topic", INTO)
    # A branch at the release's own commit brings the release.
    world.branch("twin", of=TRUNK)
    world.open_pull("twin", INTO)
    await world.hear_events(controller)
    assert world.guard(head) == "success"
    assert world.guard(sha) == "action_required"
    world.as_person("wanda", "PATCH", f"pulls/{number}", state="closed")
    await controller.look_at_repository("acme", "shop")
    assert world.guard(sha) == "action_required"
    world.policy(POLICY + "  exclusive: true\n")
    await world.hear_events(controller)
    assert world.guard(head) == "failure"


async def test_no_event_came_and_the_sweep_finds_it(world: ReleaseWorld) -> None:
    controller = world.controller()
    await controller.start_up()
    await world.hear_events(controller)
    newer = world.differ()
    world.branch("topic")
    head = world.differ(branch="topic")
    world.open_pull("topic", INTO)
    world.forget_events()
    await controller._sweeper.sweep()
    await world.hear_events(controller)
    assert (world.guard(newer), world.guard(head)) == ("action_required", "success")
    assert world.pull()["draft"]


async def test_auto_merge_is_switched_off_and_told_of_once(world: ReleaseWorld) -> None:
    controller, number, _ = await begun(world)
    world.emulator.change_repo(REPO, allow_auto_merge=True)
    node = world.pull(number)["node_id"]
    world.graphql("wanda", _READY, id=node)
    assert "errors" not in world.graphql("wanda", _AUTO, id=node)
    await world.hear_events(controller)
    assert world.pull(number)["auto_merge"] is None
    told = [c for c in world.ours(number) if "Auto-merge was switched on" in c["body"]]
    assert len(told) == 1
    assert "errors" not in world.graphql("wanda", _AUTO, id=node)
    await world.hear_events(controller)
    assert world.pull(number)["auto_merge"] is None
    assert world.merges() == []


async def test_a_place_in_the_queue_is_taken_away_and_its_groups_are_red(world: ReleaseWorld) -> None:
    """Where GitHub does not require the guard: elsewhere it lets no red head into a queue."""
    controller, number, _ = await begun(world, guarded=False)
    checks = {"strict_required_status_checks_policy": False, "required_status_checks": [{"context": "ci"}]}
    ci = {"type": "required_status_checks", "parameters": checks}
    world.require_guard(name="queue", rules=[_queue_rule(), ci])
    world.graphql("wanda", _READY, id=world.pull(number)["node_id"])
    world.branch("topic")
    world.differ(branch="topic")
    for one in (number, world.open_pull("topic", INTO)):
        pull = world.pull(one)
        world.as_person("wanda", "POST", f"statuses/{pull['head']['sha']}", state="success", context="ci")
        queued = world.graphql("wanda", _ENQUEUE, id=pull["node_id"])
        assert "errors" not in queued, queued
    prefix = f"git/matching-refs/heads/gh-readonly-queue/{INTO}/"
    groups = [ref["object"]["sha"] for ref in world.get(prefix)]
    assert len(groups) == 2
    await controller.look_at_repository("acme", "shop")
    assert [world.guard(sha) for sha in groups] == ["action_required"] * 2
    await world.hear_events(controller)
    (left,) = [ref["object"]["sha"] for ref in world.get(prefix)]
    assert world.guard(left) == "success"
    assert [c for c in world.ours(number) if "It was put into the merge queue" in c["body"]]
    assert world.merges() == []


def _queue_rule() -> dict[str, object]:
    return {
        "type": "merge_queue",
        "parameters": {
            "check_response_timeout_minutes": 60,
            "grouping_strategy": "ALLGREEN",
            "max_entries_to_build": 5,
            "max_entries_to_merge": 5,
            "merge_method": "MERGE",
            "min_entries_to_merge": 1,
            "min_entries_to_merge_wait_minutes": 0,
        },
    }


async def test_merged_around_the_guard_is_one_incident_and_no_second(world: ReleaseWorld) -> None:
    controller = world.controller()
    world.differ()
    await world.settle(controller)
    number = int(world.pull()["number"])
    world.graphql("wanda", _READY, id=world.pull(number)["node_id"])
    world.as_person("boss", "PUT", f"pulls/{number}/merge")
    replica = world.controller()
    for one in (controller, replica, controller):
        await world.settle(one)
    (incident,) = world.issues_of_app()
    assert f"#{number}" in incident["title"]
    assert "boss" in incident["body"]
    # Somebody closes the Issue: it was told.
    world.as_person("boss", "PATCH", f"issues/{incident['number']}", state="closed")
    since = world.requested()
    await world.settle(world.controller())
    assert (len(world.issues_of_app()), world.writes(since)) == (1, [])


async def test_opened_and_merged_before_anybody_looked_is_an_incident_where_the_release_was_known(
    world: ReleaseWorld,
) -> None:
    controller = world.controller()
    await controller.start_up()
    await world.hear_events(controller)
    world.emulator.advance(60)
    world.differ()
    number = world.open_pull(TRUNK, INTO)
    world.as_person("boss", "PUT", f"pulls/{number}/merge")
    await world.hear_events(controller)
    await world.settle(controller)
    (incident,) = world.issues_of_app()
    assert f"#{number}" in incident["title"]
    # A service that never saw the release takes it for older than itself.
    await world.settle(world.controller())
    assert len(world.issues_of_app()) == 1
