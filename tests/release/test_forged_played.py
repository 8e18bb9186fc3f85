"""A release record that nobody of ours wrote never authorizes: forged, copied and rolled back ones are pushed by plain
git with `contents: write`, the service runs, the guard never turns green and nothing is merged.
"""

from collections.abc import Callable

import pytest
from forged import FORGERIES, Forger
from scene import Scene
from served import Served

pytestmark = [pytest.mark.drill, pytest.mark.timeout(300)]
Begun = Callable[[str], Scene]


def _nothing_comes_of_it(scene: Scene) -> None:
    """Whatever is done next, the guard stays red and nothing is merged."""
    served = scene.world
    served.rest()
    assert scene.greens() == []
    for run in served.guards(scene.head):
        if run["status"] == "completed":
            served.emulator.rerun_check(run["id"], scene.maya)
    scene.mutate(scene.maya, "markPullRequestReadyForReview")
    answer = scene.told(scene.maya, "/recovery merge-release")
    assert answer, "merge-release was not answered"
    assert scene.greens() == []
    assert served.reached() == [], answer


@pytest.mark.parametrize("name", FORGERIES)
def test_forged(served: Served, begun: Begun, name: str) -> None:
    scene = begun(name)
    forger = Forger.at_work(served, scene)
    # A person with the right to authorize names the commit, and authorizes nothing.
    comment = served.say(scene.maya, scene.number, f"Have a look at {scene.head} before somebody authorizes it.")
    served.rest()
    assert scene.guard() == "action_required"
    FORGERIES[name](forger, comment)
    _nothing_comes_of_it(scene)


@pytest.mark.parametrize("database", [True, False], ids=["seen before", "with the database gone"])
def test_rolled_back_to_before_a_revoke(served: Served, begun: Begun, database: bool) -> None:
    scene = begun(f"rolled back {'seen' if database else 'gone'}")
    forger = Forger.at_work(served, scene)
    scene.authorize(scene.maya)
    assert scene.guard() == "success"
    authorized = str(forger.head())
    scene.told(scene.milo, "/recovery revoke-release")
    assert scene.greens() == []
    assert forger.head() != authorized
    if not database:
        served.stop()
    forger.fetch()
    forger.put(authorized)
    if not database:
        served.restart(database=False)
    _nothing_comes_of_it(scene)


def test_deleted_after_a_revoke_and_put_back_as_it_was_before(served: Served, begun: Begun) -> None:
    scene = begun("deleted and back")
    forger = Forger.at_work(served, scene)
    scene.authorize(scene.maya)
    forger.fetch()
    authorized = str(forger.head())
    scene.told(scene.maya, "/recovery revoke-release")
    forger.delete()
    served.rest()
    forger.put(authorized)
    _nothing_comes_of_it(scene)
