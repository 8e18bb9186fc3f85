"""A trunk that wants its newest commit in every head: one ticket at a time is brought up to date, and what GitHub makes
of it is taken over; anybody else's merge of the trunk is not.
"""

from functools import partial

import pytest
from landing_world import AT, Landing, policy, required, rules
from loop_world import REPO, LoopWorld

from app.controller.person_commands import Word
from app.domain import person_verbs


def _green(world: LoopWorld, sha: str) -> None:
    body = {"state": "success", "context": "ci"}
    world.http.post(f"/repos/{REPO}/statuses/{sha}", json=body).raise_for_status()


async def _behind(world: LoopWorld) -> Landing:
    ticket = await Landing.begun(world, policy(checks="[ci]"))
    rules(world, "release-1", required("ci", strict=True))
    world.emulator.commit(REPO, {"other.txt": "x"}, branch="release-1")
    _green(world, ticket.pull()["head"]["sha"])
    await ticket.say("ready")
    return ticket


async def test_a_ready_ticket_that_is_behind_is_brought_up_to_date_and_lands(world: LoopWorld) -> None:
    ticket = await _behind(world)
    before = ticket.pull()["head"]["sha"]
    lease = (await ticket.record()).identity
    await ticket.settle()
    record, head = await ticket.record(), ticket.pull()["head"]["sha"]
    assert head != before
    assert record.published is not None
    assert (record.published.sha, (record.published.generation, record.published.nonce)) == (head, lease)
    assert (record.status, record.open) == ("ready", ())
    assert not ticket.pull()["merged"]
    _green(world, head)
    await ticket.settle()
    assert (ticket.pull()["merged"], ticket.place()) == (True, "done")
    assert sum(p.endswith("/update-branch") for p in world.writes()) == 1


@pytest.mark.parametrize("fault", ["drop_after", "drop_before", "status_after"])
async def test_an_update_without_an_answer_is_taken_over_as_well(world: LoopWorld, fault: str) -> None:
    ticket = await _behind(world)
    more = {"code": 502} if fault == "status_after" else {}
    world.emulator.fault(fault, match={"method": "PUT", "path_regex": "/update-branch$"}, **more)
    await ticket.settle()
    record, head = await ticket.record(), ticket.pull()["head"]["sha"]
    assert record.published is not None
    assert record.published.sha == head
    assert len(world.get(f"commits/{head}")["parents"]) == 2
    assert record.open == ()


async def test_a_persons_word_goes_on_to_the_update_that_the_app_asked_for(world: LoopWorld) -> None:
    ticket = await _behind(world)
    await ticket.say("working")
    asked = ticket.pull()["head"]["sha"]
    word = Word(id="w", verb="land", by="wanda", rule=partial(person_verbs.land, by="wanda", sha=asked))
    await ticket.controller.hear(*AT, 1, word)
    await ticket.settle()
    head = ticket.pull()["head"]["sha"]
    assert head != asked
    assert not ticket.pull()["draft"]
    _green(world, head)
    await ticket.settle()
    assert (ticket.pull()["merged"], ticket.place()) == (True, "done")


async def test_anybody_elses_merge_of_the_trunk_is_foreign(world: LoopWorld) -> None:
    ticket = await _behind(world)
    body = {"base": ticket.branch, "head": "release-1"}
    made = world.http.post(f"/repos/{REPO}/merges", json=body).raise_for_status().json()["sha"]
    _green(world, made)
    await ticket.settle()
    record = await ticket.record()
    assert record.published is not None
    assert record.published.sha != made
    assert (ticket.pull()["merged"], ticket.place()) == (False, "active")


async def test_a_person_who_updates_the_branch_at_the_same_moment_is_not_us(world: LoopWorld) -> None:
    """The App's permit names the head, and the commit on top of it is a person's."""
    ticket = await _behind(world)
    world.emulator.fault("drop_before", match={"method": "PUT", "path_regex": "/update-branch$"})
    for _ in range(6):
        await ticket.once()
        if any(p.kind == "branch_update" for p in (await ticket.record()).open):
            break
    number = ticket.pull()["number"]
    world.http.put(f"/repos/{REPO}/pulls/{number}/update-branch", json={}).raise_for_status()
    world.emulator.flush()
    await ticket.settle()
    record = await ticket.record()
    head = ticket.pull()["head"]["sha"]
    assert record.published is not None
    assert record.published.sha != head
    assert (record.open, ticket.pull()["merged"]) == ((), False)
