"""Whose word counts, and how long: everything that only looks like an authorization is tried against the running
service. The guard is red, merge-release refuses with a reason, and nothing is merged.
"""

from collections.abc import Callable

import pytest
from attacks import COUNTED_NO_MORE, NOT_COUNTED, SEEN_LATER, Attack
from release_world import INTO
from scene import Scene
from served import Served

pytestmark = [pytest.mark.drill, pytest.mark.timeout(300)]
Begun = Callable[[str], Scene]


@pytest.mark.parametrize("name", [*NOT_COUNTED, *COUNTED_NO_MORE])
def test_it_does_not_count(served: Served, begun: Begun, name: str) -> None:
    attack: Attack = (NOT_COUNTED | COUNTED_NO_MORE)[name]
    scene = begun(name)
    attack(scene)
    served.rest()
    # Of what GitHub tells nobody, the next look at the release knows: the merge itself looks.
    assert name in SEEN_LATER or scene.greens() == []
    answer = scene.told(scene.boss, "/recovery merge-release")
    assert "authoriz" in answer, answer
    assert scene.greens() == []
    assert served.reached() == []


def test_a_commit_in_capital_letters_is_that_commit_or_none(served: Served, begun: Begun) -> None:
    scene = begun("capital")
    answer = scene.told(scene.maya, f"/recovery authorize-release {scene.head.upper()}")
    assert answer
    if scene.greens():
        scene.world.differ(branch=scene.trunk)
        scene.world.rest()
    assert scene.greens() == []


def test_an_authorization_ends_with_its_time(served: Served, begun: Begun) -> None:
    scene = begun("expired")
    scene.told_by(f"release:\n  into: {INTO}\n  expires: 10m")
    scene.authorize(scene.maya)
    assert scene.guard() == "success"
    served.emulator.advance(11 * 60)
    answer = scene.told(scene.milo, "/recovery merge-release")
    assert "authoriz" in answer, answer
    assert scene.greens() == []
    assert served.reached() == []


def test_and_an_honest_word_does_count(served: Served, begun: Begun) -> None:
    scene = begun("honest")
    scene.authorize(scene.milo)
    assert scene.guard() == "success"
    number = scene.number
    answer = scene.told(scene.maya, "/recovery merge-release")
    assert served.merges() == [number], answer
