"""Two releases, of which one contains the other: the authorized merge of the larger one brings the smaller one along,
and nobody is alarmed; an unauthorized one is one incident for each.
"""

import pytest
from release_world import ReleaseWorld

LATER = "release-1-3-0"
pytestmark = pytest.mark.drill


@pytest.mark.parametrize("authorized", [True, False], ids=["authorized", "past the guard"])
async def test_a_release_that_another_one_brought_along(world: ReleaseWorld, authorized: bool) -> None:
    controller = world.controller()
    world.differ()
    await world.settle(controller)
    (mine,) = world.pulls("open")
    world.branch(LATER, of=str(mine["head"]["ref"]))
    head = world.differ(branch=LATER)
    await world.settle(controller, LATER)
    (larger,) = world.pulls("open", head=LATER)
    number = int(larger["number"])
    if authorized:
        await world.word(controller, "maya", "authorize-release", head, number)
        await world.word(controller, "maya", "merge-release", "", number)
        await world.settle(controller, LATER)
    else:
        world.graphql("wanda", READY, id=larger["node_id"])
        world.as_person("wanda", "PUT", f"pulls/{number}/merge", sha=head)
    assert int(mine["number"]) in world.merges()
    told_before = len(world.issues_of_app())
    await world.settle(controller)
    await world.settle(controller, LATER)
    incidents = [i["title"] for i in world.issues_of_app()][: len(world.issues_of_app()) - told_before]
    assert len(incidents) == (0 if authorized else 2)


READY = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { id } } }"
