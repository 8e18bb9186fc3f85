"""What a ticket's PR carries: only what is wrong is written, nothing is invented, what people took away stays away."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from landing_world import POLICY_FILE, Landing, policy
from loop_world import REPO, LoopWorld
from upkeep_scene import HEAD, PULL, WORK, act, observation, record

from app.domain.fencing import AtPublished
from app.domain.landing_actions import EditBase
from app.domain.linked_issue import linked_issue_of
from app.domain.metadata import (
    MOST_REMEMBERED,
    base_moved_by,
    decide_metadata,
    links_another,
    remembered,
    with_link,
)
from app.domain.noting import open_pull
from app.domain.observation import Observation, Pull
from app.domain.plan import Action, MoveTrunk
from app.domain.policy import EnrollPolicy, Policy
from app.domain.record import Carried, Drafting, Permit, Record, Target
from app.domain.upkeep_actions import AddLabels, Assign
from app.domain.worth_knowing import worth_knowing

FENCED = AtPublished(HEAD, True)
POLICY = Policy(trunks=("release-*",), enroll=EnrollPolicy(label="agent"), draft_label="wip")
READY = replace(PULL, is_draft=False)


def decided(
    pull: Pull = PULL, of: Record | None = None, seen: Observation | None = None, policy_: Policy = POLICY
) -> list[Action]:
    return list(decide_metadata(of or record(), pull, FENCED, seen or observation(pull), policy_))


def kinds(actions: Iterable[Action]) -> list[str]:
    return [type(action).__name__ for action in actions]


@pytest.mark.parametrize(
    ("body", "known", "done"),
    [
        ("Ticket: #42\n", Carried(), []),
        ("Ticket: #42\r\nmore", Carried(), []),
        ("", Carried(), ["LinkIssue"]),
        ("I did this.\n\nTicket: #42", Carried(), ["LinkIssue"]),
        ("ticket: #42", Carried(), ["LinkIssue"]),
        # Somebody removed the line that the App had added: it stays away.
        ("I did this.", Carried(linked=True), []),
        # It names another Issue: a person decides, nothing is written over it.
        ("Ticket: #43\n", Carried(), []),
    ],
)
def test_the_linking_line(body: str, known: Carried, done: list[str]) -> None:
    assert kinds(decided(replace(PULL, body=body), record(carried=known))) == done


@pytest.mark.parametrize("body", ["", "Text", "\r\nText\r\n", "---\nTicket: #7", "\n\n  ```\n", "<!-- x -->\0é"])
def test_the_line_is_put_before_and_the_rest_stays_byte_for_byte(body: str) -> None:
    linked = with_link(body, 42)
    assert linked.startswith("Ticket: #42\n")
    assert linked.removeprefix("Ticket: #42\n").removeprefix("\n" if body else "") == body
    assert linked_issue_of(linked) == 42


def test_a_line_that_names_another_issue_is_told() -> None:
    pull = replace(PULL, body="Ticket: #43\n")
    assert links_another(pull, record()) == 43
    assert worth_knowing(record(), observation(pull), Policy()) == (
        "the PR's first line names #43, and its branch is that of #42: a person decides",
    )


@pytest.mark.parametrize(
    ("of_issue", "on_pull", "known", "taken_off", "added"),
    [
        (("bob",), (), (), (), ("bob",)),
        (("bob", "eve"), ("Bob",), (), (), ("eve",)),
        ((), ("bob",), (), (), ()),
        (("bob",), (), ("bob",), (), ()),  # put there once: gone since
        (("bob", "eve"), (), (), ("Bob",), ("eve",)),  # somebody took them off
        (tuple(f"p{n}" for n in range(12)), ("a", "b"), (), (), tuple(f"p{n}" for n in range(8))),  # ten at most
        (("bob",), tuple("abcdefghij"), (), (), ()),
    ],
)
def test_assignees(
    of_issue: tuple[str, ...],
    on_pull: tuple[str, ...],
    known: tuple[str, ...],
    taken_off: tuple[str, ...],
    added: tuple[str, ...],
) -> None:
    acts = tuple(act("unassigned", what=login) for login in taken_off)
    pull = replace(PULL, assignees=on_pull, acts=acts)
    plan = decided(pull, record(carried=Carried(assigned=known)), observation(pull, assignees=of_issue))
    assert plan == ([Assign(50, added, "they are assigned to the Issue")] if added else [])


def test_the_app_may_take_off_and_put_back_what_nobody_else_touched() -> None:
    pull = replace(PULL, acts=(act("unassigned", "app", "bob"),))
    assert kinds(decided(pull, seen=observation(pull, assignees=("bob",)))) == ["Assign"]


@pytest.mark.parametrize(
    ("of_issue", "on_pull", "known", "taken_off", "added"),
    [
        (("bug", "ui"), ("Bug",), (), (), ("ui",)),
        (("Agent", "WIP", "bug"), (), (), (), ("bug",)),  # what makes a ticket, and what stands for a draft
        (("bug",), (), ("bug",), (), ()),
        (("bug",), (), (), ("BUG",), ()),
        ((), ("bug",), (), (), ()),
    ],
)
def test_labels(
    of_issue: tuple[str, ...],
    on_pull: tuple[str, ...],
    known: tuple[str, ...],
    taken_off: tuple[str, ...],
    added: tuple[str, ...],
) -> None:
    pull = replace(PULL, labels=on_pull, acts=tuple(act("unlabeled", what=name) for name in taken_off))
    plan = decided(pull, record(carried=Carried(labels=known)), observation(pull, labels=of_issue))
    assert plan == ([AddLabels(50, added, "the Issue has them")] if added else [])


@pytest.mark.parametrize(
    ("status", "pull", "known", "done"),
    [
        ("ready", READY, Carried(), ["AskOwners"]),
        ("ready", READY, Carried(owners_asked=True), []),
        ("ready", PULL, Carried(), []),
        ("working", READY, Carried(), []),
    ],
)
def test_owners_are_asked_once_when_the_pr_is_ready(status: str, pull: Pull, known: Carried, done: list[str]) -> None:
    assert kinds(decided(pull, record(status, carried=known))) == done


MERGE = Permit(id="p", kind="merge", target=Target(number=50), author="a", round="r")
EDITED = act("base", what="release-2", id="5")


@pytest.mark.parametrize(
    ("base", "acts", "known", "more", "done"),
    [
        ("release-1", (), Carried(), {}, []),
        ("release-2", (), Carried(), {}, ["EditBase"]),
        ("main", (), Carried(), {}, ["EditBase"]),
        ("release-2", (act("base", "app"),), Carried(), {}, ["EditBase"]),
        # A person's edit to another trunk moves the ticket.
        ("release-2", (EDITED,), Carried(), {}, ["Note", "MoveTrunk"]),
        # … to anything else: it stays where they put it.
        ("main", (EDITED,), Carried(), {}, ["Note"]),
        ("main", (EDITED,), Carried(base_act="5", base_by="ann", base_trunk="release-1"), {}, []),
        # … until the record's trunk changes, by a command or on the board.
        ("main", (EDITED,), Carried(base_act="5", base_by="ann", base_trunk="release-0"), {}, ["EditBase"]),
        # An edit that agrees is noted, so that it is no news when the trunk changes later.
        ("release-1", (EDITED,), Carried(), {}, ["Note"]),
        ("release-1", (EDITED,), Carried(base_act="5"), {}, []),
        ("release-2", (EDITED,), Carried(base_act="5"), {}, ["EditBase"]),
        # Stacked on another ticket's branch: not this rule's.
        ("ticket/41", (), Carried(), {}, []),
        # A merge that may still come excludes an edit of the base.
        ("release-2", (), Carried(), {"open": (MERGE,)}, []),
    ],
)
def test_the_base(base: str, acts: tuple[Any, ...], known: Carried, more: dict[str, Any], done: list[str]) -> None:
    pull = replace(PULL, base=base, acts=acts)
    plan = decided(pull, record(carried=known, **more))
    assert kinds(plan) == done
    for action in plan:
        if isinstance(action, EditBase):
            assert (action.base_from, action.base_to) == (base, WORK.trunk)
        if isinstance(action, MoveTrunk):
            assert action.trunk == base


def test_a_base_that_does_not_stand_is_not_led_to() -> None:
    pull = replace(PULL, base="main")
    assert decided(pull, seen=observation(pull, trunk=None)) == []


def test_a_person_s_base_is_told_as_long_as_their_word_stands() -> None:
    pull = replace(PULL, base="main")
    known = record(carried=Carried(base_act="5", base_by="ann", base_trunk="release-1"))
    assert base_moved_by(known, pull) == "ann"
    assert "ann gave the PR the base 'main'" in worth_knowing(known, observation(pull), Policy())[0]
    assert base_moved_by(known, PULL) is None
    moved = known.model_copy(update={"work": WORK.model_copy(update={"trunk": "release-3"})})
    assert base_moved_by(moved, pull) is None


def test_what_is_remembered_has_an_end() -> None:
    known: tuple[str, ...] = ()
    for n in range(300):
        known = remembered(known, (f"label {n}",))
    assert (len(known), known[-1]) == (MOST_REMEMBERED, "label 299")


def test_what_was_put_onto_one_pr_says_nothing_of_another() -> None:
    known = record(carried=Carried(linked=True, assigned=("bob",)), drafting=Drafting(by="ann", clicked="1"))
    assert open_pull(known, 50).projections == known.projections
    other = open_pull(known, 51).projections
    assert (other.pr_number, other.carried, other.drafting) == (51, Carried(), Drafting())


def test_a_child_s_pr_gets_the_line_and_no_more() -> None:
    pull = replace(PULL, body="", base="release-9", acts=(EDITED,))
    seen = observation(pull, assignees=("bob",), labels=("bug",))
    assert kinds(decided(pull, record("completed", child="docs"), seen)) == ["LinkIssue"]


OWNERS = "* @olga @wanda @ghost\n/docs/ @acme/writers\n"


async def test_what_github_refuses_is_told_and_not_tried_for_ever(world: LoopWorld) -> None:
    """Without the permission the PR is not brought in line; everything else goes on."""
    world.emulator.user("bert")
    world.emulator.change_repo(REPO, collaborators={"wanda": "write", "bert": "write"})
    world.http.patch(f"/repos/{REPO}/issues/{world.ticket}", json={"assignees": ["bert"]}).raise_for_status()
    world.emulator.fault("status", match={"path_regex": "assignees$", "method": "POST"}, times=None, code=403)
    ticket = await Landing.begun(world, policy("repair"))
    (comment,) = [c["body"] for c in world.get(f"issues/{ticket.pull()['number']}/comments")]
    assert "GitHub did not let the App bring the PR in line" in comment
    since = world.requested()
    await ticket.settle()
    assert world.writes(since) == []


async def test_a_person_s_pr_is_brought_in_line_once(world: LoopWorld) -> None:
    """Played: a person opened the PR; it gets the line, assignee, labels and base, then nothing more is written."""
    for login in ("olga", "bert"):
        world.emulator.user(login)
    world.emulator.change_repo(REPO, collaborators={"wanda": "write", "olga": "write", "bert": "write"})
    world.emulator.commit(REPO, {POLICY_FILE: policy("repair"), ".github/CODEOWNERS": OWNERS}, branch="main")
    world.emulator.commit(REPO, {".github/CODEOWNERS": OWNERS}, branch="release-1")
    world.http.post(f"/repos/{REPO}/labels", json={"name": "ui", "description": "x"}).raise_for_status()
    fields = {"assignees": ["bert"], "labels": ["ui"]}
    world.http.patch(f"/repos/{REPO}/issues/{world.ticket}", json=fields).raise_for_status()
    controller = world.controller()
    agent = world.agent(await world.claim(controller))
    agent.push("one")
    body = {
        "title": "Mine",
        "head": agent.grant.branch,
        "base": "release-1",
        "body": "Written by me.\r\n",
        "draft": True,
    }
    world.http.post(f"/repos/{REPO}/pulls", json=body).raise_for_status()
    ticket = Landing(world, controller, agent, world.ticket)
    await ticket.settle()
    pull = ticket.pull()
    assert (pull["body"], pull["title"]) == (f"Ticket: #{world.ticket}\n\nWritten by me.\r\n", "Mine")
    assert ([a["login"] for a in pull["assignees"]], [x["name"] for x in pull["labels"]]) == (["bert"], ["ui"])
    assert pull["requested_reviewers"] == []
    since = world.requested()
    await ticket.settle()
    assert world.writes(since) == []
    # People take it all away: it stays away.
    world.http.request("DELETE", f"/repos/{REPO}/issues/{pull['number']}/assignees", json={"assignees": ["bert"]})
    world.http.delete(f"/repos/{REPO}/issues/{pull['number']}/labels/ui").raise_for_status()
    ticket.patch(f"pulls/{pull['number']}", body="Mine alone.")
    await ticket.settle()
    pull = ticket.pull()
    assert (pull["assignees"], pull["labels"], pull["body"]) == ([], [], "Mine alone.")
    # The owners are asked when it is ready, and once: wanda opened it, and ghost is nobody here.
    await ticket.say("ready")
    await ticket.settle()
    assert [r["login"] for r in ticket.pull()["requested_reviewers"]] == ["olga"]
    world.http.request(
        "DELETE", f"/repos/{REPO}/pulls/{pull['number']}/requested_reviewers", json={"reviewers": ["olga"]}
    ).raise_for_status()
    since = world.requested()
    await ticket.settle()
    assert ticket.pull()["requested_reviewers"] == []
    assert [w for w in world.writes(since) if "reviewers" in w] == []


async def test_a_base_follows_the_record_and_a_person_s_edit_moves_the_ticket(world: LoopWorld) -> None:
    ticket = await Landing.begun(world, policy("repair"))
    sha = world.head("release-1")
    for name in ("release-2", "elsewhere"):
        world.http.post(f"/repos/{REPO}/git/refs", json={"ref": f"refs/heads/{name}", "sha": sha}).raise_for_status()
    number = ticket.pull()["number"]
    ticket.patch(f"pulls/{number}", base="release-2")
    await ticket.settle()
    record = await ticket.record()
    assert (record.trunk, ticket.pull()["base"]["ref"]) == ("release-2", "release-2")
    assert record.checkpoint.immediate_pr_base == "release-2"
    ticket.patch(f"pulls/{number}", base="elsewhere")
    await ticket.settle()
    record = await ticket.record()
    assert (record.trunk, record.projections.carried.base_by) == ("release-2", "wanda")
    assert ticket.pull()["base"]["ref"] == "elsewhere"
    since = world.requested()
    await ticket.settle()
    assert world.writes(since) == []


async def test_owners_whom_github_did_not_ask_are_asked_and_refused_ones_passed_over(world: LoopWorld) -> None:
    """A PR that was marked as ready before the base had code owners: GitHub asks nobody by itself."""
    for login in ("olga", "ghost"):
        world.emulator.user(login)
    world.emulator.change_repo(REPO, collaborators={"wanda": "write", "olga": "write"})
    ticket = await Landing.begun(world, policy("repair"))
    ticket.click_ready()
    await ticket.settle()
    world.emulator.commit(REPO, {"CODEOWNERS": OWNERS}, branch="release-1")
    await ticket.say("ready")
    await ticket.settle()
    assert sorted(r["login"] for r in ticket.pull()["requested_reviewers"]) == ["olga", "wanda"]
    since = world.requested()
    await ticket.settle()
    assert world.writes(since) == []
