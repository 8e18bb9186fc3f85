"""Permits of a landing: what each answer makes of them, when one is withdrawn, what excludes a merge. Tables."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from landing_scene import HEAD, READY, READY_PULL, situation

from app.controller.round import _given_up
from app.domain import landing_steps
from app.domain.decide import decide
from app.domain.fencing import AtPublished, Foreign
from app.domain.landing_actions import EditBase, Enqueue, FenceOff, NoteDequeued, NoteUpdate, UpdateBranch
from app.domain.landing_actions import Merge as MergeAction
from app.domain.landing_settled import Accepted, Merge, Moot
from app.domain.landing_steps import UPDATE_FORGOTTEN
from app.domain.permits import opened
from app.domain.plan import Adopt, ForgetRefusals, Plan, Wait, target_of
from app.domain.record import Merged, Permit, Record, Round, Target
from app.domain.round_notes import noted
from app.domain.settling import Declined, Made, NotSent, Unknown, settle

NOW = situation().now
BASE = READY_PULL.base
OTHER = "e" * 40
MERGE = Target(number=57, head_sha=HEAD, base=BASE, method="merge")
PLACE = Target(number=57, head_sha=HEAD, base=BASE)
ROUND = Round(id="r", author="me.1", tries=0, ttl_s=60, opened_at=NOW)


def permit(kind: str = "merge", target: Target | None = None, **fields: Any) -> Permit:
    made = target or (MERGE if kind == "merge" else PLACE)
    return Permit(**{"id": kind, "kind": kind, "target": made, "author": "me.1", "round": "r"} | fields)


def with_open(*permits: Permit, **fields: Any) -> dict[str, Any]:
    return {"open": permits, "round": ROUND} | fields


def merged(**fields: Any) -> Merged:
    return Merged(**{"pr": 57, "head_sha": HEAD, "base": BASE, "merge_sha": OTHER, "at": NOW} | fields)


def record(*permits: Permit) -> Record:
    return READY.model_copy(update=with_open(*permits))


SENT, LOST = permit(), permit(unanswered=True, state="unknown")


@pytest.mark.parametrize(
    ("standing", "result", "state", "status"),
    [
        (SENT, Merge(SENT, merged()), None, "ready"),
        (LOST, Merge(LOST, merged()), None, "ready"),
        (SENT, Merge(SENT, merged(base="main")), None, "held"),
        (SENT, Merge(SENT, merged(base="main", head_sha=OTHER)), None, "ready"),
        (SENT, Unknown(SENT), "unknown", "ready"),
        (SENT, Declined(SENT, "a rule", NOW), "blocked", "ready"),
        (LOST, Declined(LOST, "a rule", NOW), "unknown", "ready"),
        (SENT, Moot(SENT, "another head", NOW), None, "ready"),
        (LOST, Moot(LOST, "another head", NOW), "unknown", "ready"),
        (SENT, NotSent(SENT), None, "ready"),
        (LOST, NotSent(LOST), "unknown", "ready"),
        (SENT, NotSent(permit(author="other.1")), "fired", "ready"),
        (SENT, Accepted(SENT), "accepted", "ready"),
    ],
)
def test_only_its_end_closes_a_merge_that_may_be_under_way(
    standing: Permit, result: Any, state: str | None, status: str
) -> None:
    after = settle(record(standing), [result])
    assert (after.open[0].state if after.open else None, after.status) == (state, status)
    assert (after.landing.incident is not None) == (status == "held")


def test_a_merge_ends_every_permit_to_merge_and_nothing_else() -> None:
    close = permit("issue_close", Target(number=42))
    after = settle(record(SENT, permit("enqueue", id="e"), close), [Merge(SENT, merged())])
    assert (after.open, after.landing.merged) == ((close,), merged())
    assert settle(after, [Made(close, 42)]).landing.issue_closed


def test_refusals_that_close_nothing_are_counted_so_that_the_next_send_waits_longer() -> None:
    once = settle(record(LOST), [Declined(LOST, "no", NOW)])
    twice = settle(once, [Declined(once.open[0], "no", NOW)])
    assert (once.open[0].refusals, twice.open[0].refusals) == (0, 1)


def test_a_new_permit_takes_the_place_of_an_accepted_one_of_its_kind() -> None:
    before = record(permit("branch_update", state="accepted"), permit("enqueue", state="accepted"))
    after = opened(before, (permit("branch_update", id="new"),), round_id="s", author="me.2", now=NOW)
    assert {p.id for p in after.open} == {"new", "enqueue"}


OF_LANDING = (MergeAction, UpdateBranch, Enqueue, Adopt, FenceOff, NoteDequeued, ForgetRefusals)


def first(plan: Plan) -> Any:
    """What is done about the landing, or what is waited for."""
    waits = (a for a in plan if isinstance(a, Wait))
    return next((a for a in plan if isinstance(a, OF_LANDING)), next(waits, None))


BEHIND = {"rules": {"strict": True}, "evidence": {"merge_state": "BEHIND"}}
MOVED = {"sha": OTHER, "head_after": OTHER}


@pytest.mark.parametrize(
    ("permits", "changes", "wanted"),
    [
        ((), {}, MergeAction),
        ((), BEHIND, UpdateBranch),
        ((), {"rules": {"queue": True}}, Enqueue),
        ((LOST,), {}, Adopt),
        ((LOST,), {"evidence": {"review": "CHANGES_REQUESTED"}}, FenceOff),
        ((LOST,), {"looked": False}, FenceOff),
        ((LOST,), BEHIND, FenceOff),
        ((LOST,), {"evidence": {"mergeable": "UNKNOWN"}}, Wait),
        ((LOST,), {"pull": {"head_sha": OTHER}, "head": AtPublished(OTHER, True), "checks": MOVED}, FenceOff),
        ((permit("enqueue", unanswered=True, state="unknown"),), {"evidence": {"queued": True}}, Adopt),
        ((permit("enqueue", state="accepted"),), {"evidence": {"queued": True}}, Wait),
        ((permit("enqueue", state="accepted"),), {}, NoteDequeued),
        ((permit("enqueue", state="accepted"),), {"looked": False}, FenceOff),
        (
            (permit("enqueue", state="accepted"),),
            {"evidence": {"queued": True, "review": "CHANGES_REQUESTED"}},
            FenceOff,
        ),
        (
            (permit("enqueue", state="accepted"),),
            {"pull": {"head_sha": OTHER}, "head": AtPublished(OTHER, True)},
            ForgetRefusals,
        ),
        ((permit("branch_update", state="accepted"),), BEHIND, Wait),
        (
            (permit("branch_update", state="accepted"),),
            {"head": Foreign(HEAD, OTHER), "looked": False},
            ForgetRefusals,
        ),
        ((permit("base_edit", Target(number=57, base="x"), state="blocked", unanswered=True),), {}, ForgetRefusals),
    ],
)
def test_what_comes_next(permits: tuple[Permit, ...], changes: dict[str, Any], wanted: type) -> None:
    assert isinstance(first(decide(situation(record=with_open(*permits), **changes))), wanted)


def test_a_merge_that_a_queue_refused_becomes_a_place_in_it() -> None:
    told = permit(state="blocked", reason="Changes must be made through the merge queue", refused_at=NOW)
    plan = decide(situation(record=with_open(told)))
    assert [type(a) for a in plan][-1] is Enqueue


@pytest.mark.parametrize(
    ("merge", "enqueue", "sent"),
    [
        ("Changes must be made through the merge queue", "a rule", ["merge", "enqueue", "enqueue", "enqueue"]),
        (
            "Changes must be made through the merge queue",
            "The base does not have a merge queue",
            ["merge", "enqueue", "merge", "merge"],
        ),
        ('Required status check "merge queue" is expected.', "", ["merge", "merge", "merge"]),
    ],
)
def test_two_ways_to_merge_that_are_both_refused_are_not_tried_in_turn_for_ever(
    merge: str, enqueue: str, sent: list[str]
) -> None:
    s, tried = situation(), []
    for seconds in range(0, 900, 6):
        now = NOW + timedelta(seconds=seconds)
        s = replace(s, observation=replace(s.observation, now=now))
        plan = decide(s)
        permits = tuple(
            permit(kind, target, id=f"{kind}-{seconds}")
            for kind, target in (target_of(a) for a in plan if isinstance(a, MergeAction | Enqueue))
        )
        tried += [p.kind for p in permits]
        record = opened(noted(s.record, plan, now=now), permits, round_id="r", author="me.1", now=now)
        words = {"merge": merge, "enqueue": enqueue}
        s = replace(s, record=settle(record, [Declined(p, words[p.kind], now) for p in permits]))
    assert tried == sent


def test_a_base_that_may_still_be_edited_excludes_the_merge() -> None:
    edit = permit("base_edit", Target(number=57, base="x"), state="blocked", unanswered=True)
    assert not any(isinstance(a, MergeAction) for a in decide(situation(record=with_open(edit))))


@pytest.mark.parametrize(
    ("minutes", "waits"), [(0, True), (14, True), (16, False)], ids=["just asked", "not yet forgotten", "forgotten"]
)
def test_an_edit_of_the_base_that_github_never_answered_holds_the_merge_up_for_a_while(
    minutes: int, waits: bool
) -> None:
    edit = permit("base_edit", Target(number=57, base="x", base_from=BASE), unanswered=True, state="unknown")
    # Nobody wants it any more: who adopts it does not send it again, and does not call it done.
    given_up = settle(record(edit), [_given_up(edit)])
    assert [p.state for p in given_up.open] == ["accepted"]
    s = situation(record=with_open(*given_up.open))
    s = replace(s, observation=replace(s.observation, now=NOW + timedelta(minutes=minutes)))
    plan = decide(s)
    assert not any(isinstance(a, MergeAction) for a in plan)
    if waits:
        (wait,) = [a for a in plan if isinstance(a, Wait)]
        assert wait.until == NOW + UPDATE_FORGOTTEN
    else:
        assert isinstance(first(plan), ForgetRefusals)


def test_a_merge_that_may_still_come_is_withdrawn_before_its_base_is_edited() -> None:
    edit = EditBase(57, "release-2", BASE, "r")
    queued = permit("enqueue", state="accepted")
    found = landing_steps.excluded(situation(record=with_open(queued)), (edit,))
    assert isinstance(found, FenceOff)
    assert found.permits == (queued,)
    assert landing_steps.excluded(situation(record=with_open(queued)), ()) is None
    assert landing_steps.excluded(situation(), (edit,)) is None


def test_an_update_that_is_seen_is_written_down_before_anything_else() -> None:
    s = situation(record=with_open(permit("branch_update", state="accepted")), head=Foreign(HEAD, OTHER), looked=False)
    first_of_all, then = decide(replace(s, update=OTHER))
    assert first_of_all == NoteUpdate(OTHER, "the branch stands at the update that the App asked for")
    assert isinstance(then, Wait)
    assert then.until == NOW


def test_after_a_refusal_the_same_merge_waits_and_is_not_asked_for_at_once() -> None:
    refused = permit(state="blocked", reason="a rule", refused_at=NOW - timedelta(seconds=30))
    waits = [a for a in decide(situation(record=with_open(refused))) if isinstance(a, Wait)]
    assert [w.until for w in waits] == [NOW + timedelta(seconds=90)]
    again = permit(state="unknown", unanswered=True, refused_at=NOW - timedelta(seconds=30))
    (wait,) = decide(situation(record=with_open(again)))
    assert isinstance(wait, Wait)
    assert wait.until == NOW + timedelta(seconds=90)
