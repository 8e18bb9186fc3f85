"""What follows a merge, as a table: which step is due at which state of things, and what becomes of the branch."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from landing_scene import HEAD, READY, READY_PULL, READY_WORLD, situation

from app.domain.landing_actions import CloseIssue, NoteMerge, Nudge, TellOfMerge
from app.domain.landing_tail import Goes, Stays, landed_branch, tail
from app.domain.life_cycle import Ending
from app.domain.merge_seen import AfterMerge
from app.domain.observation import Branch
from app.domain.plan import Wait
from app.domain.record import Fence, Landing, Merged
from app.domain.situation import Situation
from app.domain.surroundings import Asked, OtherPull, Surroundings

NOW = situation().now
MERGE_SHA, OTHER = "d" * 40, "e" * 40
DONE = Merged(pr=57, head_sha=HEAD, base="release-1", merge_sha=MERGE_SHA, at=NOW)
AFTER = AfterMerge(DONE, on_trunk=True)
ISSUE = READY_WORLD.issue
assert ISSUE is not None
CLOSED = replace(ISSUE, state="CLOSED", state_reason="COMPLETED")
BRANCH = "ticket/42-parser"


def pull(head: str, number: int = 60, **fields: Any) -> OtherPull:
    known = {"number": number, "state": "OPEN", "is_draft": False, "head": head, "head_sha": OTHER, "base": BRANCH}
    return OtherPull(**{**known, "own_repository": True, **fields})  # type: ignore[arg-type]


def scene(
    after: AfterMerge | None = AFTER,
    *,
    landing: Landing | None = None,
    closed: bool = False,
    dependents: tuple[OtherPull, ...] = (),
    **record: Any,
) -> Situation:
    s = situation(
        record={"landing": landing or Landing(), **record},
        pull={"state": "MERGED"},
        world={"issue": CLOSED if closed else ISSUE, "trunk": Branch("release-1", MERGE_SHA)},
        around={"dependents": dependents},
    )
    return replace(s, after_merge=after)


NOTED = Landing(merged=DONE)
TICKET, CHILD, NOBODY = pull("ticket/43-next"), pull("ticket/42.docs-1"), pull("by-hand")
ELSEWHERE = AfterMerge(DONE.model_copy(update={"base": "main"}), on_trunk=False)


@pytest.mark.parametrize(
    ("s", "steps"),
    [
        (scene(), [NoteMerge, CloseIssue]),
        (scene(landing=NOTED), [CloseIssue]),
        (scene(landing=NOTED, closed=True), Ending),
        (scene(closed=True), [NoteMerge, Wait]),
        (scene(landing=NOTED.model_copy(update={"issue_closed": True})), Ending),
        (scene(AfterMerge(DONE, True, closed_since=True)), [NoteMerge, Wait]),
        (scene(landing=NOTED, closed=True, dependents=(TICKET,)), [Nudge, Wait]),
        (scene(landing=NOTED, closed=True, dependents=(NOBODY,)), Ending),
        (scene(landing=NOTED, closed=True, dependents=(CHILD,)), Ending),
        (scene(None), [Wait]),
        (scene(None, closed=True), None),
        (scene(AfterMerge(DONE, on_trunk=False)), [Wait]),
        (scene(ELSEWHERE), [TellOfMerge, Wait]),
        (scene(ELSEWHERE, closed=True), None),
        (scene(landing=Landing(incident="into main")), [TellOfMerge, Wait]),
        (scene(landing=Landing(incident="into main"), closed=True), None),
        (scene(child="docs-1"), None),
        (scene(status="landed"), None),
        (situation(), None),
    ],
)
def test_which_step_is_due(s: Situation, steps: Any) -> None:
    found = tail(s)
    if isinstance(steps, list):
        assert isinstance(found, tuple)
        assert [type(step) for step in found] == steps
    else:
        assert found is None if steps is None else isinstance(found, steps)


def test_only_the_tickets_own_issue_is_ever_closed() -> None:
    s = scene()
    hostile = replace(READY_PULL, state="MERGED", title="fixes #13", body="Ticket: #42\n\nThis does not fix #13")
    s = replace(s, observation=replace(s.observation, pulls=(hostile,)))
    assert [a.number for a in tail(s) or () if isinstance(a, CloseIssue)] == [42]  # type: ignore[union-attr]


def test_a_merge_that_does_not_show_is_looked_at_again() -> None:
    (wait,) = tail(scene(None))  # type: ignore[misc]
    assert isinstance(wait, Wait)
    assert wait.until == NOW + timedelta(minutes=1)


@pytest.mark.parametrize(
    ("changes", "fate"),
    [
        ({}, Goes),
        ({"branches": ()}, None),
        ({"branches": (Branch(BRANCH, OTHER),)}, Stays),
        ({"branches": (Branch(BRANCH, OTHER),), "fence": Fence(sha=OTHER, on=HEAD, because="x")}, Goes),
        ({"branches": (Branch(BRANCH, OTHER),), "fence": Fence(sha=OTHER, on="f" * 40, because="x")}, Stays),
        ({"after": AfterMerge(DONE, on_trunk=False)}, Stays),
        ({"after": None}, Stays),
        ({"landing": Landing(branch_kept="protected branch hook declined")}, Stays),
        ({"landing": Landing(branch_removed=True)}, Stays),
        ({"around": Surroundings(dependents=(NOBODY,))}, Stays),
        ({"around": Surroundings(dependents=(TICKET,))}, Stays),
        ({"around": Surroundings(dependents=(CHILD,))}, Goes),
        ({"pulls": (READY_PULL, replace(READY_PULL, number=58, base="release-2"))}, Stays),
        ({"trunk": BRANCH}, Stays),
        ({"default_branch": BRANCH}, Stays),
        ({"around": Surroundings(asked=Asked(into=BRANCH))}, Stays),
    ],
)
def test_the_branch_goes_only_where_nothing_is_lost(changes: dict[str, Any], fate: type | None) -> None:
    s = scene(landing=NOTED, closed=True)
    merged = replace(READY_PULL, state="MERGED")
    others = tuple(p for p in changes.get("pulls", ()) if p.number != 57)
    seen = {k: v for k, v in changes.items() if k in ("branches", "around", "default_branch")}
    observation = replace(s.observation, **{**seen, "pulls": (merged, *others)})
    fields = {k: v for k, v in changes.items() if k in ("landing", "fence")}
    if "trunk" in changes:
        assert READY.work is not None
        fields["work"] = READY.work.model_copy(update={"trunk": changes["trunk"]})
    found = landed_branch(s.record.model_copy(update=fields), observation, changes.get("after", AFTER))
    assert found is None if fate is None else isinstance(found, fate)
