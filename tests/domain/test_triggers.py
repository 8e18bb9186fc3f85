"""The moments of a checkpoint: all of them admitted by name, and what each means for a successor."""

from pathlib import Path

import pytest

from app.domain.admission import Admitted, admit
from app.domain.triggers import Trigger, automatic, meaning_of, status_at, untold_at

NAMES = [
    "milestone",
    "before-risk",
    "spawn-before",
    "spawn-after",
    "integrate",
    "restack-before",
    "restack-after",
    "validation-start",
    "validation-end",
    "effect-before",
    "effect-after",
    "waiting",
    "shutdown",
    "context-limit",
    "cancel",
]


def test_the_moments_are_those_of_the_specification() -> None:
    assert [trigger.value for trigger in Trigger] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_moment_is_admitted_with_a_checkpoint(name: str) -> None:
    admitted = admit({"trigger": name})
    assert isinstance(admitted, Admitted)
    assert admitted.checkpoint.trigger == name


@pytest.mark.parametrize("value", ["tea-break", "MILESTONE", 7, ["milestone"], {"a": 1}, "milestone\n"])
def test_what_is_no_moment_is_left_out_and_said(value: object) -> None:
    admitted = admit({"trigger": value, "objective": "x"})
    assert isinstance(admitted, Admitted)
    assert admitted.checkpoint.trigger is None
    assert [(change.field, change.kind) for change in admitted.changes] == [("trigger", "left_out")]


def test_the_page_on_saving_names_every_moment() -> None:
    page = (Path(__file__).parents[2] / "docs" / "saving.md").read_text(encoding="utf-8")
    assert [name for name in NAMES if f"`{name}`" not in page] == []


def test_only_waiting_changes_the_status() -> None:
    assert {name: status_at(name) for name in NAMES if status_at(name) != "working"} == {"waiting": "waiting"}
    assert status_at(None) == "working"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("before-risk", "half done"),
        ("spawn-before", "look whether it exists"),
        ("restack-before", "which predecessor"),
        ("validation-start", "never passed"),
        ("effect-before", "whether it happened"),
        ("context-limit", "nearly full"),
    ],
)
def test_a_successor_is_told_what_may_be_half_done(name: str, words: str) -> None:
    assert words in (meaning_of(name) or "")


def test_nothing_follows_from_a_moment_after_something() -> None:
    for name in ("milestone", "spawn-after", "integrate", "restack-after", "validation-end", "effect-after"):
        assert meaning_of(name) is None
    assert meaning_of("anything else") is None
    assert meaning_of(None) is None


@pytest.mark.parametrize(
    ("name", "told", "untold"),
    [
        ("milestone", {}, ()),
        (None, {}, ()),
        ("tea-break", {}, ()),
        ("context-limit", {}, ("objective", "next_steps or pending_validation or blockers")),
        ("shutdown", {"objective": "x", "next_steps": []}, ("next_steps or pending_validation or blockers",)),
        ("cancel", {"objective": "x", "blockers": ["a person"]}, ()),
        ("restack-before", {"predecessor_issue_or_pr": 41}, ("predecessor_sha",)),
        ("restack-after", {"predecessor_issue_or_pr": 41, "predecessor_sha": "a" * 40}, ()),
        ("validation-start", {}, ("pending_validation",)),
        ("validation-end", {"validation_state": "green"}, ()),
        ("waiting", {"next_steps": ["x"]}, ("blockers",)),
    ],
)
def test_what_a_successor_would_look_for_in_vain_is_named(
    name: str | None, told: dict[str, object], untold: tuple[str, ...]
) -> None:
    assert untold_at(name, told) == untold


@pytest.mark.parametrize(
    ("last", "now", "told"),
    [
        (None, None, None),
        (None, Trigger.SHUTDOWN, Trigger.SHUTDOWN),
        ("milestone", Trigger.SHUTDOWN, Trigger.SHUTDOWN),
        ("effect-after", None, None),
        ("effect-before", Trigger.SHUTDOWN, Trigger.EFFECT_BEFORE),
        ("before-risk", None, Trigger.BEFORE_RISK),
        ("validation-start", Trigger.CANCEL, Trigger.VALIDATION_START),
    ],
)
def test_a_save_nobody_asked_for_covers_nothing_up(last: str | None, now: Trigger | None, told: Trigger | None) -> None:
    assert automatic(last, now) == told
