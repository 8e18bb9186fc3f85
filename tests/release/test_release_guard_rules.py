"""What the guard shows of a commit: red until exactly this commit is authorized, never neutral, skipped or missing."""

from dataclasses import replace
from typing import Any

import pytest
from release_scene import HEAD, LEAD, NOW, OTHER, PULL, TRUNK, policy

from app.domain.authorization import Authorized, NotYet
from app.domain.policy import Policy
from app.domain.pull_class import Ground, Refs
from app.domain.release_external_id import (
    NOT_A_RELEASE,
    UNBORN,
    ReleaseWitness,
    digest_of_branch,
    of_branch,
    witness,
    witnesses_in,
)
from app.domain.release_guard import BORN, GuardAnswer, GuardedHead, GuardPull, answer, verdict_on
from app.domain.release_observation import GuardRun

GROUND = Ground("main", "main", ("release-*",))
OPEN, EXCLUSIVE = policy(), policy(exclusive=True)
EXCEPT = Policy.model_validate({"release": {"exclusive": True}, "main_exceptions": ["hotfix"]})
YES = Authorized(PULL, "main", HEAD, (LEAD,), ("5001",), NOW)
NO = NotYet(f"nobody has authorized {HEAD}", "somebody authorizes it")

ONLY, UNKNOWN, RED = "Only releases go into this branch", "Not known what this brings", "Not authorized"


def release(number: int = PULL, head: str = TRUNK, **changes: Any) -> GuardPull:
    return replace(GuardPull(number, Refs(head, "main", True), HEAD), **changes)


def other(head: str = "feature", number: int = 20, own: bool = True) -> GuardPull:
    return GuardPull(number, Refs(head, "main", own), HEAD)


TABLE: list[tuple[str, tuple[GuardPull, ...] | None, dict[int, Any], Policy, str, str]] = [
    ("nobody authorized it", (release(),), {PULL: NO}, OPEN, "action_required", RED),
    ("nobody looked", (release(),), {}, OPEN, "action_required", RED),
    ("authorized", (release(),), {PULL: YES}, OPEN, "success", "Authorized for this commit"),
    ("another commit is", (release(head_sha=OTHER),), {PULL: YES}, OPEN, "action_required", RED),
    ("another base is", (release(),), {PULL: replace(YES, base="x")}, OPEN, "action_required", RED),
    ("another PR is", (release(),), {PULL: replace(YES, pull=9)}, OPEN, "action_required", RED),
    (
        "its base was changed",
        (release(refs=Refs(TRUNK, "develop", True), recorded=True),),
        {PULL: YES},
        OPEN,
        "action_required",
        RED,
    ),
    (
        "it is closed",
        (release(is_open=False, recorded=True),),
        {PULL: YES},
        OPEN,
        "action_required",
        RED,
    ),
    (
        "two PRs of one release",
        (release(), release(8)),
        {PULL: YES, 8: replace(YES, pull=8)},
        OPEN,
        "action_required",
        "Two release PRs for one release",
    ),
    (
        "two releases on one commit, one of them authorized",
        (release(), release(8, "release-1-3-0")),
        {PULL: YES, 8: NO},
        OPEN,
        "action_required",
        RED,
    ),
    (
        "two releases on one commit, both authorized",
        (release(), release(8, "release-1-3-0")),
        {PULL: YES, 8: replace(YES, pull=8)},
        OPEN,
        "success",
        "Authorized for this commit",
    ),
    ("somebody's branch", (other(),), {}, OPEN, "success", "Not a release"),
    (
        "somebody's branch where only releases go",
        (other(),),
        {},
        EXCLUSIVE,
        "failure",
        ONLY,
    ),
    ("an exception", (other("hotfix"),), {}, EXCEPT, "success", "Not a release"),
    (
        "a fork's branch of that name",
        (other("hotfix", own=False),),
        {},
        EXCEPT,
        "failure",
        ONLY,
    ),
    ("a fork's release branch", (other(TRUNK, own=False),), {}, OPEN, "success", "Not a release"),
    (
        "a fork's release branch, exclusive",
        (other(TRUNK, own=False),),
        {},
        EXCLUSIVE,
        "failure",
        ONLY,
    ),
    (
        "the commit of a release under another name",
        (other(), release()),
        {PULL: NO},
        OPEN,
        "action_required",
        RED,
    ),
    (
        "an authorized commit under another name, exclusive",
        (other(), release()),
        {PULL: YES},
        EXCLUSIVE,
        "failure",
        ONLY,
    ),
    ("a ticket past any release", (other("ticket/42"),), {}, OPEN, "success", "Not a release"),
    (
        "a merge group of which nothing is known",
        None,
        {PULL: YES},
        OPEN,
        "action_required",
        "Not known what this brings",
    ),
    ("nothing", (), {}, OPEN, "action_required", UNKNOWN),
]


@pytest.mark.parametrize(
    ("pulls", "judged", "says", "conclusion", "title"), [c[1:] for c in TABLE], ids=[c[0] for c in TABLE]
)
def test_the_verdict(
    pulls: tuple[GuardPull, ...] | None, judged: dict[int, Any], says: Policy, conclusion: str, title: str
) -> None:
    found = verdict_on(GuardedHead(HEAD, pulls), GROUND, says, judged)
    assert (found.conclusion, found.title) == (conclusion, title)
    assert found.summary.strip()


def test_no_verdict_is_ever_one_that_lets_pass_without_being_green() -> None:
    for _, pulls, judged, says, _, _ in TABLE:
        found = verdict_on(GuardedHead(HEAD, pulls), GROUND, says, judged)
        assert found.conclusion in ("success", "failure", "action_required")
    assert BORN.conclusion == "action_required"


def test_a_merge_group_passes_while_every_release_in_it_is_authorized() -> None:
    group = GuardedHead(OTHER, (release(), other()))
    assert verdict_on(group, GROUND, OPEN, {PULL: YES}).conclusion == "success"
    assert verdict_on(group, GROUND, OPEN, {PULL: NO}).conclusion == "action_required"


def _answered(head: GuardedHead, judged: dict[int, Any], witnesses: dict[str, ReleaseWitness]) -> GuardAnswer | None:
    return answer(head, GROUND, OPEN, judged, witnesses)


def test_a_run_is_made_red_and_told_by_its_id_then_nothing_more_is_written() -> None:
    seen = witness(TRUNK, 4, "d" * 40)
    first = _answered(GuardedHead(HEAD, (release(),)), {PULL: YES}, {TRUNK: seen})
    assert first is not None
    assert (first.create, first.edit, first.external_id) == (True, (), str(seen))
    v = first.verdict
    stands = GuardRun(31, HEAD, "completed", v.conclusion, first.external_id, v.title, f"{v.summary}\n")
    assert _answered(GuardedHead(HEAD, (release(),), (stands,)), {PULL: YES}, {TRUNK: seen}) is None
    later = _answered(GuardedHead(HEAD, (release(),), (stands,)), {PULL: NO}, {TRUNK: seen})
    assert later is not None
    assert (later.create, later.edit, later.verdict.conclusion) == (False, (31,), "action_required")


def test_all_runs_of_ours_on_a_commit_say_the_same() -> None:
    wanted = verdict_on(GuardedHead(HEAD, (release(),)), GROUND, OPEN, {PULL: NO})
    right = GuardRun(31, HEAD, "completed", "action_required", UNBORN, wanted.title, wanted.summary)
    green = replace(right, id=32, conclusion="success")
    running = replace(right, id=33, status="in_progress", conclusion=None)
    neutral = replace(right, id=34, conclusion="neutral")
    found = _answered(GuardedHead(HEAD, (release(),), (right, green, running, neutral)), {PULL: NO}, {})
    assert found is not None
    assert found.edit == (32, 33, 34)
    assert not found.create


def test_what_is_no_release_bears_no_witness_and_several_releases_bear_each_theirs() -> None:
    nothing = _answered(GuardedHead(HEAD, (other(),)), {}, {})
    assert nothing is not None
    assert nothing.external_id == NOT_A_RELEASE
    one, two = witness(TRUNK, 4, "d" * 40), witness("release-1-3-0", 9, "e" * 40)
    pulls = (release(), release(8, "release-1-3-0"))
    both = _answered(GuardedHead(HEAD, pulls), {}, {TRUNK: one, "release-1-3-0": two})
    assert both is not None
    assert witnesses_in(both.external_id) == (one, two)
    assert of_branch(both.external_id, TRUNK) == (one,)
    assert of_branch(f"{both.external_id} release:zz:1:2 42:1:1:{'0' * 12}", "release-9") == ()


def test_the_witness_of_a_name_is_of_that_name_alone() -> None:
    assert str(witness("release/1 2", 3, "f" * 40)) == f"release:{digest_of_branch('release/1 2')}:3:{'f' * 12}"
    assert digest_of_branch("release-1") != digest_of_branch("Release-1")
    assert witnesses_in("release:0123456789ab:99999999999:0123456789ab") == ()


def test_hostile_names_and_words_have_no_effect_in_the_guards_text() -> None:
    bad = NotYet("@everyone <!-- x --> closes #1 ](http://evil)", "look")
    told = verdict_on(GuardedHead(HEAD, (release(head="release-`@all`"),)), GROUND, OPEN, {PULL: bad}).summary
    assert "@everyone" not in told
    assert "<!--" not in told
    assert "http://" not in told
    assert "@all" not in told


def test_however_many_releases_stand_on_a_commit_its_external_id_is_one_that_github_takes() -> None:
    names = [f"release-{n}" for n in range(30)]
    pulls = tuple(release(100 + n, name) for n, name in enumerate(names))
    seen = {name: witness(name, 999_999_999 - n, "c" * 40) for n, name in enumerate(reversed(names))}
    found = answer(GuardedHead(HEAD, pulls), GROUND, OPEN, {}, seen)
    assert found is not None
    assert len(found.external_id) <= 255
    # Those that came furthest are remembered: many young ones push none of them out.
    assert {one.digest for one in witnesses_in(found.external_id)} == {digest_of_branch(name) for name in names[-5:]}
