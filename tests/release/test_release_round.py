"""The round of a release, played against an emulated GitHub: its one Draft pull request, and nothing without a
difference.
"""

from release_world import INTO, TRUNK, ReleaseWorld


async def test_without_a_difference_there_is_no_pull_request_and_nothing_is_written(world: ReleaseWorld) -> None:
    controller = world.controller()
    world.empty_commit()
    since = world.requested()
    ended = await world.settle(controller)
    assert (world.pulls(), world.release_refs(), world.writes(since), len(ended)) == ([], [], [], 1)


async def test_the_first_difference_leads_to_a_draft_release_pull_request_within_one_reconcile(
    world: ReleaseWorld,
) -> None:
    controller = world.controller()
    world.forget_events()
    issue, _ = world.landed("Ripen <!-- the --> pears @everyone")
    await world.hear_events(controller)
    pull = world.pull()
    assert (pull["draft"], pull["base"]["ref"], pull["head"]["ref"]) == (True, INTO, TRUNK)
    assert pull["user"]["login"] == world.app["bot_login"]
    assert f"#{issue}" in pull["title"]
    assert f"- #{issue} " in pull["body"]
    assert "@everyone" not in pull["body"].replace("`@everyone`", "")
    assert world.guard() == "action_required"
    assert len(world.ours(pull["number"])) == 1
    since = world.requested()
    await world.round(controller)
    assert world.writes(since) == []
