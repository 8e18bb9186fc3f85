"""Which releases a sweep looks at: those that moved, and no other."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.domain.glance import Glance, PullGlance
from app.domain.policy import Policy, ReleasePolicy
from app.domain.release_glance import releases_in, with_open_pulls

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
A, B = "a" * 40, "b" * 40
POLICY = Policy(release=ReleasePolicy(into="main"))
PULL = PullGlance(7, "release-1", A, True, "main", True, "2026-11-30T00:00:00Z", "BLOCKED", None, None, False, False)
BRANCHES = {"main": B, "release-1": A, "release-2": A, "topic": A, "ticket/release-3": A}


def marks(
    pulls: tuple[PullGlance, ...] = (PULL,),
    branches: dict[str, str] | None = None,
    ledgers: dict[str, str] | None = None,
    now: datetime = NOW,
) -> dict[str, str]:
    glance = Glance({}, BRANCHES if branches is None else branches, pulls, {})
    return releases_in(glance, ledgers or {}, POLICY, "main", now)


def test_trunks_alone_are_marked_whatever_shows_them() -> None:
    assert marks().keys() == {"release-1", "release-2"}
    assert marks(branches={}, ledgers={"release-9": A}).keys() == {"release-1", "release-9"}
    assert marks((replace(PULL, own_repository=False),), branches={}) == {}
    assert with_open_pulls(Glance({}, BRANCHES, (PULL,), {}), marks()) == {"release-1"}


@pytest.mark.parametrize(
    "changed",
    [
        {"pulls": (replace(PULL, head_sha=B),)},
        {"pulls": (replace(PULL, base="elsewhere"),)},
        {"pulls": (replace(PULL, is_draft=False),)},
        {"pulls": (replace(PULL, updated_at="2026-11-30T00:00:01Z"),)},
        {"pulls": (replace(PULL, queued=True),)},
        {"pulls": (replace(PULL, auto_merge=True),)},
        {"pulls": (replace(PULL, checks="FAILURE"),)},
        {"pulls": (replace(PULL, review="APPROVED"),)},
        {"pulls": ()},
        {"pulls": (PULL, replace(PULL, number=8))},
        {"branches": BRANCHES | {"release-1": B}},
        {"branches": BRANCHES | {"main": A}},
        {"ledgers": {"release-1": B}},
        {"now": NOW + timedelta(hours=6)},
    ],
)
def test_whatever_may_change_a_release_changes_its_mark_and_no_other(changed: dict[str, Any]) -> None:
    before, after = marks(), marks(**changed)
    assert before["release-1"] != after["release-1"]
    assert before["release-2"] == after["release-2"]


def test_a_release_without_a_pull_request_is_left_alone_while_its_branch_stands_still() -> None:
    later = marks(branches=BRANCHES | {"main": A}, now=NOW + timedelta(days=3))
    assert later["release-2"] == marks()["release-2"]
