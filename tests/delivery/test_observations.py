"""The recorded observations yield the plans that stand beside them, and together they show every rule's outcome."""

import typing
from pathlib import Path

import pytest

from app.domain import plan
from app.domain.landing_blocker import BlockerCode
from tests.delivery.observations import files, recorded, text_of

FILES = files()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_was_seen_yields_the_recorded_plan(path: Path) -> None:
    assert text_of(recorded(path)) == path.read_text("utf-8"), "run: python -m tests.delivery.observations --write"


def test_every_action_and_every_blocker_is_recorded() -> None:
    stories = [recorded(path) for path in FILES]
    assert len(stories) >= 40
    done = {action["do"] for story in stories for action in story.plan()}
    assert {action.__name__ for action in typing.get_args(plan.Action)} == done
    shown = {code for story in stories for code in story.in_the_way()}
    assert {code.value for code in BlockerCode} == shown


def test_every_story_says_what_it_is_about() -> None:
    about = [recorded(path).about for path in FILES]
    assert len(set(about)) == len(about)
    assert all(words.endswith(".") for words in about)
