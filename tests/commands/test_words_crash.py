"""Every verb of a comment with calls disturbed: the end is that of the undisturbed run, and each has one answer.

By default a few calls are disturbed, over all stories; `CRASH=all` disturbs every one of each story in every way, and
`CRASH=story/kind/number` plays one again.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from app.commands.registry import VERBS
from app.emulator.client import Emulator
from tests.crash import Call, Stage
from tests.crash_chosen import ALL, chosen, differing, stories_of
from tests.crash_end import judged
from tests.crash_words import STORIES_OF_WORDS, SpokenEnd, SpokenPlay, spoken_end

pytestmark = [pytest.mark.drill, pytest.mark.timeout(3 * 3600 if ALL == "all" else 240)]

SAMPLE: dict[str, tuple[tuple[str, str], ...]] = {
    "say hold": (("database poke", "cut after"), ("POST issues/*/comments", "killed after, database lost")),
    "say cancel": (("graphql UpdateRefs", "killed after, database lost"),),
    "say takeover": (("graphql UpdateRefs", "502 though done"), ("POST issues/comments/*/reactions", "killed after")),
    "say land": (("graphql UpdateRefs", "very late"), ("POST issues/*/comments", "late")),
    "say approve": (("database settle", "killed before, database lost"),),
}
"""The calls that are disturbed by default, each the first of its name, and how."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    data = tmp_path_factory.mktemp("github")
    with Emulator.start(data) as emulator:
        yield Stage(emulator, data, tmp_path_factory.mktemp("agents"), SpokenPlay)


def _both(end: SpokenEnd, expected: SpokenEnd, kind: str, call: Call) -> tuple[SpokenEnd, SpokenEnd]:
    """Both ends without what a disturbance may leave that nobody can take away, or that is told once more."""
    state, wanted = judged(end.state, expected.state, kind, call)
    if kind == "paused" and state.warned == wanted.warned + 1:
        state = replace(state, warned=wanted.warned)
    return replace(end, state=state), replace(expected, state=wanted)


@pytest.mark.parametrize("story", stories_of(STORIES_OF_WORDS, SAMPLE))
async def test_the_end_is_that_of_the_undisturbed_word(stage: Stage, story: str) -> None:
    expected, calls = await stage.play(STORIES_OF_WORDS[story], spoken_end)
    assert all(len(answers) == 1 for answers in expected.answers)
    assert expected.state.open_permits == 0
    failures = await differing(
        story,
        calls,
        chosen(story, calls, SAMPLE),
        lambda kind, number: stage.play(STORIES_OF_WORDS[story], spoken_end, kind, number),
        lambda found, kind, call: _both(found, expected, kind, call),
    )
    assert not failures, "\n".join(failures)


def test_every_verb_of_tickets_has_its_story() -> None:
    told = {name.split()[1] for name in STORIES_OF_WORDS}
    assert {verb.name for verb in VERBS if "ticket" in verb.works_on} <= told
