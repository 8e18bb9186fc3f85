"""Which tickets a sweep looks at: one row a change, and what is no change."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.domain.glance import AT_ONCE, EVERY, Glance, Mark, PullGlance, differing, longest_unseen, marks
from app.domain.ticket_id import Child, TicketId

DOCS = Child(42, "docs-1")
PULL = PullGlance(
    number=7,
    head="ticket/42-ripen",
    head_sha="a" * 40,
    own_repository=True,
    base="release-1",
    is_draft=False,
    updated_at="2026-11-30T12:00:00Z",
    merge_state="CLEAN",
    review=None,
    checks="SUCCESS",
    queued=False,
    auto_merge=False,
)
OVER = replace(PULL, number=9, head="43", base="ticket/42-ripen")
SEEN = Glance(
    ledgers={42: "1" * 40, DOCS: "2" * 40, 43: "3" * 40},
    branches={"ticket/42-ripen": "a" * 40, "43": "b" * 40, "release-1": "c" * 40, "feature": "d" * 40},
    pulls=(PULL, OVER),
    touched={},
)
TICKETS: tuple[TicketId, ...] = (42, DOCS, 43)


def after(**changes: Any) -> list[TicketId]:
    """The tickets that differ once the repository has changed so."""
    before = marks(SEEN, TICKETS, {})
    return differing(before, marks(replace(SEEN, **changes), TICKETS, before))


def pulls(**changes: Any) -> tuple[PullGlance, ...]:
    return (replace(PULL, **changes), OVER)


def with_branch(name: str, sha: str) -> Mapping[str, str]:
    return {**SEEN.branches, name: sha}


@pytest.mark.parametrize(
    ("changes", "differ"),
    [
        ({}, []),
        ({"ledgers": {**SEEN.ledgers, 43: "9" * 40}}, [43]),
        ({"ledgers": {**SEEN.ledgers, DOCS: "9" * 40}}, [42, DOCS]),
        ({"ledgers": {42: "1" * 40, 43: "3" * 40}}, [42, DOCS]),
        ({"branches": with_branch("ticket/42-ripen", "e" * 40)}, [42, 43]),
        ({"branches": with_branch("42", "e" * 40)}, [42]),
        ({"branches": with_branch("ticket/42.docs-1", "e" * 40)}, [DOCS]),
        ({"branches": with_branch("release-1", "e" * 40)}, []),
        ({"branches": with_branch("feature", "e" * 40)}, []),
        ({"pulls": pulls(head_sha="e" * 40)}, [42]),
        ({"pulls": pulls(base="release-2")}, [42]),
        ({"pulls": pulls(is_draft=True)}, [42]),
        ({"pulls": pulls(updated_at="2026-11-30T12:00:01Z")}, [42]),
        ({"pulls": pulls(review="APPROVED")}, [42]),
        ({"pulls": pulls(checks="FAILURE")}, [42]),
        ({"pulls": pulls(queued=True)}, [42]),
        ({"pulls": pulls(auto_merge=True)}, [42]),
        ({"pulls": pulls(merge_state="BEHIND")}, [42]),
        ({"pulls": pulls(merge_state="UNKNOWN")}, []),
        ({"pulls": ()}, [42, 43]),
        ({"pulls": (*SEEN.pulls, replace(PULL, number=10, own_repository=False))}, []),
        ({"pulls": (*SEEN.pulls, replace(PULL, number=10, head="dependabot/pip"))}, []),
        ({"touched": {43: "2026-11-30T12:00:00Z"}}, [43]),
        ({"touched": {77: "2026-11-30T12:00:00Z"}}, []),
    ],
)
def test_what_differs_is_looked_at(changes: dict[str, Any], differ: list[TicketId]) -> None:
    assert after(**changes) == differ


def test_a_lost_mark_differs() -> None:
    known = marks(SEEN, TICKETS, {})
    assert differing({}, known) == [42, DOCS, 43]
    assert differing({42: known[42]}, known) == [DOCS, 43]


def test_a_merge_state_of_a_draft_is_no_news() -> None:
    drafts = replace(SEEN, pulls=pulls(is_draft=True))
    before = marks(drafts, TICKETS, {})
    behind = replace(SEEN, pulls=pulls(is_draft=True, merge_state="BEHIND"))
    assert differing(before, marks(behind, TICKETS, before)) == []


def test_what_was_known_before_github_forgot_it_still_counts() -> None:
    before = marks(SEEN, TICKETS, {})
    between = marks(replace(SEEN, pulls=pulls(merge_state="UNKNOWN")), TICKETS, before)
    assert differing(between, marks(SEEN, TICKETS, between)) == []
    assert differing(between, marks(replace(SEEN, pulls=pulls(merge_state="DIRTY")), TICKETS, between)) == [42]


def test_a_merge_state_that_becomes_known_is_no_news() -> None:
    before = marks(replace(SEEN, pulls=pulls(merge_state="UNKNOWN")), TICKETS, {})
    after = marks(SEEN, TICKETS, before)
    assert differing(before, after) == []
    assert differing(after, marks(replace(SEEN, pulls=pulls(merge_state="BEHIND")), TICKETS, after)) == [42]


def test_a_touch_is_news_once() -> None:
    once = marks(replace(SEEN, touched={43: "2026-11-30T12:00:00Z"}), TICKETS, {})
    again: tuple[dict[TicketId, str], ...] = ({}, {43: "2026-11-30T12:00:00Z"}, {43: "2026-11-30T11:00:00Z"})
    for touched in again:
        assert differing(once, marks(replace(SEEN, touched=touched), TICKETS, once)) == []


def test_those_unseen_for_longest_have_their_turn() -> None:
    now = datetime(2026, 11, 30, 12, tzinfo=UTC)
    looked: dict[TicketId, datetime] = {n: now - EVERY - timedelta(minutes=n) for n in range(1, 9)}
    looked[99] = now - EVERY + timedelta(seconds=1)
    assert longest_unseen(looked, now) == [8, 7, 6][:AT_ONCE]
    assert longest_unseen({99: looked[99]}, now) == []


def test_marks_are_of_the_tickets_that_are_asked_about() -> None:
    assert marks(SEEN, [43], {}).keys() == {43}
    assert marks(SEEN, [50], {})[50] == Mark(marks(SEEN, [51], {})[51].seen)
