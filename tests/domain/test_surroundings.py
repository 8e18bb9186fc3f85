"""What surrounds a ticket, judged: Project and dependencies, unfinished landings, the release, the predecessor."""

from dataclasses import replace
from typing import Any

import pytest

from app.domain.brief import Brief
from app.domain.compose_brief import compose
from app.domain.criteria import criteria
from app.domain.observation import Branch
from app.domain.policy import Policy, ProjectPolicy, ReleasePolicy
from app.domain.record import Projections, Record
from app.domain.recovery_steps import findings
from app.domain.recovery_view import RecoveryView
from app.domain.surroundings import MOST_BRANCHES, Asked, Distance, Linked, OtherPull, Predecessor, ProjectItem, Tip
from app.domain.ticket_evidence import names_release
from tests.domain.recovery_scene import BASE, HEAD, OTHER, POLICY, PULL, WORLD, around, changed, noted, view

IN_PROJECT = POLICY.model_copy(update={"project": ProjectPolicy(number=7)})
ON_MAIN = POLICY.model_copy(update={"release": ReleasePolicy(into="release-1")})


def item(**fields: str) -> tuple[ProjectItem, ...]:
    return (ProjectItem(7, "Shop\nboard", {"Status": "In progress", "Priority": "P1", **fields}),)


def pull(number: int, head: str, base: str, **more: Any) -> OtherPull:
    facts: dict[str, Any] = {"state": "OPEN", "is_draft": True, "head_sha": HEAD, "own_repository": True, **more}
    return OtherPull(number=number, head=head, base=base, **facts)


def tip(name: str, sha: str = HEAD, tree: str | None = None) -> Tip:
    return Tip(name, sha, tree)


MAIN = tip("main", OTHER, "1" * 40)
MERGED = replace(WORLD, pulls=(replace(PULL, state="MERGED", is_draft=False),))
SHOWN = changed(projections=Projections(pr_number=57))
READY = changed(status="ready")
READY_PULL = replace(WORLD, pulls=(replace(PULL, is_draft=False, mergeable="MERGEABLE"),))
AHEAD = Distance(ahead=3, behind=0)
STACKED = noted(predecessor_issue_or_pr=41, predecessor_sha=OTHER)
LOOKED = Asked(predecessor=41, predecessor_sha=OTHER)


def stacked(record: Record = STACKED, predecessor: Predecessor | None = None, **more: Any) -> RecoveryView:
    return around(record=record, asked=LOOKED, predecessor=predecessor, **more)


def issue(*branches: Tip, state: str = "OPEN", pulls: tuple[OtherPull, ...] = ()) -> Predecessor:
    return Predecessor(41, "issue", state, branches=branches, pulls=pulls)


def of_pull(**more: Any) -> Predecessor:
    at = pull(41, "ticket/41", "release-1", **more)
    return Predecessor(41, "pull", at.state, pull=at)


JUDGED: list[tuple[str, RecoveryView, int, bool | None, str]] = [
    ("no Project", around(), 1, True, "names no Project"),
    ("Project hidden", around(IN_PROJECT), 1, None, "may not read Project 7"),
    ("not in the Project", around(IN_PROJECT, project_items=()), 1, False, "not in Project 7"),
    ("no release there", around(IN_PROJECT, project_items=item()), 1, True, "Project 7 agrees"),
    ("same release", around(IN_PROJECT, project_items=item(**{"Target release": "v1"})), 1, True, "agrees"),
    ("other release", around(IN_PROJECT, project_items=item(**{"Target release": "2"})), 1, False, "a person decides"),
    (
        "a child's trunk is no release",
        around(IN_PROJECT, record=changed(child="docs-1"), project_items=item(**{"Target release": "2"})),
        1,
        True,
        "agrees",
    ),
    (
        "merged, Issue open",
        around(record=SHOWN, world=MERGED),
        4,
        False,
        "Issue #42 is still open; the ticket's branch",
    ),
    (
        "all landed",
        around(record=SHOWN, world=replace(MERGED, branches=(), issue=None)),
        4,
        True,
        "it has landed",
    ),
    (
        "dependents left",
        around(
            record=SHOWN, world=replace(MERGED, branches=()), dependents=(pull(60, "ticket/43", "ticket/42-parser"),)
        ),
        4,
        False,
        "#60 build on",
    ),
    ("ready, blocked", around(record=READY, blocked_by=(Linked(7, "OPEN"),)), 4, None, "blocked by #7, still open"),
    (
        "ready, conflicting",
        around(record=READY, world=replace(WORLD, pulls=(replace(PULL, mergeable="CONFLICTING"),))),
        4,
        None,
        "conflicts with its trunk",
    ),
    ("on the base itself", around(ON_MAIN, asked=Asked(into="release-1")), 5, None, "lands on release-1 itself"),
    ("not told", around(into=MAIN), 5, None, "does not say"),
    ("zero difference", around(into=MAIN, trunk_over_into=Distance(0, 4)), 5, True, "brings no file"),
    ("empty commits", around(into=MAIN, trunk_over_into=AHEAD, trunk_tree="1" * 40), 5, True, "brings no file"),
    ("no release PR", around(into=MAIN, trunk_over_into=AHEAD), 5, False, "3 commits over main and has no release PR"),
    (
        "release PR",
        around(into=MAIN, trunk_over_into=AHEAD, release_pulls=(pull(9, "release-1", "main"),)),
        5,
        True,
        "#9 is open (draft)",
    ),
    (
        "a fork's is none",
        around(into=MAIN, trunk_over_into=AHEAD, release_pulls=(pull(9, "release-1", "main", own_repository=False),)),
        5,
        False,
        "has no release PR",
    ),
    (
        "auto-merge",
        around(into=MAIN, trunk_over_into=AHEAD, release_pulls=(pull(9, "release-1", "main", auto_merge=True),)),
        5,
        False,
        "auto-merge is on",
    ),
    ("not pinned", stacked(noted(predecessor_issue_or_pr=41)), 6, False, "without its exact commit"),
    ("no such number", stacked(), 6, False, "does not exist"),
    ("not looked at", around(record=STACKED), 6, False, "not looked at yet"),
    ("same place", stacked(predecessor=issue(tip("ticket/41", OTHER))), 6, True, "as it was recorded"),
    ("moved", stacked(predecessor=issue(tip("ticket/41"))), 6, False, f"is at {HEAD}: the base is stale"),
    ("not its branch", stacked(predecessor=issue(tip("v41", OTHER))), 6, False, "has no branch any more"),
    (
        "two branches",
        stacked(predecessor=issue(tip("41", OTHER), tip("issue-41", OTHER))),
        6,
        False,
        "several branches",
    ),
    ("on the trunk", stacked(predecessor=issue(), trunk_over_predecessor=Distance(5, 0)), 6, True, "landed"),
    (
        "partly on the trunk, and moved on",
        stacked(predecessor=issue(tip("ticket/41")), trunk_over_predecessor=Distance(5, 0)),
        6,
        False,
        "stale",
    ),
    (
        "on the trunk, and its branch still there",
        stacked(predecessor=issue(tip("ticket/41", OTHER)), trunk_over_predecessor=Distance(5, 0)),
        6,
        True,
        "landed",
    ),
    (
        "a PR merged with more",
        stacked(predecessor=of_pull(state="MERGED"), trunk_over_predecessor=Distance(5, 0)),
        6,
        False,
        "stale",
    ),
    ("closed, not landed", stacked(predecessor=issue(state="CLOSED")), 6, False, "is not on the trunk"),
    (
        "squashed",
        stacked(
            predecessor=issue(tip("41", OTHER), pulls=(pull(50, "41", "release-1", state="MERGED", head_sha=OTHER),))
        ),
        6,
        True,
        "landed",
    ),
    (
        "too many branches",
        stacked(predecessor=issue(*(tip(f"x41-{n}") for n in range(MOST_BRANCHES)))),
        6,
        False,
        "too many branches",
    ),
    ("a PR there", stacked(predecessor=of_pull(head_sha=OTHER)), 6, True, "stands at"),
    ("a PR moved", stacked(predecessor=of_pull()), 6, False, "stale"),
    ("a PR landed", stacked(predecessor=of_pull(head_sha=OTHER, state="MERGED")), 6, True, "landed"),
    ("a PR dropped", stacked(predecessor=of_pull(head_sha=OTHER, state="CLOSED")), 6, False, "without being merged"),
]


@pytest.mark.parametrize(("name", "seen", "number", "met", "words"), JUDGED, ids=[f"{j[2]} {j[0]}" for j in JUDGED])
def test_criteria(name: str, seen: RecoveryView, number: int, met: bool | None, words: str) -> None:
    judged = criteria(seen)[number - 1]
    assert judged.met is met
    assert words in judged.reason


FOUND: list[tuple[str, RecoveryView, int, str, str, dict[str, Any]]] = [
    (
        "all around",
        around(
            IN_PROJECT,
            project_items=item(**{"Target release": "1"}),
            milestone="Autumn",
            parent=Linked(40, "OPEN"),
            sub_issues=(Linked(44, "CLOSED"), Linked(45, "OPEN")),
            blocked_by=(Linked(7, "OPEN", "acme/core"), Linked(8, "CLOSED")),
            blocking=(Linked(43, "OPEN"),),
        ),
        1,
        "done",
        "it is blocked by acme/core#7",
        {
            "milestone": "Autumn",
            "parent": "#40",
            "sub_issues": {"open": 1, "closed": 1},
            "blocked_by": ["acme/core#7 open", "#8 closed"],
            "blocking": ["#43 open"],
            "project": {
                "number": 7,
                "title": "Shop board",
                "status": "In progress",
                "priority": "P1",
                "target_release": "1",
            },
        },
    ),
    ("other release", around(IN_PROJECT, project_items=item(**{"Target release": "2"})), 1, "blocked", "says 2", {}),
    (
        "landed in part",
        around(record=SHOWN, world=MERGED),
        4,
        "pending",
        "the work has landed",
        {"pull_state": "MERGED"},
    ),
    ("ready", around(record=READY, world=READY_PULL), 4, "done", "PR #57 is ready and has not landed", {}),
    ("marked early", around(world=READY_PULL), 4, "done", "marked ready while work goes on", {}),
    (
        "left behind",
        around(world=replace(WORLD, branches=(*WORLD.branches, Branch("42-old", BASE), Branch("ticket/421", BASE)))),
        4,
        "done",
        "other branches",
        {"other_branches": ["42-old"]},
    ),
    ("release", around(into=MAIN, trunk_over_into=AHEAD), 5, "pending", "nothing is merged here", {"ahead": 3}),
    ("child", around(record=changed(child="docs-1"), into=MAIN), 5, "not_applicable", "its parent's branch", {}),
    ("moved", stacked(predecessor=issue(tip("ticket/41"))), 11, "pending", "take its commits in", {"now": HEAD}),
    ("dropped", stacked(predecessor=of_pull(state="CLOSED")), 11, "blocked", "closed", {"recorded": OTHER}),
    ("at its place", stacked(predecessor=of_pull(head_sha=OTHER)), 11, "done", "stands", {"predecessor": 41}),
    (
        "conflict",
        around(world=replace(WORLD, pulls=(replace(PULL, mergeable="CONFLICTING"),))),
        14,
        "blocked",
        "merge it in",
        {"mergeable": "CONFLICTING"},
    ),
    (
        "behind, clean",
        around(
            world=replace(WORLD, trunk=Branch("release-1", OTHER), pulls=(replace(PULL, mergeable="MERGEABLE"),)),
            trunk_over_work=Distance(2, 1),
        ),
        14,
        "done",
        "moved by 2 commits since, and PR #57 merges",
        {"behind": 2},
    ),
    (
        "taken in",
        around(world=replace(WORLD, trunk=Branch("release-1", OTHER)), trunk_over_work=Distance(0, 4)),
        14,
        "done",
        "holds everything",
        {},
    ),
]


@pytest.mark.parametrize(
    ("name", "seen", "step", "state", "words", "facts"), FOUND, ids=[f"{f[2]} {f[0]}" for f in FOUND]
)
def test_findings(name: str, seen: RecoveryView, step: int, state: str, words: str, facts: dict[str, Any]) -> None:
    found = findings(seen)[step - 1]
    assert (found.state, {key: found.evidence.get(key) for key in facts}) == (state, facts)
    assert words in found.finding


def brief_of(seen: RecoveryView) -> Brief:
    return compose(seen, findings=findings(seen), criteria=criteria(seen), claim=None)


def test_a_missing_decision_is_a_blocker_and_so_is_an_open_dependency() -> None:
    refs = ("docs/adr/1.md", f"docs/adr/2.md@{OTHER}", "#12", "#13", "ask Wanda")
    seen = around(
        record=noted(decision_refs=refs, blockers=("the agent's own",)),
        asked=Asked(work=HEAD),
        objects={f"{HEAD}:docs/adr/1.md": "5" * 40, f"{OTHER}:docs/adr/2.md": None},
        numbers={12: True, 13: False},
        blocked_by=(Linked(7, "OPEN"),),
    )
    found = findings(seen)[6]
    assert found.state == "blocked"
    assert found.evidence["missing"] == [f"docs/adr/2.md@{OTHER}", "#13"]
    assert found.evidence["not_looked_up"] == ["ask Wanda"]
    assert found.evidence["resolved"][0] == {"ref": "docs/adr/1.md", "at": HEAD, "object": "5" * 40}
    assert brief_of(seen).blockers == (
        "the agent's own",
        "waits for #7, which is open",
        f"the recorded decision docs/adr/2.md@{OTHER} is missing at {OTHER}",
        "the recorded decision #13 is missing",
    )


def test_a_stale_base_comes_with_the_command_that_takes_the_new_one_in() -> None:
    brief = brief_of(stacked(predecessor=issue(tip("ticket/41"))))
    assert ("git", "merge", "--no-edit", HEAD) in [command.argv for command in brief.commands]
    still = brief_of(stacked(predecessor=issue(tip("ticket/41", OTHER))))
    assert not [command for command in still.commands if command.argv[0] == "git"]


@pytest.mark.parametrize(
    ("text", "trunk", "same"),
    [
        ("1.2.0", "release-1-2-0", True),
        ("v1.2.0", "release/1.2.0", True),
        ("Release 1.2.0", "release-1-2-0", True),
        ("release-1-2-0", "release-1-2-0", True),
        ("2.0", "release-1-2-0", False),
        ("1.2", "release-1-2-0", False),
        ("", "release-1", False),
        ("hotfix/3", "hotfix-3", True),
    ],
)
def test_a_projects_release_and_a_trunk(text: str, trunk: str, same: bool) -> None:
    assert names_release(text, trunk) is same


def test_without_a_policy_nothing_of_a_project_is_wanted() -> None:
    assert criteria(view(policy=None))[0].met is True
    assert criteria(view(policy=Policy()))[0].met is True
