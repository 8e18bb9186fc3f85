"""The page of commands is the one that the verbs make."""

from app.commands.page import PAGE, page
from app.commands.registry import VERBS


def test_the_page_is_current() -> None:
    assert PAGE.read_text("utf-8") == page(), "run: python -m app.commands.page --write"


def test_it_names_every_verb_with_who_may_say_it() -> None:
    lines = page().splitlines()
    for verb in VERBS:
        written = verb.usage.replace("|", "\\|")
        (row,) = [line for line in lines if line.startswith(f"| `/recovery {written}` |")]
        assert row.count("|") - row.count("\\|") == 7
