"""Approvals that count, by published faults: accounts that are gone, reviews that a force-push carried along."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.domain.approvals import Review, approvers

FIXTURES = Path(__file__).parents[1] / "fixtures"
GHOSTS = json.loads((FIXTURES / "missing_people.json").read_text())
HEADS = json.loads((FIXTURES / "check_results_of_old_heads.json").read_text())
HEAD, OLD = "b" * 40, "a" * 40
PUSHED = datetime(2026, 6, 2, 9, tzinfo=UTC)


def review(login: str | None, state: str = "APPROVED", minutes: int = 5, commit: str = HEAD) -> Review:
    return Review(login, state, commit, PUSHED + timedelta(minutes=minutes))


def test_published_ghost() -> None:
    case = next(c for c in GHOSTS["input"]["cases"] if c["name"] == "ghost_review_in_list")
    reviews = [review(r["user"]["login"] if r["user"] else None, r["state"]) for r in case["reviews"]]
    expected = GHOSTS["expected"]["cases"]["ghost_review_in_list"]["counted_approvers"]
    assert list(approvers(reviews, head_sha=HEAD, head_pushed_at=PUSHED)) == expected


def test_published_review_that_was_carried_along() -> None:
    case = next(c for c in HEADS["input"]["cases"] if c["name"] == "review_commit_id_moved")
    given = case["review"]
    moved = Review("dev-a", given["state"], given["commit_id"], datetime.fromisoformat(given["submitted_at"]))
    pushed = datetime.fromisoformat(case["head_pushed_at"])
    counted = approvers([moved], head_sha=given["commit_id"], head_pushed_at=pushed)
    expected = HEADS["expected"]["cases"]["review_commit_id_moved"]
    assert (given["commit_id"] if counted else None) == expected["approval_counts_for"]


@pytest.mark.parametrize(
    ("reviews", "expected"),
    [
        ([review("a"), review("b")], ("a", "b")),
        ([review("a"), review("a", "COMMENTED", 6)], ("a",)),
        ([review("a"), review("a", "CHANGES_REQUESTED", 6)], ()),
        ([review("a"), review("a", "DISMISSED", 6)], ()),
        ([review("a", "CHANGES_REQUESTED"), review("a", minutes=6)], ("a",)),
        ([review("a", commit=OLD)], ()),
        ([review("a", minutes=0)], ()),
        ([review("a", "approved")], ()),
    ],
)
def test_the_last_word_on_this_head(reviews: list[Review], expected: tuple[str, ...]) -> None:
    assert approvers(reviews, head_sha=HEAD, head_pushed_at=PUSHED) == expected
