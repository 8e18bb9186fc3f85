"""docs/effects.md says what the code does: every write of the App, every kind, state and probe of agents' effects."""

import re
import typing

from app.domain.effect import State
from tests.recovery.effects_page import CLASSES, PAGE, ROOT, page, writes


def test_the_page_is_made_from_the_code_as_it_is() -> None:
    assert PAGE.read_text("utf-8") == page(), "run: python -m tests.recovery.effects_page"


def test_every_write_of_the_app_answers_its_three_questions() -> None:
    assert sorted(write.name for write in writes()) == sorted(CLASSES)


def test_what_a_write_is_looked_for_by_exists() -> None:
    code = "".join(file.read_text("utf-8") for file in (ROOT / "app/github").glob("*.py"))
    named = {name for _, probe in CLASSES.values() for name in re.findall(r"`(\w+)`", probe)}
    assert {name for name in named if f"async def {name}(" not in code} == set()


def test_every_state_is_explained() -> None:
    text = page()
    assert all(f"| `{state}` |" in text for state in typing.get_args(State))
