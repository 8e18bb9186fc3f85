"""A person's words at the operator's terminal: what each answers, writes and ends with."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from enrolled_world import LABEL, Enrolled
from landing_world import Landing
from loop_world import REPO, LoopWorld

from app.domain.keys import TicketKey
from app.domain.outcome import Refused

if TYPE_CHECKING:
    from operating import Operator, Said

sys.path.append(str(Path(__file__).parents[1] / "adoption"))

LANDS = "version: 1\nmode: full\ntrunks: [release-*]\nlanding:\n  checks: none\n  unguarded_base: accept\n"


class Terminal:
    """The operator's terminal, with one ticket in mind."""

    def __init__(self, operator: "Operator") -> None:
        self.operator = operator

    async def say(self, verb: str, *more: str, ticket: str = "1", by: str = "wanda") -> "Said":
        return await self.operator.run(verb, REPO, *more, "--ticket", ticket, "--by", by, "--json")


@pytest.fixture
def terminal(world: LoopWorld, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    from operating import Operator  # here, because its folder is put on the path above

    return Terminal(Operator(world, monkeypatch))


async def test_a_ticket_is_put_on_hold_and_taken_off(world: LoopWorld, terminal: Terminal) -> None:
    ticket = await Landing.ready(world, LANDS)
    before, since = world.ledger(), world.requested()
    tried = await terminal.say("hold", "--reason", "wait for QA", "--dry-run")
    assert (tried.code, tried.json["written"], tried.json["changed"]) == (0, False, True)
    assert (world.ledger(), world.writes(since)) == (before, [])
    held = await terminal.say("hold", "--reason", "wait for QA")
    assert (held.code, held.json["status"], held.json["written"]) == (0, "held", True)
    assert "nothing is claimed, written or landed" in held.json["answer"]
    again = await terminal.say("hold", by="bob")
    assert (again.code, again.json["changed"]) == (0, False)
    assert "wanda put the ticket on hold" in again.json["answer"]
    refused = await terminal.say("takeover")
    assert (refused.code, refused.json["error"]["code"]) == (4, "held")
    await ticket.settle()
    assert not ticket.pull()["merged"]
    (comment,) = world.comments(ticket.pull()["number"], "agent-recovery:handoff")
    assert "On hold" in comment["body"]
    assert "wait for QA" in comment["body"]
    off = await terminal.say("unhold")
    assert (off.code, off.json["status"]) == (0, "ready")
    await ticket.settle()
    assert (ticket.pull()["merged"], ticket.place()) == (True, "done")
    late = await terminal.say("cancel")
    assert (late.code, late.json["error"]["code"]) == (5, "landed")


async def test_a_ticket_moves_to_another_trunk_and_lands_there_at_a_persons_word(
    world: LoopWorld, terminal: Terminal
) -> None:
    ticket = await Landing.begun(world, LANDS)
    world.emulator.commit(REPO, {"x": "y"}, branch="release-2")
    refused = await terminal.say("retarget", "main")
    assert (refused.code, refused.json["error"]["code"]) == (2, "trunk_unclear")
    moved = await terminal.say("retarget", "release-2")
    number = ticket.pull()["number"]
    assert (moved.code, moved.json["trunk"]) == (0, "release-2")
    assert moved.json["answer"] == f"#1 goes to release-2; the base of PR #{number} follows"
    await ticket.settle()
    assert ticket.pull()["base"]["ref"] == "release-2"
    head = str(ticket.pull()["head"]["sha"])
    other = await terminal.say("land", "f" * 40)
    assert (other.code, other.json["error"]["code"]) == (5, "branch_moved")
    assert (await terminal.operator.run("land", REPO, head[:12], "--ticket", "1", "--by", "wanda")).code == 2
    asked = await terminal.say("land", head)
    assert (asked.code, asked.json["published"]) == (0, head)
    await ticket.settle()
    pull = ticket.pull()
    assert (pull["merged"], pull["base"]["ref"], ticket.place()) == (True, "release-2", "done")


async def test_a_foreign_head_is_accepted_and_a_live_lease_is_taken_over(world: LoopWorld, terminal: Terminal) -> None:
    ticket = await Landing.begun(world, LANDS)
    foreign = world.emulator.commit(REPO, {"foreign.txt": "x"}, branch=ticket.branch, author="wanda")
    unknown = await terminal.say("accept", "f" * 40)
    assert (unknown.code, unknown.json["error"]["code"]) == (5, "branch_moved")
    accepted = await terminal.say("accept", foreign)
    assert (accepted.code, accepted.json["published"]) == (0, foreign)
    record = await ticket.record()
    assert record.published_now is not None
    assert record.published_now.sha == foreign
    taken = await terminal.say("takeover")
    assert (taken.code, taken.json["status"], taken.json["generation"]) == (0, "unclaimed", 2)
    assert (await terminal.say("takeover")).json["changed"] is False
    await ticket.settle()
    grant = await world.claim(ticket.controller, generation=2)
    assert (grant.generation, grant.head_sha) == (3, foreign)


async def test_a_cancelled_ticket_is_brought_back_by_another_word(world: LoopWorld, terminal: Terminal) -> None:
    ticket = await Landing.begun(world, LANDS)
    assert (await terminal.say("bring-back")).json["changed"] is False
    over = await terminal.say("cancel", "--reason", "not any more")
    assert (over.code, over.json["status"], ticket.place()) == (0, "cancelled", "done")
    await ticket.settle()
    (comment,) = world.comments(ticket.pull()["number"], "agent-recovery:handoff")
    assert "wanda ended it at" in comment["body"]
    assert "not any more" in comment["body"]
    with pytest.raises(Refused, match="the ticket is cancelled"):
        await world.claim(ticket.controller, generation=1)
    back = await terminal.say("bring-back")
    assert (back.code, back.json["answer"]) == (0, "#1 can be claimed again while its Issue is open")
    grant = await world.claim(ticket.controller, generation=1)
    assert (grant.generation, grant.head_sha, ticket.place()) == (2, ticket.pull()["head"]["sha"], "active")


async def test_a_call_that_names_nothing_ends_with_2(world: LoopWorld, terminal: Terminal) -> None:
    await Landing.begun(world, LANDS)
    for said in (
        await terminal.say("hold", ticket="forty-two"),
        await terminal.say("hold", by="not a login"),
        await terminal.say("hold", ticket="77"),
        await terminal.say("cancel", ticket="1.docs-1"),
    ):
        assert said.code == 2
        assert said.json["error"]["next_action"]


async def test_a_ticket_that_nobody_claimed_lands_at_a_persons_word_alone(world: LoopWorld, terminal: Terminal) -> None:
    people = Enrolled(world, f"{LANDS}enroll:\n  label: {LABEL}\n")
    number, controller = people.issue(), world.controller()
    branch = f"ticket/{number}"
    head = people.work(branch)
    key = TicketKey(REPO, number)

    async def settle() -> None:
        for _ in range(8):
            ended = await controller.round(key)
            if ended.again_at is None:
                return
            world.emulator.advance(max(ended.again_at.timestamp() - world.emulator.now(), 0) + 1)

    await settle()
    refused = await terminal.say("land", head, ticket=str(number))
    assert (refused.code, refused.json["error"]["code"]) == (2, "not_published")
    accepted = await terminal.say("accept", head, ticket=str(number))
    assert (accepted.code, accepted.json["published"]) == (0, head)
    await settle()
    (run,) = world.check_runs(head)
    assert (run["conclusion"], run["output"]["title"]) == ("success", "Accepted by a person")
    assert (await terminal.say("hold", ticket=str(number))).json["status"] == "held"
    assert (await terminal.say("unhold", ticket=str(number))).json["status"] == "unclaimed"
    assert (await terminal.say("land", head, ticket=str(number))).code == 0
    await settle()
    (pull,) = people.pulls(branch)
    assert pull["merged_at"] is not None
    assert world.get(f"issues/{number}")["state"] == "closed"
    assert world.get(f"git/matching-refs/agent-recovery/done/{number}")
