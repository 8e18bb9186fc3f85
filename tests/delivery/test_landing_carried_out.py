"""Landing by the loop: a ready ticket is merged, its Issue closed, its branch removed, its ledger moved, and no more."""

import pytest
from landing_world import Landing, policy
from loop_world import LoopWorld


async def test_a_ready_ticket_lands_and_leaves_nothing_behind(world: LoopWorld) -> None:
    ticket = await Landing.ready(world)
    other = world.emulator.issue("acme/shop", "Another", author="wanda")["number"]
    await ticket.settle()
    pull = ticket.pull()
    assert (pull["merged"], pull["base"]["ref"]) == (True, "release-1")
    assert ticket.trunk_messages()[0].splitlines()[0] == f"Land ticket #{world.ticket} (PR #{pull['number']})"
    assert ticket.issue() == ("closed", "completed")
    assert ticket.closings() == 1
    assert world.head(ticket.branch) is None
    assert ticket.place() == "done"
    record = await ticket.record()
    assert (record.status, record.open, record.landing.incident) == ("landed", (), None)
    assert record.landing.merged is not None
    assert record.landing.merged.merge_sha == pull["merge_commit_sha"]
    assert world.get(f"issues/{other}")["state"] == "open"
    since = world.requested()
    await ticket.settle()
    assert world.writes(since) == []


@pytest.mark.parametrize("method", ["squash", "rebase"])
async def test_the_policy_says_how(world: LoopWorld, method: str) -> None:
    ticket = await Landing.ready(world, policy(method=method))
    await ticket.settle()
    assert ticket.pull()["merged"]
    assert ticket.place() == "done"
    assert world.head(ticket.branch) is None
    record = await ticket.record()
    assert record.landing.merged is not None
    assert world.head("release-1") == record.landing.merged.merge_sha


async def test_mode_repair_merges_nothing(world: LoopWorld) -> None:
    ticket = await Landing.ready(world, policy(mode="repair"))
    await ticket.settle()
    assert not ticket.pull()["merged"]
    assert ticket.place() == "active"


@pytest.mark.parametrize("mode", ["repair", "full"])
@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
async def test_what_a_person_merged_is_brought_to_its_end(world: LoopWorld, mode: str, method: str) -> None:
    ticket = await Landing.begun(world, policy(mode=mode))
    world.http.put  # noqa: B018
    number = ticket.pull()["number"]
    world.emulator.commit("acme/shop", {"more.txt": "x"}, branch="release-1")
    node = ticket.pull()["node_id"]
    query = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { clientMutationId } }"
    world.http.post("/graphql", json={"query": query, "variables": {"id": node}}).raise_for_status()
    ticket.merge_by_hand(merge_method=method, commit_message="This does not fix #13, it fixes #13")
    await ticket.settle()
    assert ticket.issue() == ("closed", "completed")
    assert ticket.closings() == 1
    assert (ticket.place(), world.head(ticket.branch)) == ("done", None)
    assert (await ticket.record()).landing.merged.pr == number  # type: ignore[union-attr]
