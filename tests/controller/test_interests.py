"""What a look asks for, learnt from the policy the look before it read."""

from datetime import UTC, datetime, timedelta

from app.controller.interests import NO_PROJECTS_FOR, Interests
from app.domain.surroundings import NOTHING_MORE, Asked

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
WANTED = Asked(into="main", project=True)


def test_a_look_is_repeated_once_for_a_policy_that_says_something_new() -> None:
    interests = Interests()
    assert interests.of(1, NOW) == NOTHING_MORE
    assert interests.learn(1, NOTHING_MORE) is False
    assert interests.learn(1, WANTED) is True
    assert interests.learn(1, WANTED) is False
    assert interests.of(1, NOW) == WANTED
    assert interests.of(2, NOW) == NOTHING_MORE
    assert interests.learn(1, NOTHING_MORE) is True


def test_projects_that_may_not_be_read_are_asked_for_again_after_a_while_and_nothing_else_is_forgotten() -> None:
    interests = Interests()
    interests.learn(1, WANTED)
    interests.no_projects(1, NOW)
    assert interests.of(1, NOW + NO_PROJECTS_FOR - timedelta(seconds=1)) == Asked(into="main")
    assert interests.learn(1, WANTED) is False, "the policy says the same, so no look is repeated"
    assert interests.of(1, NOW + NO_PROJECTS_FOR) == WANTED


def test_it_remembers_a_bounded_number_of_repositories() -> None:
    interests = Interests()
    for repository in range(300):
        interests.learn(repository, WANTED)
    assert interests.of(0, NOW) == NOTHING_MORE
    assert interests.of(299, NOW) == WANTED
