"""Authorize and merge, played: only the authorized commit, only while its word stands, and the answer is the truth."""

import pytest
from release_world import INTO, ReleaseWorld

from app.controller.controller import Controller
from app.domain.outcome import Refused

pytestmark = pytest.mark.drill


async def begun(world: ReleaseWorld) -> tuple[Controller, int, str]:
    """A release with its pull request: the controller, the number and the head."""
    controller = world.controller()
    world.require_guard()
    world.differ()
    await world.settle(controller)
    pull = world.pull()
    return controller, int(pull["number"]), str(pull["head"]["sha"])


async def refused(saying: object) -> str:
    with pytest.raises(Refused) as told:
        await saying  # type: ignore[misc]
    return f"{told.value.blocked.code.value}: {told.value.blocked.reason}"


async def test_authorized_by_a_person_exactly_that_commit_merges(world: ReleaseWorld) -> None:
    controller, number, sha = await begun(world)
    told = await refused(world.word(controller, "wanda", "merge-release"))
    assert "nobody has authorized" in told
    assert world.asked("boss", "PUT", f"pulls/{number}/merge").status_code == 405
    done = await world.word(controller, "maya", "authorize-release", sha)
    assert done.changed
    await world.settle(controller)
    assert world.guard(sha) == "success"
    (shown,) = world.ours(number)
    assert "maya" in shown["body"]
    assert sha in shown["body"]
    done = await world.word(controller, "wanda", "merge-release")
    assert "is merged at" in done.answer
    pull = world.pull(number)
    assert (pull["merged"], pull["merged_by"]["login"], pull["base"]["ref"]) == (True, world.app["bot_login"], INTO)
    await world.settle(controller)
    since = world.requested()
    await world.round(controller)
    assert (world.writes(since), world.issues_of_app(), world.pulls("open")) == ([], [], [])


async def test_one_more_push_voids_the_authorization_and_nothing_merges(world: ReleaseWorld) -> None:
    controller, number, sha = await begun(world)
    await world.word(controller, "maya", "authorize-release", sha)
    await world.settle(controller)
    newer = world.differ()
    told = await refused(world.word(controller, "wanda", "merge-release"))
    assert f"it was said of {sha}" in told
    await world.settle(controller)
    assert (world.guard(newer), world.merges()) == ("action_required", [])
    told = await refused(world.word(controller, "maya", "authorize-release", sha))
    assert newer in told
    await world.word(controller, "maya", "authorize-release", newer)
    await world.settle(controller)
    assert world.guard(newer) == "success"
    assert not world.pull(number)["merged"]


VOID = ["revoke", "comment deleted", "comment edited", "permission lost", "base changed", "expired"]


@pytest.mark.parametrize("why", VOID)
async def test_what_a_word_rests_on_is_looked_at_again(world: ReleaseWorld, why: str) -> None:
    controller, number, sha = await begun(world)
    comment = world.say("maya", number, f"/recovery authorize-release {sha}")
    await world.carry_out(controller, comment, "authorize-release", sha, number)
    await world.settle(controller)
    assert world.guard(sha) == "success"
    world.forget_events()
    if why == "revoke":
        await world.word(controller, "wanda", "revoke-release")
        assert world.guard(sha) == "action_required"
    elif why == "comment deleted":
        world.as_person("maya", "DELETE", f"issues/comments/{comment['id']}")
    elif why == "comment edited":
        world.as_person("boss", "PATCH", f"issues/comments/{comment['id']}", body=comment["body"] + " ")
    elif why == "permission lost":
        world.emulator.change_repo("acme/shop", collaborators={"maya": "write", "wanda": "write", "boss": "admin"})
    elif why == "base changed":
        world.branch("elsewhere")
        world.as_person("boss", "PATCH", f"pulls/{number}", base="elsewhere")
    elif why == "expired":
        world.emulator.advance(25 * 3600)
    if why == "permission lost":
        # No event tells of it; the release is looked at again all the same.
        world.emulator.advance(300)
    await world.hear_events(controller)
    await world.settle(controller)
    assert world.guard(sha) == "action_required"
    await refused(world.word(controller, "wanda", "merge-release", number=number))
    await world.settle(controller)
    assert world.merges() == []


async def test_what_github_refuses_is_answered_in_its_words(world: ReleaseWorld) -> None:
    controller, number, sha = await begun(world)
    await world.word(controller, "maya", "authorize-release", sha)
    await world.settle(controller)
    no = {"message": "Protected branch rules not configured for the moon"}
    world.emulator.fault("status", match={"method": "PUT", "path_regex": "/merge$"}, code=405, body=no)
    told = await refused(world.word(controller, "wanda", "merge-release"))
    assert "the moon" in told
    await world.settle(controller)
    assert world.merges() == []
    done = await world.word(controller, "wanda", "merge-release")
    assert "is merged at" in done.answer
    assert world.merges() == [number]


async def test_a_look_at_a_release_costs_a_few_requests(world: ReleaseWorld) -> None:
    controller, _, sha = await begun(world)
    await world.settle(controller)
    costs = []
    for _ in range(2):
        since = world.requested()
        await world.round(controller)
        costs.append(len([r for r in world.emulator.requests(since) if str(r["identity"]).startswith("app:")]))
        await world.word(controller, "maya", "authorize-release", sha)
        await world.settle(controller)
    assert costs[0] <= 10, costs
    assert costs[1] <= 14, costs
