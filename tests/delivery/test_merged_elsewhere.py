"""Merges that a person made into a branch that is not the ticket's trunk: no Issue is closed and no landing is stopped
because of them.
"""

from door_world import WORDS, unhold
from landing_world import Landing
from loop_world import REPO, LoopWorld


async def test_a_cancelled_ticket_that_is_merged_elsewhere_stays_cancelled_and_its_issue_open(
    world: LoopWorld,
) -> None:
    ticket = await Landing.ready(world)
    assert await WORDS["cancel"]()(ticket.controller) == "done"
    ticket.patch(f"pulls/{ticket.pull()['number']}", base="main")
    ticket.click_ready()
    ticket.merge_by_hand()
    await ticket.settle()
    assert (await ticket.record()).status == "cancelled"
    assert ticket.issue() == ("open", None)


async def test_another_pr_of_the_branch_that_was_merged_elsewhere_stops_nothing(world: LoopWorld) -> None:
    ticket = await Landing.begun(world)
    own = ticket.pull()["number"]
    fields = {"title": "At once", "body": "", "base": "main", "head": ticket.branch}
    other = world.http.post(f"/repos/{REPO}/pulls", json=fields).raise_for_status().json()["number"]
    world.http.put(f"/repos/{REPO}/pulls/{other}/merge", json={}).raise_for_status()
    await ticket.settle()
    assert await WORDS["hold"]()(ticket.controller) == "done"
    assert await unhold()(ticket.controller) == "done"
    await ticket.say("ready")
    await ticket.settle()
    assert world.get(f"pulls/{own}")["merged"] is True
    assert (await ticket.record()).status == "landed"
    assert (ticket.place(), ticket.issue()) == ("done", ("closed", "completed"))


async def test_a_ticket_that_was_merged_elsewhere_is_done_when_its_trunk_has_the_work(world: LoopWorld) -> None:
    ticket = await Landing.begun(world)
    number = ticket.pull()["number"]
    ticket.patch(f"pulls/{number}", base="main")
    ticket.click_ready()
    ticket.merge_by_hand()
    await ticket.settle()
    assert (ticket.place(), ticket.issue()) == ("active", ("open", None))
    assert len(world.comments(number, "merge-")) + len(world.comments(world.ticket, "merge-")) == 1
    body = {"base": "release-1", "head": "main"}
    world.http.post(f"/repos/{REPO}/merges", json=body).raise_for_status()
    await ticket.settle()
    assert (ticket.place(), ticket.issue()) == ("done", ("closed", "completed"))
