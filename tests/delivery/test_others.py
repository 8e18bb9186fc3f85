"""Pull requests of nobody: one check that stands in nobody's way, once a head, and nothing else; in no mode that only
looks.
"""

from dataclasses import replace
from datetime import UTC, datetime

import httpx
import pytest
from enrolled_world import POLICY, Enrolled
from loop_world import REPO, LoopWorld

from app.controller.controller import Controller
from app.domain.keys import TicketKey
from app.domain.observation import Observation, Pull
from app.domain.others_check import (
    OTHERS_ID,
    OpenPull,
    Run,
    answers,
    is_nobodys,
    trespassing_verdict,
    trespassing_with,
)
from app.domain.policy import Policy, ReleasePolicy
from app.domain.pull_class import Ground, Refs, TicketPull, landable
from app.domain.record import Record, Work

GROUND = Ground("main", "main", ("release-*",))
OPEN, EXCLUSIVE = Policy(), Policy(release=ReleasePolicy(exclusive=True), main_exceptions=("hotfix", "docs"))
GREEN = Run(9, "success", OTHERS_ID, "Not an agent ticket")
RED = Run(8, "failure", OTHERS_ID, "Only releases go into this branch")
OF_TICKET = Run(7, "action_required", "42:1:3:0123456789ab", "Not fenced")
A, B = "a" * 40, "b" * 40
WORLD = Observation(datetime(2026, 11, 30, tzinfo=UTC), 1, "octo", "demo", "main", "", None)


def pull(
    head: str = "topic", base: str = "release-1", *runs: Run, number: int = 57, own: bool = True, sha: str = A
) -> OpenPull:
    return OpenPull(number, Refs(head, base, own), sha, runs)


TABLE = [
    ("no run yet", [pull()], OPEN, [("success", None)]),
    ("answered", [pull("topic", "release-1", GREEN)], OPEN, []),
    ("into main, where anybody may", [pull("topic", "main")], OPEN, [("success", None)]),
    ("into main, where only releases may", [pull("topic", "main")], EXCLUSIVE, [("failure", None)]),
    ("a release into main", [pull("release-1", "main")], EXCLUSIVE, [("success", None)]),
    ("an exception", [pull("hotfix", "main")], EXCLUSIVE, [("success", None)]),
    ("a fork's branch named like an exception", [pull("hotfix", "main", own=False)], EXCLUSIVE, [("failure", None)]),
    ("a fork's branch named like a release", [pull("release-1", "main", own=False)], EXCLUSIVE, [("failure", None)]),
    ("a ticket's branch past the trunk", [pull("42-x", "main")], EXCLUSIVE, [("failure", None)]),
    ("elsewhere", [pull("topic", "release-1")], EXCLUSIVE, [("success", None)]),
    ("the policy became exclusive", [pull("topic", "main", GREEN)], EXCLUSIVE, [("failure", 9)]),
    ("the base was changed back", [pull("topic", "release-1", RED)], EXCLUSIVE, [("success", 8)]),
    ("the newest of two runs counts", [pull("topic", "release-1", RED, GREEN)], EXCLUSIVE, []),
    ("a ticket speaks about the head", [pull("topic", "release-1", OF_TICKET)], OPEN, []),
    ("a ticket and an older answer", [pull("topic", "release-1", OF_TICKET, GREEN)], EXCLUSIVE, []),
    ("two PRs on one head: the worst", [pull(), pull("topic", "main", number=58)], EXCLUSIVE, [("failure", None)]),
    ("two heads", [pull(), pull("other", number=58, sha=B)], OPEN, [("success", None)] * 2),
]


@pytest.mark.parametrize(("pulls", "policy", "expected"), [r[1:] for r in TABLE], ids=[r[0] for r in TABLE])
def test_what_a_head_of_nobody_is_to_show(
    pulls: list[OpenPull], policy: Policy, expected: list[tuple[str, int | None]]
) -> None:
    found = answers(pulls, GROUND, policy)
    assert [(answer.conclusion, answer.run) for answer in found] == expected
    for answer in found:
        shown = Run(answer.run or 99, answer.conclusion, OTHERS_ID, answer.title)
        assert (
            answers([replace(p, runs=(*p.runs, shown)) for p in pulls if p.head_sha == answer.head_sha], GROUND, policy)
            == ()
        )


@pytest.mark.parametrize(
    ("refs", "nobodys"),
    [
        (Refs("topic", "release-1", True), True),
        (Refs("42-x", "release-1", True), False),
        (Refs("42-x", "release-1", False), True),
        (Refs("ticket/42.docs-1", "ticket/42", True), False),
        (Refs("43-x", "release-1", True), True),
        (Refs("release-1", "main", True), True),
    ],
)
def test_whose_a_pull_request_is(refs: Refs, nobodys: bool) -> None:
    assert is_nobodys(refs, {42}) is nobodys


def _shown(world: LoopWorld, sha: str) -> list[tuple[str, str]]:
    """The runs of the name `Agent Recovery`."""
    runs = [run for run in world.check_runs(sha) if run["name"] == "Agent Recovery"]
    return [(run["external_id"], run["conclusion"]) for run in runs]


async def _policy_told(world: LoopWorld) -> None:
    """The policy's own check-run stands already, on the commit that brought the policy."""
    await world.controller().look_at_repository("acme", "shop")


async def _by(way: str, controller: Controller, number: int) -> None:
    if way == "event":
        await controller.round(TicketKey(REPO, number))
    else:
        await controller.look_at_repository("acme", "shop")


@pytest.mark.parametrize("way", ["event", "sweep"])
async def test_a_pull_request_of_nobody_is_answered_once_and_nothing_else_is_touched(
    world: LoopWorld, way: str
) -> None:
    given = Enrolled(world)
    await _policy_told(world)
    sha = given.work("topic")
    number = given.pull("topic")
    before = world.requested()
    controller = world.controller()
    await _by(way, controller, number)
    assert _shown(world, sha) == [(OTHERS_ID, "success")]
    assert world.writes(before) == [f"POST /repos/{REPO}/check-runs"]
    for again in (controller, world.controller()):
        mark = world.requested()
        await _by(way, again, number)
        assert world.writes(mark) == []
    # A new head is a new question.
    sha = given.commit("topic", "More")
    await _by(way, controller, number)
    assert _shown(world, sha) == [(OTHERS_ID, "success")]


@pytest.mark.parametrize("policy", [None, POLICY.replace("repair", "observe")])
async def test_where_nothing_may_be_written_checks_are_untouched(world: LoopWorld, policy: str | None) -> None:
    given = Enrolled(world, policy)
    given.work("topic")
    number = given.pull("topic")
    before = world.requested()
    controller = world.controller()
    for way in ("event", "sweep"):
        await _by(way, controller, number)
    await controller.start_up()
    assert world.writes(before) == []


async def test_only_releases_go_into_main_where_the_policy_says_so(world: LoopWorld) -> None:
    given = Enrolled(world, POLICY + "release:\n  exclusive: true\nmain_exceptions: [hotfix]\n")
    heads = {name: given.work(name) for name in ("topic", "hotfix")}
    given.commit("release-1", "Released")
    heads["release-1"] = str(world.head("release-1"))
    numbers = {name: given.pull(name, "main") for name in heads}
    controller = world.controller()
    await controller.look_at_repository("acme", "shop")
    assert {name: _shown(world, sha)[0][1] for name, sha in heads.items()} == {
        "topic": "failure",
        "hotfix": "success",
        "release-1": "success",
    }
    # Its base is changed to a trunk: the same run says so.
    given.send("PATCH", f"pulls/{numbers['topic']}", base="release-1")
    await controller.round(TicketKey(REPO, numbers["topic"]))
    assert _shown(world, heads["topic"]) == [(OTHERS_ID, "success")]


async def test_a_tickets_red_run_is_never_hidden_by_an_answer_for_nobody(world: LoopWorld) -> None:
    """Two looks at once: the pull request is taken for nobody's while its ticket is being enrolled."""
    given = Enrolled(world)
    number = given.issue()
    sha = given.work(f"{number}-pears")
    pull = given.pull(f"{number}-pears")
    controller = world.controller()
    await given.settle(controller, number)
    assert [c for _, c in _shown(world, sha)] == ["action_required"]
    # The late answer of the other look.
    token = world.emulator.installation_token(world.app, world.installation)
    late = {"name": "Agent Recovery", "head_sha": sha, "status": "completed", "conclusion": "success"}
    late |= {"external_id": OTHERS_ID, "output": {"title": "Not an agent ticket", "summary": "x"}}
    async with httpx.AsyncClient(base_url=world.emulator.url, headers={"Authorization": f"Bearer {token}"}) as app:
        (await app.post(f"/repos/{REPO}/check-runs", json=late)).raise_for_status()
    await given.settle(controller, number)
    assert {c for _, c in _shown(world, sha)} == {"action_required"}
    mark = world.requested()
    await controller.round(TicketKey(REPO, pull))
    await given.settle(world.controller(), number)
    assert world.writes(mark) == []


@pytest.mark.parametrize("deed", ["deleted", "damaged"])
async def test_a_ticket_whose_ledger_was_taken_away_is_not_called_nobodys(world: LoopWorld, deed: str) -> None:
    """Who may write contents deletes the ledger and pushes: the new head must not get the green check of nobody."""
    given = Enrolled(world, "version: 1\nmode: repair\ntrunks: [release-*]\n")
    controller, _, sha = await world.published()
    await given.settle(controller, world.ticket)
    [pull] = world.get("pulls")
    ledger = f"git/refs/agent-recovery/active/{world.ticket}"
    if deed == "deleted":
        given.send("DELETE", ledger)
    else:
        given.send("PATCH", ledger, sha=sha, force=True)
    head = given.commit(pull["head"]["ref"], "Unfenced")
    # By its own number, by its repository's, and by a replica that has seen nothing yet.
    for looking in (controller, world.controller()):
        await looking.round(TicketKey(REPO, pull["number"]))
        await looking.look_at_repository("acme", "shop")
        await looking.round(TicketKey(REPO, world.ticket))
        assert _shown(world, head) == []


@pytest.mark.parametrize("ledger", ["stands", "deleted"])
async def test_a_linked_branch_of_any_name_is_its_tickets(world: LoopWorld, ledger: str) -> None:
    given = Enrolled(world)
    number = given.issue()
    given.link(number, "apples", str(world.head("release-1")))
    given.commit("apples")
    controller = world.controller()
    await given.settle(controller, number)
    [pull] = given.pulls("apples")
    if ledger == "deleted":
        given.send("DELETE", f"git/refs/agent-recovery/active/{number}")
    head = given.commit("apples", "More")
    # The repository and the pull request are looked at before the ticket is.
    await controller.look_at_repository("acme", "shop")
    await controller.round(TicketKey(REPO, pull["number"]))
    assert _shown(world, head) == []
    await given.settle(controller, number)
    assert [shown for _, shown in _shown(world, head)] == (["action_required"] if ledger == "stands" else [])


async def test_forty_pull_requests_are_answered_in_turns_and_then_cost_one_list(world: LoopWorld) -> None:
    given = Enrolled(world)
    await _policy_told(world)
    head = str(world.head("release-1"))
    tree = world.get(f"git/commits/{head}")["tree"]["sha"]
    for n in range(40):
        sha = given.send("POST", "git/commits", message=f"topic {n}", tree=tree, parents=[head])["sha"]
        given.send("POST", "git/refs", ref=f"refs/heads/topic-{n}", sha=sha)
        given.pull(f"topic-{n}")
    controller, before = world.controller(), world.requested()
    ended = [await controller.look_at_repository("acme", "shop") for _ in range(3)]
    assert [e.again_at is not None for e in ended] == [True, False, False]
    runs = world.emulator.requests(before)
    assert sum(r["method"] == "POST" and r["path"].endswith("/check-runs") for r in runs) == 40
    mark = world.requested()
    await controller.look_at_repository("acme", "shop")
    assert world.writes(mark) == []
    ours = [r for r in world.emulator.requests(mark) if str(r["identity"]).startswith("app:")]
    assert len(ours) <= 6


def _ticket_pull(base: str, head: str = "42-x", sha: str = A, state: str = "OPEN") -> Pull:
    return Pull(57, "PR_57", state, False, "t", "", head, sha, base, "octo/demo")


@pytest.mark.parametrize(
    ("pulls", "policy", "past"),
    [
        ((_ticket_pull("release-1"),), EXCLUSIVE, ()),
        ((_ticket_pull("main"),), EXCLUSIVE, (57,)),
        ((_ticket_pull("main"),), OPEN, ()),
        ((_ticket_pull("main", sha=B),), EXCLUSIVE, ()),
        ((_ticket_pull("main", state="CLOSED"),), EXCLUSIVE, ()),
        ((_ticket_pull("main", head="hotfix"),), EXCLUSIVE, ()),
    ],
)
def test_a_tickets_own_branch_does_not_go_past_a_release_either(
    pulls: tuple[Pull, ...], policy: Policy, past: tuple[int, ...]
) -> None:
    seen = replace(WORLD, pulls=pulls)
    assert trespassing_with(A, seen, policy) == past
    if past:
        verdict = trespassing_verdict(past, "main")
        assert (verdict.conclusion, "#57" in verdict.summary) == ("action_required", True)


@pytest.mark.parametrize(("branch", "lands"), [("apples", True), ("pears", False)])
def test_a_branch_of_any_name_lands_only_as_the_one_that_the_record_names(branch: str, lands: bool) -> None:
    work = Work(branch=branch, trunk="release-1", base_sha=B)
    record = Record(ticket=42, sequence=3, status="ready", generation=1, work=work)
    found = landable(_ticket_pull("release-1", head="apples"), record, WORLD, Policy())
    assert isinstance(found, TicketPull) is lands
