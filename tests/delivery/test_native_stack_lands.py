"""A ready ticket whose pull request GitHub keeps in a native stack: the plain merge is refused there, and it lands by
the merge that GitHub carries out later, up to its very end.
"""

import pytest
from landing_world import Landing
from loop_world import REPO, LoopWorld


async def _lowest_of_a_stack(world: LoopWorld) -> tuple[Landing, int, int]:
    """A ticket with its PR a draft, the lowest of a native stack; the numbers of its PR and of the one on top."""
    ticket = await Landing.begun(world)
    number = ticket.pull()["number"]
    above = ticket.person_pull("on-top", ticket.branch)
    body = {"pull_requests": [number, above]}
    world.http.post(f"/repos/{REPO}/stacks", json=body).raise_for_status()
    return ticket, number, above


def _asked_for_later(world: LoopWorld, since: int) -> int:
    return sum(write.endswith("/merge-async") for write in world.writes(since))


async def test_it_lands_by_the_later_merge_and_leaves_nothing_behind(world: LoopWorld) -> None:
    ticket, _, above = await _lowest_of_a_stack(world)
    await ticket.say("ready")
    since = world.requested()
    await ticket.settle()
    assert ticket.pull()["merged"]
    assert _asked_for_later(world, since) == 1
    assert ticket.issue() == ("closed", "completed")
    assert ticket.closings() == 1
    assert (ticket.place(), world.head(ticket.branch)) == ("done", None)
    record = await ticket.record()
    assert (record.status, record.open) == ("landed", ())
    assert record.landing.merged is not None
    assert record.landing.merged.merge_sha == ticket.pull()["merge_commit_sha"]
    # The one on top goes where the stack goes, by GitHub's own hand, and is not merged along.
    shown = world.get(f"pulls/{above}")
    assert (shown["state"], shown["merged"], shown["base"]["ref"]) == ("open", False, "release-1")
    since = world.requested()
    await ticket.settle()
    assert world.writes(since) == []


@pytest.mark.parametrize("lost", ["drop_before", "drop_after", "status_after"])
async def test_an_answer_that_got_lost_merges_once(world: LoopWorld, lost: str) -> None:
    ticket, _, _ = await _lowest_of_a_stack(world)
    await ticket.say("ready")
    more = {"code": 502} if lost == "status_after" else {}
    world.emulator.fault(lost, match={"method": "PUT", "path_regex": "/merge-async$"}, times=1, **more)
    await ticket.settle(world.controller())
    await ticket.settle(world.controller())
    assert ticket.pull()["merged"]
    assert ticket.place() == "done"
    assert ticket.closings() == 1
    assert len([m for m in ticket.trunk_messages() if m.startswith("Land ticket")]) == 1


async def test_what_is_above_an_unmerged_one_waits(world: LoopWorld) -> None:
    """Only what is lowest may land: asking for one above would merge what is below along."""
    ticket = await Landing.begun(world)
    number = ticket.pull()["number"]
    below = ticket.person_pull("below", "release-1")
    ticket.patch(f"pulls/{number}", base="below")
    world.http.post(f"/repos/{REPO}/stacks", json={"pull_requests": [below, number]}).raise_for_status()
    await ticket.say("ready")
    since = world.requested()
    await ticket.settle()
    assert not ticket.pull()["merged"]
    assert not world.get(f"pulls/{below}")["merged"]
    assert [w for w in world.writes(since) if "/merge" in w] == []
