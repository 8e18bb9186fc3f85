"""Answers to a merge told apart: published faults, and others of their kinds."""

import json
from pathlib import Path

import pytest

from app.domain.merge_answer import Meaning, MergeAnswer, Seen, meaning_of, outcome_after

CASE = json.loads((Path(__file__).parents[1] / "fixtures" / "merge_refusals.json").read_text())
NAMED = [case for case in CASE["input"]["cases"] if "response" in case]
HEAD, OTHER, BASE = "a" * 40, "b" * 40, "release-1"
OPEN = Seen(merged=False, head_sha=HEAD, base=BASE)
MERGED = Seen(merged=True, head_sha=HEAD, base=BASE)


@pytest.mark.parametrize("case", NAMED, ids=lambda case: case["name"])
def test_published_case(case) -> None:
    expected = CASE["expected"]["cases"][case["name"]]
    answer = meaning_of(case["response"]["status"], case["response"]["message"])
    assert answer.meaning.value == expected["class"]
    if "say" in expected:
        assert "draft" in answer.words or answer.words.startswith("At least 1 approving review")
    if "result" in expected:
        seen = MERGED if case["then_get"]["merged"] else OPEN
        wanted = {"merged": Meaning.MERGED, "retry": Meaning.TRANSIENT}[expected["result"]]
        assert outcome_after(answer, seen, wanted_sha=HEAD, wanted_base=BASE) is wanted


@pytest.mark.parametrize(
    ("status", "message", "meaning"),
    [
        (200, "Pull Request successfully merged", Meaning.MERGED),
        (405, "Base branch was modified. Review and try the merge again.", Meaning.TRANSIENT),
        (405, "2 of 3 required status checks are expected.", Meaning.PENDING),
        (405, "2 of 2 required status checks have not succeeded: 1 expected and 1 failing.", Meaning.TERMINAL),
        (405, 'Required status check "a" is in progress.\nRequired status check "b" is expected.', Meaning.PENDING),
        (405, 'Required status check "a" is expected.\nRequired status check "b" is failing.', Meaning.TERMINAL),
        (405, 'Required status check "is expected" is failing.', Meaning.TERMINAL),
        (405, 'Required status check "x" was not set by the expected GitHub App.', Meaning.TERMINAL),
        (405, "Changes must be made through the merge queue", Meaning.TERMINAL),
        (405, "You're not authorized to push to this branch.", Meaning.TERMINAL),
        (405, "", Meaning.TERMINAL),
        (403, "Resource not accessible by integration", Meaning.TERMINAL),
        (404, "Not Found", Meaning.TERMINAL),
        (422, "Validation Failed", Meaning.TERMINAL),
        (409, "anything", Meaning.HEAD_MOVED),
        (500, "", Meaning.VERIFY),
        (504, "<html>", Meaning.VERIFY),
        (None, "", Meaning.VERIFY),
    ],
)
def test_further_answers(status: int | None, message: str, meaning: Meaning) -> None:
    assert meaning_of(status, message).meaning is meaning


@pytest.mark.parametrize(
    ("meaning", "seen", "outcome"),
    [
        (Meaning.VERIFY, MERGED, Meaning.MERGED),
        (Meaning.VERIFY, OPEN, Meaning.TRANSIENT),
        (Meaning.REFETCH, OPEN, Meaning.REFETCH),
        (Meaning.VERIFY, Seen(True, OTHER, BASE), Meaning.TERMINAL),  # merged, but another head than was meant
        (Meaning.VERIFY, Seen(True, HEAD, "main"), Meaning.TERMINAL),  # merged, but elsewhere
        (Meaning.REFETCH, Seen(False, OTHER, BASE), Meaning.HEAD_MOVED),
        (Meaning.TRANSIENT, Seen(False, OTHER, BASE), Meaning.HEAD_MOVED),
    ],
)
def test_what_another_look_makes_of_it(meaning: Meaning, seen: Seen, outcome: Meaning) -> None:
    assert outcome_after(MergeAnswer(meaning, "w"), seen, wanted_sha=HEAD, wanted_base=BASE) is outcome
