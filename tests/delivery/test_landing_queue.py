"""A trunk that takes merges through its queue: in, landed, thrown out, withdrawn."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from door_world import WORDS
from landing_world import Landing, policy, required, rules
from loop_world import REPO, LoopWorld

QUEUE = {
    "check_response_timeout_minutes": 60,
    "grouping_strategy": "ALLGREEN",
    "max_entries_to_build": 5,
    "max_entries_to_merge": 5,
    "merge_method": "MERGE",
    "min_entries_to_merge": 1,
    "min_entries_to_merge_wait_minutes": 0,
}


def _green(world: LoopWorld, sha: str) -> None:
    body = {"state": "success", "context": "ci"}
    world.http.post(f"/repos/{REPO}/statuses/{sha}", json=body).raise_for_status()


def _until(met: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if value := met():
            return value
        time.sleep(0.02)
    raise AssertionError("never met")


def _built(world: LoopWorld) -> str:
    """The head of the queue's only entry."""
    found = _until(lambda: world.get("git/matching-refs/heads/gh-readonly-queue/"))
    return str(found[0]["object"]["sha"])


async def _queued(world: LoopWorld) -> Landing:
    ticket = await Landing.begun(world, policy(checks="[ci]"))
    rules(world, "release-1", required("ci"), {"type": "merge_queue", "parameters": QUEUE})
    _green(world, ticket.pull()["head"]["sha"])
    await ticket.say("ready")
    await ticket.settle()
    (permit,) = (await ticket.record()).open
    assert (permit.kind, permit.state) == ("enqueue", "accepted")
    return ticket


async def test_a_queued_ticket_lands_when_the_queue_merges_it(world: LoopWorld) -> None:
    ticket = await _queued(world)
    since = world.requested()
    assert (await ticket.settle())[-1].startswith("the PR waits in the merge queue")
    assert world.writes(since) == []
    _green(world, _built(world))
    _until(lambda: ticket.pull()["merged"])
    await ticket.settle()
    record = await ticket.record()
    assert (ticket.place(), ticket.issue(), record.open) == ("done", ("closed", "completed"), ())
    assert world.head(ticket.branch) is None


async def test_an_entry_that_was_thrown_out_is_shown_and_tried_again_later(world: LoopWorld) -> None:
    ticket = await _queued(world)
    document = "mutation($id: ID!) { dequeuePullRequest(input: {id: $id}) { clientMutationId } }"
    body = {"query": document, "variables": {"id": ticket.pull()["node_id"]}}
    assert "errors" not in world.http.post("/graphql", json=body).json()
    await ticket.once()
    (permit,) = (await ticket.record()).open
    assert (permit.state, permit.reason) == ("blocked", "GitHub took the PR out of the merge queue")
    assert any("out of the merge queue" in c["body"] for c in world.comments(ticket.pull()["number"], "handoff"))
    world.emulator.advance(150)
    await ticket.settle()
    assert [p.state for p in (await ticket.record()).open] == ["accepted"]


@pytest.mark.parametrize("answer", ["drop_after", "drop_before"])
async def test_a_place_in_the_queue_without_an_answer_is_found(world: LoopWorld, answer: str) -> None:
    world.emulator.fault(answer, match={"operation": "Enqueue"})
    ticket = await _queued(world)
    assert len(ticket.pull()["head"]["sha"]) == 40
    (permit,) = (await ticket.record()).open
    assert permit.unanswered


async def test_a_ticket_whose_holder_goes_on_leaves_the_queue(world: LoopWorld) -> None:
    ticket = await _queued(world)
    sha = ticket.pull()["head"]["sha"]
    await ticket.say("working")
    await ticket.settle()
    record = await ticket.record()
    assert record.fence is not None
    assert (record.fence.on, sha in record.burned_shas, record.open) == (sha, True, ())
    _until(lambda: world.get("git/matching-refs/heads/gh-readonly-queue/") == [])
    assert (ticket.pull()["merged"], ticket.pull()["head"]["sha"]) == (False, record.fence.sha)


@pytest.mark.parametrize("first", ["word", "merge"])
async def test_a_queued_ticket_and_a_persons_word(world: LoopWorld, first: str) -> None:
    """On hold it leaves the queue before anybody is answered; where the queue was first, the answer is "landed"."""
    ticket = await _queued(world)
    sha, built = ticket.pull()["head"]["sha"], _built(world)
    if first == "merge":
        _green(world, built)
        _until(lambda: ticket.pull()["merged"])
    since = world.requested()
    answer = await WORDS["hold"]()(ticket.controller)
    assert answer == ("landed" if first == "merge" else "done")
    asked = [name for r in world.emulator.requests(since) for name in r["operations"]]
    assert ("dequeuePullRequest" in asked) is (first == "word")
    if first == "word":
        _green(world, built)
    await ticket.settle()
    record = await ticket.record()
    assert (ticket.pull()["merged"], record.status) == (first == "merge", "landed" if first == "merge" else "held")
    assert (sha in record.burned_shas) is (first == "word")
    assert record.open == ()


@pytest.mark.parametrize("lost", [False, True], ids=["answered", "not answered"])
async def test_a_queued_pr_that_a_person_closes_leaves_nothing_open(world: LoopWorld, lost: bool) -> None:
    if lost:
        world.emulator.fault("drop_after", match={"operation": "Enqueue"})
    ticket = await _queued(world)
    sha, number = ticket.pull()["head"]["sha"], ticket.pull()["number"]
    ticket.patch(f"pulls/{number}", state="closed")
    await ticket.settle()
    record = await ticket.record()
    assert (record.status, record.open) == ("cancelled", ())
    assert (ticket.pull()["merged"], ticket.pull()["state"], ticket.place()) == (False, "closed", "done")
    # A merge that was sent may come late: its head is withdrawn in the same update.
    assert sha in record.burned_shas
    since = world.requested()
    await ticket.settle()
    assert world.writes(since) == []
    ticket.patch(f"pulls/{number}", state="open")
    _green(world, ticket.pull()["head"]["sha"])
    await ticket.settle()
    assert ((await ticket.record()).open, ticket.place(), ticket.pull()["merged"]) == ((), "done", False)
