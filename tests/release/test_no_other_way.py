"""No path merges a release but merge-release after a live authorization of its head: everything else is tried, against
a base that nothing else guards, and what came into it is counted.
"""

import pytest
from attempts import BULK, POLICIES, TRIGGERS, WORDS, Attempt
from release_world import INTO
from scene import Scene
from served import Served

AT_ONCE = 3
"""Attempts that are made before the service is waited for, so that they meet in its rounds."""
A_TEST = 9
"""Attempts in one test."""
pytestmark = [pytest.mark.drill, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def scene(served: Served) -> Scene:
    return Scene.begun(served)


def _parts(attempts: dict[str, Attempt]) -> list[dict[str, Attempt]]:
    names = list(attempts)
    return [{name: attempts[name] for name in names[at : at + A_TEST]} for at in range(0, len(names), A_TEST)]


def test_enough_is_tried() -> None:
    assert len(TRIGGERS) + len(WORDS) + len(POLICIES) + len(BULK) >= 60


@pytest.mark.parametrize("attempts", [*_parts(TRIGGERS), *_parts(BULK)], ids=lambda part: f"{next(iter(part))} …")
def test_nothing_comes_into_the_base(scene: Scene, attempts: dict[str, Attempt]) -> None:
    for turn, (name, attempt) in enumerate(attempts.items()):
        attempt(scene)
        if turn % AT_ONCE == 0:
            scene.world.rest()
        assert scene.world.reached() == [], name
    scene.world.rest()
    assert scene.world.reached() == []
    assert scene.greens() == []


@pytest.mark.parametrize("attempts", _parts(POLICIES), ids=lambda part: f"{next(iter(part))} …")
def test_no_policy_brings_it_there(scene: Scene, attempts: dict[str, Attempt]) -> None:
    for name, policy in attempts.items():
        policy(scene)
        scene.world.differ(branch=scene.trunk)
        scene.say(scene.person("maintain"), "/recovery merge-release")
        scene.world.rest()
        assert scene.world.reached() == [], name
    scene.policy()
    scene.world.rest()
    assert scene.greens() == []


def test_no_word_brings_it_there(scene: Scene) -> None:
    number = scene.number
    said = {name: int(str(attempt(scene))) for name, attempt in WORDS.items()}
    # So many answers are not written in one minute.
    scene.world.rest_through()
    assert scene.world.reached() == []
    assert scene.greens() == []
    # Each was heard; what is no command has no answer.
    unheard = {name for name, comment in said.items() if not scene.world.answers(number, comment)}
    assert unheard == {"a maintainer writes it in words", "a maintainer writes it thumbs up"}


def test_and_a_person_still_can(scene: Scene) -> None:
    """The attempts failed because of the rules, not because nothing worked any more."""
    sha = scene.world.differ(branch=scene.trunk)
    scene.world.rest()
    scene.authorize(scene.milo, sha)
    assert scene.guard() == "success"
    number = scene.number
    answer = scene.told(scene.milo, "/recovery merge-release")
    # Others, whose commits were all in it, GitHub takes for merged with it.
    assert number in scene.world.merges(), answer
    assert scene.world.get(f"commits/{INTO}")["parents"][1]["sha"] == sha
