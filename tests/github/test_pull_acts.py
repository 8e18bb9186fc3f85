"""Who did what to a pull request: the App's own acts are told from those of people, also of people with its name."""

from typing import Any

import pytest

from app.domain.pull_acts import latest, undone_by_others
from app.github.pull_acts import ReviewRequests, Timeline, acts

BOT = {"__typename": "Bot", "login": "agent-recovery"}


def entry(kind: str, actor: Any = BOT, at: str = "2026-11-30T12:00:00Z", **fields: Any) -> dict[str, Any]:
    return {"__typename": kind, "id": f"{kind}-{at}", "createdAt": at, "actor": actor, **fields}


@pytest.mark.parametrize(
    ("actor", "viewer", "ours"),
    [
        (BOT, "agent-recovery[bot]", True),
        (BOT, "agent-recovery", True),
        (BOT, "Agent-Recovery[bot]", True),
        ({"__typename": "User", "login": "agent-recovery"}, "agent-recovery[bot]", False),
        ({"__typename": "Bot", "login": "other"}, "agent-recovery[bot]", False),
        (BOT, None, False),
        (None, "agent-recovery[bot]", False),
    ],
)
def test_whose_act_it_is(actor: Any, viewer: str | None, ours: bool) -> None:
    timeline = Timeline.model_validate({"nodes": [entry("ReadyForReviewEvent", actor)]})
    (act,) = acts(viewer, timeline)
    assert (act.ours, act.by) == (ours, actor["login"] if actor else None)
    assert act.who == (actor["login"] if actor else "somebody whose account is gone")


def test_acts_stand_in_the_order_in_which_they_were_done_whatever_list_they_came_in() -> None:
    clicks = Timeline.model_validate(
        {
            "nodes": [
                entry("ReadyForReviewEvent", at="2026-11-30T12:00:00Z"),
                entry("ConvertToDraftEvent", at="2026-11-30T12:00:00Z"),
            ]
        }
    )
    others = Timeline.model_validate(
        {
            "nodes": [
                entry("BaseRefChangedEvent", at="2026-11-30T11:00:00Z", currentRefName="release-2"),
                entry("UnlabeledEvent", {"__typename": "User", "login": "ann"}, label={"name": "Bug"}),
                entry("UnassignedEvent", assignee={"login": "bob"}),
                entry("UnassignedEvent", {"__typename": "User", "login": "ann"}, assignee=None),
                entry("ReviewRequestedEvent", requestedReviewer={"combinedSlug": "acme/core"}),
                entry("ReviewRequestRemovedEvent", requestedReviewer=None),
                {"__typename": "SomethingNew", "id": "x", "createdAt": "2026-11-30T12:00:00Z"},
            ]
        }
    )
    found = acts("agent-recovery[bot]", clicks, others)
    assert [act.kind for act in found[:3]] == ["base", "ready", "draft"]
    assert [(act.kind, act.what) for act in found[3:]] == [
        ("unlabeled", "Bug"),
        ("unassigned", "bob"),
        ("unassigned", ""),
        ("review_requested", "acme/core"),
        ("review_removed", ""),
    ]
    newest = latest(found, "ready", "draft")
    assert newest is not None
    assert newest.kind == "draft"
    assert latest((), "base") is None
    assert undone_by_others(found, "unlabeled") == {"bug"}
    assert undone_by_others(found, "unassigned") == {""}


def test_who_is_asked_for_a_review() -> None:
    nodes = [{"requestedReviewer": r} for r in ({"login": "ann"}, {"combinedSlug": "acme/core"}, None, {})]
    assert ReviewRequests.model_validate({"nodes": nodes}).names() == ("ann", "acme/core")
