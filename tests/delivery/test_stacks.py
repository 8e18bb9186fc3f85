"""Stacks: what stands on what, what that keeps from landing, what moves when the one below has landed."""

from dataclasses import replace
from typing import Any

import pytest
from landing_scene import READY, READY_PULL, situation

from app.domain.checkpoint import Checkpoint
from app.domain.compose_brief import compose
from app.domain.criteria import criteria
from app.domain.dependents import dependents_to_move
from app.domain.handoff_comment import render
from app.domain.landing import Land, NotYet, decide_landing
from app.domain.landing_actions import EditBase
from app.domain.landing_blocker import BlockerCode as C
from app.domain.landing_told import lines, standing_in_the_way
from app.domain.lease import liveness
from app.domain.plan import NotePredecessor
from app.domain.record import Permit, Target
from app.domain.recovery_steps import findings
from app.domain.recovery_view import RecoveryView
from app.domain.situation import Situation
from app.domain.stack_gate import gating
from app.domain.stack_graph import Graph, graph_of
from app.domain.stack_moves import pin_asked, stack_moves
from app.domain.surroundings import Asked, Distance, Linked, OtherPull, Predecessor, Tip
from app.domain.undermined import undermined

S, NOW = "a" * 40, "b" * 40
BRANCH, TRUNK = READY.work.branch, READY.work.trunk  # type: ignore[union-attr]
BELOW = "ticket/41-lexer"
ON, OFF = Distance(3, 0), Distance(3, 2)
"""Holds it; lacks two commits of it."""


def other(number: int, head: str, base: str, state: str = "OPEN", sha: str = S, own: bool = True) -> OtherPull:
    return OtherPull(number, state, False, head, sha, base, own)  # type: ignore[arg-type]


def issue(state: str = "OPEN", because: str | None = None, *branches: Tip, pulls: tuple[OtherPull, ...] = ()) -> Any:
    return Predecessor(41, "issue", state, because, branches=branches, pulls=pulls)


def of_pull(state: str = "OPEN", base: str = TRUNK, sha: str = S) -> Predecessor:
    return Predecessor(51, "pull", state, pull=other(51, BELOW, base, state, sha))


def linked(number: int, *waits_for: Linked, state: str = "OPEN", repository: str | None = None) -> Linked:
    return Linked(number, state, repository, waits_for)


def shape(
    base: str = TRUNK,
    *,
    pinned: Any = None,
    number: int | None = None,
    trunk: Distance | None = None,
    holds: Distance | None = ON,
    record: dict[str, Any] | None = None,
    more_pulls: tuple[Any, ...] = (),
    **around: Any,
) -> Situation:
    """Ticket 42 with its PR onto `base`. `pinned`: what its recorded predecessor looks like now."""
    number = number if number is not None else pinned.number if pinned is not None else None
    noted = {"checkpoint": Checkpoint(predecessor_issue_or_pr=number, predecessor_sha=S if number else None)}
    seen = {
        "asked": Asked(predecessor=number, predecessor_sha=S if number else None),
        "predecessor": pinned,
        "trunk_over_predecessor": trunk,
        "branch_over_predecessor": holds if number else None,
        **around,
    }
    pulls = (replace(READY_PULL, base=base), *more_pulls)
    return situation(record={**noted, **(record or {})}, around=seen, world={"pulls": pulls})


TIP = Tip(BELOW, S, None)
LATER = Tip(BELOW, NOW, None)
UNDER = other(51, BELOW, TRUNK)
MERGED = other(51, BELOW, TRUNK, "MERGED")

SHAPES: list[tuple[str, Situation, set[C]]] = [
    ("alone", shape(), set()),
    ("on a trunk of another name", shape("release-2"), set()),
    ("its base is the one below", shape(BELOW, below=(UNDER,)), {C.PREDECESSOR}),
    ("its base is the one below, which has no PR", shape(BELOW), {C.PREDECESSOR}),
    ("its base is the one below, which has landed", shape(BELOW, below=(MERGED,)), {C.PREDECESSOR}),
    ("the one below landed and is open again", shape(BELOW, below=(other(60, BELOW, TRUNK), MERGED)), {C.PREDECESSOR}),
    (
        "the one below went into the one under it",
        shape(BELOW, below=(other(51, BELOW, "ticket/40", "MERGED"),)),
        {C.PREDECESSOR},
    ),
    (
        "three storeys",
        shape(BELOW, below=(other(51, BELOW, "ticket/40"), other(50, "ticket/40", TRUNK))),
        {C.PREDECESSOR},
    ),
    ("pinned, by Issue, stands", shape(pinned=issue("OPEN", None, TIP), trunk=OFF), {C.PREDECESSOR}),
    ("pinned, by PR, stands", shape(pinned=of_pull(), trunk=OFF), {C.PREDECESSOR}),
    ("pinned and its base is the same one", shape(BELOW, pinned=of_pull(), below=(UNDER,), trunk=OFF), {C.PREDECESSOR}),
    ("pinned, moved on", shape(pinned=issue("OPEN", None, LATER), trunk=OFF), {C.STALE_BASE}),
    ("pinned PR, moved on", shape(pinned=of_pull(sha=NOW), trunk=OFF), {C.STALE_BASE}),
    (
        "pinned without a commit",
        shape(number=41, record={"checkpoint": Checkpoint(predecessor_issue_or_pr=41)}),
        {C.STALE_BASE},
    ),
    ("pinned to what is not there", shape(number=41), {C.STALE_BASE}),
    ("pinned PR closed unmerged", shape(pinned=of_pull("CLOSED"), trunk=OFF), {C.STALE_BASE}),
    ("pinned Issue given up", shape(pinned=issue("CLOSED", "NOT_PLANNED"), trunk=OFF), {C.STALE_BASE}),
    (
        "two branches below",
        shape(pinned=issue("OPEN", None, TIP, Tip("ticket/41", S, None)), trunk=OFF),
        {C.STALE_BASE},
    ),
    ("landed by merge, Issue", shape(pinned=issue("CLOSED", "COMPLETED"), trunk=ON), set()),
    ("landed by merge, PR", shape(pinned=of_pull("MERGED"), trunk=ON), set()),
    ("landed by merge, branch still there", shape(pinned=issue("OPEN", None, TIP), trunk=ON), set()),
    ("landed by merge after it moved on", shape(pinned=of_pull("MERGED", sha=NOW), trunk=ON), set()),
    ("squashed, PR", shape(pinned=of_pull("MERGED"), trunk=OFF), {C.UNDERMINED}),
    ("squashed, Issue, branch gone", shape(pinned=issue("CLOSED", "COMPLETED"), trunk=OFF), {C.UNDERMINED}),
    (
        "squashed, Issue, branch there",
        shape(pinned=issue("OPEN", None, TIP, pulls=(MERGED,)), trunk=OFF),
        {C.UNDERMINED},
    ),
    ("squashed after it moved on", shape(pinned=of_pull("MERGED", sha=NOW), trunk=OFF), {C.UNDERMINED}),
    (
        "squashed, and nobody knows what the branch holds",
        shape(pinned=of_pull("MERGED"), trunk=OFF, holds=None),
        {C.UNDERMINED},
    ),
    ("squashed, then rebased", shape(pinned=of_pull("MERGED"), trunk=OFF, holds=OFF), set()),
    ("squashed, then rebased, Issue", shape(pinned=issue("CLOSED", "COMPLETED"), trunk=OFF, holds=OFF), set()),
    (
        "squashed and the base not moved yet",
        shape(BELOW, pinned=of_pull("MERGED"), below=(MERGED,), trunk=OFF),
        {C.UNDERMINED},
    ),
    ("pinned PR went into the one under it", shape(pinned=of_pull("MERGED", "ticket/40"), trunk=OFF), {C.STALE_BASE}),
    ("went into the one under it, which landed", shape(pinned=of_pull("MERGED", "ticket/40"), trunk=ON), set()),
    ("a circle of two PRs", shape(BELOW, below=(other(51, BELOW, BRANCH),)), {C.CIRCLE}),
    (
        "a circle of three PRs",
        shape(BELOW, below=(other(51, BELOW, "ticket/40"), other(50, "ticket/40", BRANCH))),
        {C.CIRCLE},
    ),
    (
        "a circle below it",
        shape(BELOW, below=(other(51, BELOW, "ticket/40"), other(50, "ticket/40", BELOW))),
        {C.CIRCLE},
    ),
    ("a circle of two Issues", shape(blocked_by=(linked(7),), blocking=(linked(7),)), {C.CIRCLE, C.BLOCKED_BY}),
    (
        "a circle of three Issues",
        shape(blocked_by=(linked(7, linked(8)),), blocking=(linked(8),)),
        {C.CIRCLE, C.BLOCKED_BY},
    ),
    ("a circle of a PR and an Issue", shape(BELOW, below=(UNDER,), blocking=(linked(41),)), {C.CIRCLE}),
    (
        "a circle that a closed Issue opened",
        shape(blocked_by=(linked(7, state="CLOSED"),), blocking=(linked(7),)),
        set(),
    ),
    (
        "another repository's Issue of that number",
        shape(blocked_by=(linked(7, repository="a/b"),), blocking=(linked(7),)),
        {C.BLOCKED_BY},
    ),
    (
        "two predecessors",
        shape(
            BELOW,
            pinned=Predecessor(40, "issue", "OPEN", branches=(Tip("ticket/40", S, None),)),
            trunk=OFF,
            below=(UNDER,),
        ),
        {C.SEVERAL_PREDECESSORS, C.PREDECESSOR},
    ),
    (
        "two bases",
        shape(BELOW, below=(UNDER,), more_pulls=(replace(READY_PULL, number=58, base="ticket/40"),)),
        {C.SEVERAL_PREDECESSORS, C.PREDECESSOR},
    ),
    (
        "two that stand on one another",
        shape(
            BELOW,
            pinned=Predecessor(40, "issue", "OPEN", branches=(Tip("ticket/40", S, None),)),
            trunk=OFF,
            below=(other(51, BELOW, "ticket/40"),),
        ),
        {C.PREDECESSOR},
    ),
    (
        "one below and one that landed long ago",
        shape(BELOW, pinned=Predecessor(40, "issue", "CLOSED", "COMPLETED"), trunk=ON, below=(UNDER,)),
        {C.PREDECESSOR},
    ),
    ("blocked by two", shape(blocked_by=(linked(7), linked(8))), {C.BLOCKED_BY}),
    ("open parts", shape(sub_issues=(linked(7), linked(8, state="CLOSED"))), {C.SUB_ISSUES}),
    ("a fork's branch of that name below", shape(BELOW, below=(other(51, BELOW, BRANCH, own=False),)), {C.PREDECESSOR}),
    ("a name that only looks like a ticket's", shape("tickets/41"), {C.NOT_LANDABLE}),
]


@pytest.mark.parametrize(("s", "expected"), [(s, e) for _, s, e in SHAPES], ids=[n for n, _, _ in SHAPES])
def test_a_shape(s: Situation, expected: set[C]) -> None:
    decided = decide_landing(s)
    found = {b.code for b in decided.blockers} if isinstance(decided, NotYet) else set()
    assert found - {C.WRONG_BASE} == expected
    assert bool(found) is not isinstance(decided, Land)


def test_a_stack_member_is_named_with_all_who_take_part() -> None:
    by_name = {name: s for name, s, _ in SHAPES}
    told = {
        name: gating(s.record, s.observation)[0].reason for name, s in by_name.items() if name.startswith("a circle of")
    }
    assert told["a circle of three PRs"] == "tickets wait for each other in a circle: #40, then #42, then #41, then #40"
    assert "#7, then #42, then #7" in told["a circle of two Issues"]
    several = by_name["two predecessors"]
    assert "#40 and #41" in gating(several.record, several.observation)[0].reason


def test_a_child_has_no_stack() -> None:
    s = shape(BELOW, below=(other(51, BELOW, BRANCH),), record={"child": "docs-1"})
    assert gating(s.record, s.observation) == ()
    assert (undermined(s.record, s.observation), list(stack_moves(s.record, s.observation))) == (None, [])


@pytest.mark.parametrize("name", [name for name, _, codes in SHAPES if C.UNDERMINED in codes])
def test_a_stale_child_is_told_the_exact_command(name: str) -> None:
    s = next(s for n, s, _ in SHAPES if n == name)
    stale = undermined(s.record, s.observation)
    assert stale is not None
    assert stale.command == ("git", "rebase", "--onto", f"origin/{TRUNK}", S, BRANCH)
    (blocker,) = gating(s.record, s.observation)
    assert (blocker.code, blocker.command) == (C.UNDERMINED, stale.command)


@pytest.mark.parametrize("status", ["working", "ready"])
def test_the_command_stands_in_the_brief_and_in_the_handoff_comment(status: str) -> None:
    s = shape(pinned=of_pull("MERGED"), trunk=OFF, record={"status": status})
    blockers = standing_in_the_way(s.record, s.observation, s.policy, s.head, s.landing)
    line = f"`git rebase --onto origin/{TRUNK} {S} {BRANCH}`"
    assert line in render(s.record, s.head, payload="{}", seal="seal", blockers=blockers)
    holder = liveness(s.record, s.policy, now=s.now)
    view = RecoveryView(s.record, s.observation, s.policy, holder, s.head, landing=s.landing)
    argv = [c.argv for c in compose(view, findings=findings(view), criteria=criteria(view), claim=None).commands]
    assert ("git", "rebase", "--onto", f"origin/{TRUNK}", S, BRANCH) in argv


@pytest.mark.parametrize(
    ("below", "met", "words"),
    [(UNDER, True, "with the branch of #41 as base"), (MERGED, False, "its base is not the recorded trunk")],
)
def test_a_stacked_pull_has_the_right_base_until_the_one_below_has_landed(
    below: OtherPull, met: bool, words: str
) -> None:
    s = shape(BELOW, pinned=of_pull(), below=(below,))
    holder = liveness(s.record, s.policy, now=s.now)
    judged = criteria(RecoveryView(s.record, s.observation, s.policy, holder, s.head, landing=s.landing))[2]
    assert (judged.met, words in judged.reason) == (met, True)


def test_a_command_with_a_strangers_signs_is_shown_as_text() -> None:
    work = READY.work.model_copy(update={"branch": "ticket/42-`x`&y"})  # type: ignore[union-attr]
    s = shape(pinned=of_pull("MERGED"), trunk=OFF, record={"status": "working", "work": work})
    (line,) = lines(standing_in_the_way(s.record, s.observation, s.policy, s.head, s.landing))
    assert "`x`" not in line.replace("\\`", "")
    assert "&amp;y" in line


@pytest.mark.parametrize("name", [name for name, _, codes in SHAPES if C.UNDERMINED not in codes])
def test_nothing_else_is_stale(name: str) -> None:
    s = next(s for n, s, _ in SHAPES if n == name)
    assert undermined(s.record, s.observation) is None


MOVES: list[tuple[str, Situation, list[type]]] = [
    ("alone", shape(), []),
    ("not landed", shape(BELOW, pinned=of_pull(), below=(UNDER,)), []),
    ("landed", shape(BELOW, pinned=of_pull("MERGED"), below=(MERGED,), trunk=ON), [EditBase]),
    (
        "squashed: the base is moved all the same",
        shape(BELOW, pinned=of_pull("MERGED"), below=(MERGED,), trunk=OFF),
        [EditBase],
    ),
    ("landed elsewhere", shape(BELOW, pinned=of_pull("MERGED"), below=(other(51, BELOW, "release-2", "MERGED"),)), []),
    (
        "landed in the one under it",
        shape(BELOW, pinned=of_pull("MERGED"), below=(other(51, BELOW, "ticket/40", "MERGED"),)),
        [],
    ),
    ("a newer PR stands", shape(BELOW, pinned=of_pull(), below=(other(60, BELOW, TRUNK), MERGED)), []),
    ("nothing is known below", shape(BELOW, pinned=of_pull()), []),
    ("on another branch that is no ticket's", shape("feature", below=(other(51, "feature", TRUNK, "MERGED"),)), []),
]


@pytest.mark.parametrize(("s", "expected"), [(s, e) for _, s, e in MOVES], ids=[n for n, _, _ in MOVES])
def test_the_base_moves_when_the_one_below_has_landed(s: Situation, expected: list[type]) -> None:
    moves = list(stack_moves(s.record, s.observation))
    assert [type(m) for m in moves] == expected
    for move in moves:
        assert isinstance(move, EditBase)
        assert (move.number, move.base_from, move.base_to) == (57, BELOW, TRUNK)


@pytest.mark.parametrize("kind", ["merge", "enqueue"])
def test_the_base_stands_still_while_a_merge_may_come(kind: Any) -> None:
    permit = Permit(id="1", kind=kind, target=Target(number=57), author="a", round="r")
    s = shape(BELOW, pinned=of_pull("MERGED"), below=(MERGED,), trunk=ON, record={"open": (permit,)})
    assert list(stack_moves(s.record, s.observation)) == []


def looked_further(s: Situation, holds: Distance | None, trunk: Distance | None) -> Situation:
    further = pin_asked(s.record, s.observation)
    assert further is not None
    around = replace(s.observation.around, asked=further, branch_over_predecessor=holds, trunk_over_predecessor=trunk)
    return replace(s, observation=replace(s.observation, around=around))


PIN = NotePredecessor(51, S, "the PR's base is the branch of another ticket")
PINS: list[tuple[str, OtherPull, Distance | None, Distance | None, list[Any]]] = [
    ("it holds it", UNDER, ON, OFF, [PIN]),
    ("it does not hold it", UNDER, OFF, OFF, []),
    ("not told", UNDER, None, None, []),
    ("landed, held", MERGED, ON, ON, [PIN, EditBase]),
    ("squashed, held: the pin comes with the move", MERGED, ON, OFF, [PIN, EditBase]),
    ("landed, not held, all of it on the trunk", MERGED, OFF, ON, [EditBase]),
    ("squashed, not held: nothing tells which commits were whose", MERGED, OFF, OFF, []),
]


@pytest.mark.parametrize(("below", "holds", "trunk", "expected"), [p[1:] for p in PINS], ids=[p[0] for p in PINS])
def test_a_predecessor_that_only_the_base_tells_is_pinned(
    below: OtherPull, holds: Distance | None, trunk: Distance | None, expected: list[Any]
) -> None:
    s = looked_further(shape(BELOW, below=(below,)), holds, trunk)
    moves = list(stack_moves(s.record, s.observation))
    assert [m if isinstance(m, NotePredecessor) else type(m) for m in moves] == expected
    assert pin_asked(s.record, s.observation) is None


@pytest.mark.parametrize("s", [shape(), shape(BELOW, pinned=of_pull(), below=(UNDER,)), shape(BELOW)])
def test_nothing_further_is_asked_where_it_is_known_or_cannot_be(s: Situation) -> None:
    assert pin_asked(s.record, s.observation) is None


def test_dependents_and_who_moves_them() -> None:
    onto = (
        other(61, "ticket/43", BRANCH),
        other(62, "feature", BRANCH),
        other(63, "ticket/44", BRANCH, own=False),
        other(64, "ticket/42.docs-1", BRANCH),
        other(65, "ticket/45", BRANCH, "CLOSED"),
    )
    s = shape(dependents=onto)
    found = [(d.pull.number, str(d.ticket) if d.ticket else None, d.to) for d in dependents_to_move(s.observation)]
    assert found == [(61, "43", TRUNK), (62, None, None), (63, None, None), (64, "42.docs-1", None)]
    gone = replace(s.observation, trunk=None)
    assert [d.to for d in dependents_to_move(gone)] == [None] * 4


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ([], ()),
        ([(42, 41), (41, 40)], ()),
        ([(42, 41), (42, 40), (41, 39), (40, 39)], ()),
        ([(42, 41), (41, 42)], (41, 42)),
        ([(42, 41), (41, 40), (40, 41)], (40, 41)),
        ([(42, 41), (41, 40), (40, 39), (39, 42)], (39, 42, 41, 40)),
        ([(41, 40), (40, 41)], ()),
    ],
)
def test_circles(edges: list[tuple[int, int]], expected: tuple[int, ...]) -> None:
    assert Graph(frozenset(edges)).circle(42) == expected


def test_a_circle_among_many_costs_little() -> None:
    edges = {(a, b) for a in range(1, 80) for b in range(a)}
    graph = Graph(frozenset(edges))
    assert graph.circle(79) == ()
    assert graph.reaches(79, 0)


def test_the_graph_holds_what_is_seen_and_no_more() -> None:
    s = shape(
        BELOW,
        below=(UNDER, other(50, "ticket/40", TRUNK, "MERGED")),
        dependents=(other(61, "ticket/43", BRANCH), other(62, "feature", BRANCH)),
        blocked_by=(linked(7, linked(8), linked(9, state="CLOSED")),),
    )
    assert graph_of(s.record, s.observation).edges == {(42, 41), (43, 42), (42, 7), (7, 8)}
