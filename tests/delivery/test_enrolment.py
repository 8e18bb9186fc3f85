"""Tickets that nobody claimed: found, their missing PR opened, their head shown as unfenced, a person asked where it is
not certain; and a second round that writes nothing.
"""

from pathlib import Path

import pytest
from enrolled_world import LABEL, POLICY, Enrolled
from loop_world import REPO, LoopWorld, claims_of

from app.domain.agent_api import ClaimRequest
from app.domain.handoff_marker import marker_of
from app.domain.keys import TicketKey
from app.drill.audit.audit import audit
from app.drill.audit.reading import Reader
from app.ledger.moving import Mover
from app.ledger.seals import PublicKeys

BY_BRANCH = "version: 1\nmode: repair\ntrunks: [release-*]\nenroll:\n  branch: true\n"


async def _fixed(world: LoopWorld, given: Enrolled, number: int) -> None:
    """A second round, also of a replica that knows nothing, writes nothing."""
    before = world.requested()
    await given.settle(world.controller(), number)
    assert world.writes(before) == []


@pytest.mark.parametrize("by", ["label", "branch"])
async def test_the_missing_pr_of_an_enrolled_ticket_is_opened(world: LoopWorld, by: str) -> None:
    given = Enrolled(world, POLICY if by == "label" else BY_BRANCH)
    number = given.issue(labelled=by == "label")
    branch = f"ticket/{number}-pears"
    sha = given.work(branch)
    ended = await given.settle(world.controller(), number)
    assert ended.reason == "as it should be"
    (pull,) = given.pulls(branch)
    assert (pull["draft"], pull["base"]["ref"], pull["state"]) == (True, "release-1", "open")
    assert pull["body"].splitlines()[0] == f"Ticket: #{number}"
    assert len(world.comments(pull["number"], marker_of(number))) == 1
    # Shown as unfenced: red, under generation 0, and never green by itself.
    assert given.verdicts(sha) == [(f"{number}:0", "action_required")]
    assert given.ledger(number) is not None
    assert given.ledger(number, "done") is None
    await _fixed(world, given, number)


async def test_new_commits_on_a_passive_ticket_get_a_check_of_their_own_and_nothing_is_put_back(
    world: LoopWorld,
) -> None:
    given = Enrolled(world)
    number = given.issue()
    first = given.work(f"{number}-pears")
    controller = world.controller()
    await given.settle(controller, number)
    second = given.commit(f"{number}-pears", "More")
    await given.settle(controller, number)
    assert given.verdicts(second) == [(f"{number}:0", "action_required")]
    # Rewound by its people: nobody published anything, so it is nobody's business.
    given.send("PATCH", f"git/refs/heads/{number}-pears", sha=first, force=True)
    await given.settle(controller, number)
    assert world.head(f"{number}-pears") == first
    await _fixed(world, given, number)


async def test_a_pr_opened_by_hand_becomes_the_passive_tickets_wherever_it_goes(world: LoopWorld) -> None:
    given = Enrolled(world)
    given.branch("release-2")
    number = given.issue()
    given.work(f"{number}-pears")
    pull = given.pull(f"{number}-pears", "release-2", body=f"Ticket: #{number}")
    await given.settle(world.controller(), number)
    assert [p["number"] for p in given.pulls(f"{number}-pears")] == [pull]
    assert len(world.comments(pull, marker_of(number))) == 1
    assert world.get(f"pulls/{pull}")["base"]["ref"] == "release-2"
    await _fixed(world, given, number)


@pytest.mark.parametrize(
    "state", ["no branch", "no commit of its own", "not enrolled", "observe", "no policy", "closed", "PR closed"]
)
async def test_nothing_is_written_where_nothing_is_to_do(world: LoopWorld, state: str) -> None:
    policy = {"observe": POLICY.replace("repair", "observe"), "no policy": None}.get(state, POLICY)
    given = Enrolled(world, policy)
    number = given.issue(labelled=state != "not enrolled")
    if state == "no commit of its own":
        given.branch(f"{number}-pears")
    elif state != "no branch":
        given.work(f"{number}-pears")
    if state == "closed":
        given.send("PATCH", f"issues/{number}", state="closed")
    if state == "PR closed":
        given.send("PATCH", f"pulls/{given.pull(f'{number}-pears')}", state="closed")
    before = world.requested()
    ended = await given.settle(world.controller(), number)
    assert world.writes(before) == []
    assert ended.again_at is None
    assert given.ledger(number) is None


async def test_a_linked_branch_of_any_name_is_found(world: LoopWorld) -> None:
    given = Enrolled(world)
    number = given.issue()
    given.link(number, "apples", str(world.head("release-1")))
    given.commit("apples")
    await given.settle(world.controller(), number)
    assert [p["base"]["ref"] for p in given.pulls("apples")] == ["release-1"]
    await _fixed(world, given, number)


async def test_a_base_of_releases_that_is_named_like_a_tickets_branch_is_no_tickets(world: LoopWorld) -> None:
    given = Enrolled(world)
    number = given.issue()
    given.policy(f"{POLICY}release:\n  into: {number}-stable\n")
    given.work(f"{number}-stable", of="main")
    before = world.requested()
    ended = await given.settle(world.controller(), number)
    assert world.writes(before) == []
    assert ended.reason == f"nothing to do: no branch of #{number} stands"


async def test_stacked_work_goes_onto_its_predecessors_branch(world: LoopWorld) -> None:
    given = Enrolled(world)
    first, second = given.issue("First"), given.issue("Second")
    given.work(f"{first}-base")
    given.work(f"{second}-top", of=f"{first}-base")
    given.blocked_by(second, first)
    await given.settle(world.controller(), second)
    assert [p["base"]["ref"] for p in given.pulls(f"{second}-top")] == [f"{first}-base"]
    await _fixed(world, given, second)


async def test_a_contradiction_is_told_once_kept_up_to_date_and_settled_by_a_person(world: LoopWorld) -> None:
    given = Enrolled(world)
    number = given.issue()
    given.work(f"{number}-one")
    given.work(f"{number}-two")
    controller = world.controller()
    ended = await given.settle(controller, number)
    assert "several branches" in ended.reason
    (told,) = world.comments(number, "agent-recovery:report")
    assert told["body"].count("@wanda") == 1
    assert f"{number}-one" in told["body"]
    assert given.ledger(number) is None
    await _fixed(world, given, number)
    given.work(f"{number}-three")
    await given.settle(world.controller(), number)
    (again,) = world.comments(number, "agent-recovery:report")
    assert again["id"] == told["id"]
    assert f"{number}-three" in again["body"]
    for name in ("two", "three"):
        given.send("DELETE", f"git/refs/heads/{number}-{name}")
    await given.settle(controller, number)
    assert len(given.pulls(f"{number}-one")) == 1
    await _fixed(world, given, number)


async def test_an_unclear_trunk_is_told_and_never_guessed(world: LoopWorld) -> None:
    given = Enrolled(world)
    given.commit("release-1", "Released")
    given.branch("release-2", of="main")
    number = given.issue()
    given.work(f"{number}-pears")
    await given.settle(world.controller(), number)
    (told,) = world.comments(number, "agent-recovery:report")
    assert "release-1" in told["body"]
    assert "release-2" in told["body"]
    assert given.pulls(f"{number}-pears") == []
    await _fixed(world, given, number)


async def test_an_agent_takes_a_passive_ticket_over_with_its_branch_and_pr(world: LoopWorld) -> None:
    given = Enrolled(world)
    number = world.ticket
    given.send("POST", f"issues/{number}/labels", labels=[LABEL])
    foreign = given.work(f"{number}-pears")
    controller = world.controller()
    await given.settle(controller, number)
    grant = await world.claim(controller)
    assert (grant.generation, grant.branch, grant.published_sha) == (1, f"{number}-pears", None)
    agent = world.agent(grant)
    world.git(agent.folder, "merge", "-q", foreign)
    sha = agent.work("more")
    assert type(agent.push_commit(sha, "more")).__name__ == "Foreign"
    agent.push_commit(sha, "more", adopt=foreign)
    await given.settle(controller, number)
    assert len(given.pulls(grant.branch)) == 1
    assert given.verdicts(sha) == [(f"{number}:1", "success")]
    await _fixed(world, given, number)


@pytest.mark.parametrize("deed", ["label removed", "branch gone"])
async def test_what_enrolled_it_is_gone(world: LoopWorld, tmp_path: Path, deed: str) -> None:
    given = Enrolled(world)
    number = given.issue()
    given.work(f"{number}-pears")
    controller = world.controller()
    await given.settle(controller, number)
    if deed == "label removed":
        given.send("DELETE", f"issues/{number}/labels/{LABEL}")
    else:
        given.send("DELETE", f"git/refs/heads/{number}-pears")
    before = world.requested()
    ended = await given.settle(controller, number)
    assert ended.again_at is None
    assert world.head(f"{number}-pears") == (
        None if deed == "branch gone" else given.pulls(f"{number}-pears")[0]["head"]["sha"]
    )
    # That the PR went with its branch is noted in the ledger; else nothing is.
    noted = [w for w in world.writes(before) if "UpdateRefs" in w]
    assert len(noted) == (1 if deed == "branch gone" else 0)
    if deed == "label removed":
        assert {conclusion for _, conclusion in given.verdicts(given.pulls(f"{number}-pears")[0]["head"]["sha"])} == {
            "success"
        }
    await _fixed(world, given, number)
    # An independent reader finds nothing that contradicts the ledger.
    reader = Reader(api_url=world.emulator.url, repository=REPO, token=world.token, app="agent-recovery")
    keys = PublicKeys.from_base64(world.keys.public_keys_base64())
    found = audit(reader, tmp_path / "mirror.git", token=world.token, keys=keys)
    assert [lie for one in found for lie in one.lies] == []


async def test_closing_the_issue_ends_a_passive_ticket(world: LoopWorld) -> None:
    given = Enrolled(world)
    number = given.issue()
    given.work(f"{number}-pears")
    controller = world.controller()
    await given.settle(controller, number)
    given.send("PATCH", f"issues/{number}", state="closed", state_reason="not_planned")
    await given.settle(controller, number)
    assert given.ledger(number) is None
    assert given.ledger(number, "done") is not None
    await _fixed(world, given, number)


UPDATE = {"operation": "UpdateRefs", "kind": "graphql"}
FAULTS = [
    ("the birth's answer is lost", "drop_after", UPDATE, 1),
    ("the birth does not reach GitHub", "drop_before", UPDATE, 1),
    ("the permits' answer is lost", "drop_after", UPDATE, 2),
    ("the PR's answer is lost", "drop_after", {"path_regex": "/pulls$", "method": "POST"}, 1),
    ("the PR is refused for now", "status", {"path_regex": "/pulls$", "method": "POST"}, 1),
    ("the check-run's answer is lost", "drop_after", {"path_regex": "/check-runs$", "method": "POST"}, 1),
]


@pytest.mark.parametrize(("kind", "match", "nth"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS])
async def test_whatever_is_lost_while_a_ticket_is_taken_in_there_is_one_of_each(
    world: LoopWorld, monkeypatch: pytest.MonkeyPatch, kind: str, match: dict[str, str], nth: int
) -> None:
    async def at_once(mover: Mover, number: int) -> None:
        return None

    monkeypatch.setattr(Mover, "_pause", at_once)
    given = Enrolled(world)
    number = given.issue()
    sha = given.work(f"{number}-pears")
    extra = {"code": 500} if kind == "status" else {}
    world.emulator.fault(kind, match=match, times=1, nth=nth, **extra)
    # The first replica is never heard of again: a fresh one takes over what it left.
    await world.controller().round(TicketKey(REPO, number))
    world.emulator.clear_faults()
    world.emulator.advance(600)
    await given.settle(world.controller(), number)
    (pull,) = given.pulls(f"{number}-pears")
    assert len(world.comments(pull["number"], marker_of(number))) == 1
    assert {verdict for _, verdict in given.verdicts(sha)} == {"action_required"}
    assert given.ledger(number, "done") is None
    await _fixed(world, given, number)


async def test_what_is_no_drift_costs_lists_and_no_look(world: LoopWorld) -> None:
    """A hundred labelled Issues without a branch, and three with one that is not begun."""
    given = Enrolled(world)
    numbers = [given.issue(f"Issue {n}") for n in range(100)]
    for number in numbers[:3]:
        given.branch(f"{number}-begun")
    controller = world.controller()
    await controller.start_up()
    assert {f"{REPO}#{number}" for number in numbers[:3]} <= set(await world.poked())
    mark = world.requested()
    world.emulator.advance(300)
    await controller.look_at_repository("acme", "shop")
    assert await world.poked() == []
    asked = [r for r in world.emulator.requests(mark) if str(r["identity"]).startswith("app:")]
    assert len(asked) <= 12
    # One of them gets work: it alone is looked at.
    given.commit(f"{numbers[1]}-begun")
    await controller.look_at_repository("acme", "shop")
    assert await world.poked() == [f"{REPO}#{numbers[1]}"]
    assert world.writes(mark) in ([], [f"POST /repos/{REPO}/check-runs"])


async def test_a_claim_of_an_enrolled_issue_without_work_is_an_ordinary_claim(world: LoopWorld) -> None:
    given = Enrolled(world)
    number = given.issue()
    controller = world.controller()
    request = ClaimRequest(claim_id="a" * 16, observed_generation=0, holder="agent")
    grant = await controller.claim("acme", "shop", number, request, "wanda")
    assert (grant.generation, claims_of(grant).ticket) == (1, number)
