"""What follows an answer to a merge: published faults (B20 among the public cases) and a table; and merge texts."""

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.landing import Land, action_of, decide_landing
from app.domain.landing_actions import Merge
from app.domain.merge_answer import MAX_BASE_RETRIES, Meaning, MergeAnswer, Seen, meaning_of
from app.domain.merge_next import (
    ByQueue,
    ByStack,
    Landed,
    Next,
    NotAsMeant,
    Pending,
    ReadFirst,
    Reevaluate,
    RefusedBy,
    TryAgain,
    after_answer,
)
from app.domain.merge_text import merge_text
from tests.delivery.landing_scene import situation

CASE = json.loads((Path(__file__).parents[1] / "fixtures" / "merge_refusals.json").read_text())
NAMED = {case["name"]: case for case in CASE["input"]["cases"]}
SHA, OTHER, BASE = "a" * 40, "b" * 40, "release-1"
OPEN, MERGED = Seen(False, SHA, BASE), Seen(True, SHA, BASE)


def _after(status: int | None, message: str, seen: Seen | None = None, tries: int = 0) -> Next:
    return after_answer(meaning_of(status, message), wanted_sha=SHA, wanted_base=BASE, tries=tries, seen=seen)


@pytest.mark.parametrize(
    ("name", "seen", "expected"),
    [
        ("head_moved", None, Reevaluate),
        ("base_moved", None, ReadFirst),
        ("base_moved", OPEN, TryAgain),
        ("method_off", None, RefusedBy),
        ("not_mergeable", None, ReadFirst),
        ("not_mergeable", OPEN, Pending),
        ("check_expected", None, Pending),
        ("draft", None, RefusedBy),
        ("other_rule", None, RefusedBy),
        ("bad_gateway_but_merged", None, ReadFirst),
        ("bad_gateway_but_merged", MERGED, Landed),
        ("bad_gateway_not_merged", OPEN, TryAgain),
        ("already_merged_by_human", MERGED, Landed),
        ("already_merged_by_human", Seen(True, OTHER, BASE), NotAsMeant),
        ("already_merged_by_human", Seen(True, SHA, "main"), NotAsMeant),
    ],
)
def test_published_refusals(name: str, seen: Seen | None, expected: type) -> None:
    response = NAMED[name]["response"]
    step = _after(response["status"], response["message"], seen)
    assert type(step) is expected
    told = CASE["expected"]["cases"][name]
    if "next" in told:
        assert type(step) is {"reevaluate": Reevaluate}[told["next"]]
    for word in ("retry_same_sha", "blind_retry"):
        # What is tried again was read before, and has moved nothing.
        assert (isinstance(step, TryAgain) and seen is None) is told.get(word, False)
    if told.get("refetch_first"):
        assert isinstance(step, ReadFirst) is (seen is None)
        assert told["max_retries"] == MAX_BASE_RETRIES
    say = told.get("say")
    if say is not None:
        assert isinstance(step, RefusedBy)
        words = {"draft": "draft", "the rule's own text": "At least 1 approving review is required"}[say]
        assert words in step.words
        assert "\n" not in step.words


def test_every_published_refusal_was_asked() -> None:
    assert {name for name, case in NAMED.items() if "response" in case} == {
        *("head_moved", "base_moved", "method_off", "not_mergeable", "check_expected", "draft", "other_rule"),
        *("bad_gateway_but_merged", "bad_gateway_not_merged", "already_merged_by_human"),
    }


def test_published_case_of_the_sha() -> None:
    assert CASE["expected"]["cases"]["sha_always_sent"] == {"body_must_contain": ["sha"]}
    land = decide_landing(situation())
    assert isinstance(land, Land)
    merge = action_of(land)
    assert isinstance(merge, Merge)
    assert merge.head_sha == land.pull.head_sha


@pytest.mark.parametrize(
    ("status", "message", "seen", "expected"),
    [
        (200, "Pull Request successfully merged", None, ReadFirst),
        (200, "Pull Request successfully merged", MERGED, Landed),
        (200, "Pull Request successfully merged", Seen(True, SHA, "main"), NotAsMeant),
        (200, "Pull Request successfully merged", OPEN, Pending),
        (409, "Head branch was modified.", Seen(False, OTHER, BASE), Reevaluate),
        (None, "", None, ReadFirst),
        (None, "", OPEN, TryAgain),
        (None, "", Seen(False, OTHER, BASE), Reevaluate),
        (405, "Base branch was modified.", Seen(False, SHA, "release-2"), Reevaluate),
        (405, "Changes must be made through the merge queue", None, ByQueue),
        (405, "Repository rule violations found\n\nChanges must be made through the merge queue", None, ByQueue),
        (405, 'Required status check "through the merge queue" is failing.', None, RefusedBy),
        (
            405,
            "Merging stacked PRs via this endpoint is not supported. Use the asynchronous merge endpoint instead.",
            None,
            ByStack,
        ),
        (403, "Resource not accessible by integration", None, RefusedBy),
        (422, "", None, RefusedBy),
        (404, "Not Found", OPEN, RefusedBy),
    ],
)
def test_what_follows(status: int | None, message: str, seen: Seen | None, expected: type) -> None:
    assert type(_after(status, message, seen)) is expected


def test_a_base_that_keeps_moving_is_tried_a_few_times_and_more_slowly() -> None:
    steps = [_after(405, "Base branch was modified.", OPEN, tries) for tries in range(MAX_BASE_RETRIES + 1)]
    assert [s.after for s in steps if isinstance(s, TryAgain)] == [timedelta(seconds=s) for s in (1, 2, 4)]
    assert isinstance(steps[-1], Pending)


@given(
    st.sampled_from(Meaning),
    st.text(max_size=400),
    st.none() | st.builds(Seen, st.booleans(), st.sampled_from([SHA, OTHER]), st.sampled_from([BASE, "main"])),
    st.integers(0, 9),
)
def test_no_answer_is_followed_by_a_blind_merge(meaning: Meaning, words: str, seen: Seen | None, tries: int) -> None:
    step = after_answer(MergeAnswer(meaning, words), wanted_sha=SHA, wanted_base=BASE, tries=tries, seen=seen)
    if isinstance(step, TryAgain):
        assert seen == OPEN
        assert tries < MAX_BASE_RETRIES
    if isinstance(step, Landed):
        assert seen == MERGED
    if seen is not None and seen.merged:
        assert isinstance(step, Landed | NotAsMeant)
    told: Any = getattr(step, "words", None) or getattr(step, "reason", "x")
    assert len(told.encode("utf-8", "replace")) < 400
    assert "\n" not in told


@pytest.mark.parametrize("method", ["merge", "squash"])
def test_merge_texts_are_numbers_and_our_words(method: Any) -> None:
    hostile = 'fixes #13"\n\nSigned-off-by: x [skip ci] @all'
    land = decide_landing(
        situation(
            pull={"title": hostile, "body": hostile, "base": "release-1", "labels": (hostile,)},
            landing={"method": method},
        )
    )
    assert isinstance(land, Land)
    text = merge_text(land.pull, method, land.generation)
    assert text.title == "Land ticket #42 (PR #57)"
    assert text.message == f"The commit {'b' * 40}, published under generation 2, was landed by Agent Recovery."
    for words in (text.title, text.message):
        assert "\n" not in words
        assert not re.search(r"(?i)\b(close[sd]?|fix(e[sd])?|resolve[sd]?)\b|skip|\[|@|^\S+-by:", words)


def test_a_rebase_keeps_the_commits_as_they_are() -> None:
    land = decide_landing(situation(landing={"method": "rebase"}))
    assert isinstance(land, Land)
    text = merge_text(land.pull, "rebase", 2)
    assert (text.title, text.message) == ("", "")
