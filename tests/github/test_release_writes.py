"""What is written about a release's pull request, as the emulated GitHub answers it."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from delivery_world import NAME, DeliveryWorld

from app.domain.merge_answer import Meaning, meaning_of
from app.domain.pull_class import TicketPull
from app.domain.release_actions import MergeRelease
from app.github.errors import GraphQLFailed
from app.github.merging import MergeReply
from app.github.repository import Repository

TRUNK = "release-1"
PULLS = f"/repos/{NAME}/pulls"
CHECK = {
    "type": "required_status_checks",
    "parameters": {"required_status_checks": [{"context": "build"}], "strict_required_status_checks_policy": False},
}
QUEUE = {
    "type": "merge_queue",
    "parameters": {
        "check_response_timeout_minutes": 60,
        "grouping_strategy": "ALLGREEN",
        "max_entries_to_build": 5,
        "max_entries_to_merge": 5,
        "merge_method": "MERGE",
        "min_entries_to_merge": 1,
        "min_entries_to_merge_wait_minutes": 5,
    },
}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[DeliveryWorld]:
    async with DeliveryWorld(tmp_path) as made:
        yield made


async def release(world: DeliveryWorld) -> tuple[dict[str, Any], MergeRelease]:
    await world.commit(TRUNK, {"new.txt": "x"})
    made = await world.wanda.post(PULLS, json={"title": "Release", "head": TRUNK, "base": "main"})
    pull: dict[str, Any] = made.raise_for_status().json()
    order = MergeRelease(
        pull["number"], pull["head"]["sha"], "main", "merge", "Release", "By word.", ("7",), "8", "asked"
    )
    return pull, order


async def seen(world: DeliveryWorld) -> Any:
    return (await world.repository.release_observation(TRUNK, "main")).pulls[0]


async def graphql(world: DeliveryWorld, mutation: str, node_id: str) -> None:
    query = f"mutation($id: ID!) {{ {mutation}(input: {{pullRequestId: $id}}) {{ clientMutationId }} }}"
    answer = await world.boss.post("/graphql", json={"query": query, "variables": {"id": node_id}})
    assert "errors" not in answer.json(), answer.text


async def test_exactly_the_authorized_commit_is_merged(world: DeliveryWorld) -> None:
    _, order = await release(world)
    other = await world.repository.merge_release(replace(order, head_sha="1" * 40))
    assert meaning_of(other.status, other.message).meaning is Meaning.HEAD_MOVED
    reply = await world.repository.merge_release(order)
    assert (reply.status, reply.sha) == (200, world.emulated.git(NAME).branch("main"))


@pytest.mark.parametrize(
    "wrong", [{"head_sha": "abc1234"}, {"head_sha": ""}, {"authorized_by": ()}, {"asked_by": ""}], ids=str
)
async def test_an_order_that_nobody_stands_for_is_never_sent(world: DeliveryWorld, wrong: dict[str, Any]) -> None:
    _, order = await release(world)
    before = world.sent()
    with pytest.raises(ValueError, match="one full commit"):
        await world.repository.merge_release(replace(order, **wrong))
    assert world.sent() == before


async def test_a_draft_a_missing_check_and_a_queue_keep_it_back(world: DeliveryWorld) -> None:
    pull, order = await release(world)
    await world.repository.set_draft(pull["node_id"], True)
    draft = await world.repository.merge_release(order)
    assert (draft.status, draft.message) == (405, "Pull Request is still a draft")
    await world.repository.set_draft(pull["node_id"], False)
    await world.rules(CHECK, on="main")
    assert (await world.repository.merge_release(order)).status == 405
    await world.report(pull["head"]["sha"], "build")
    await world.rules(QUEUE, on="main")
    refused = await world.repository.merge_release(order)
    assert refused.status == 405
    found = await seen(world)
    assert (found.state, found.queued) == ("OPEN", False), "it is not put into the queue instead"


@pytest.mark.parametrize("fault", ["drop_after", "status_after"])
async def test_a_merge_that_is_not_heard_of_is_unknown(world: DeliveryWorld, fault: str) -> None:
    _, order = await release(world)
    more = {"code": 502} if fault == "status_after" else {}
    await world.emulated.control("POST", "/faults", kind=fault, match={"path_regex": "/merge$"}, **more)
    reply = await world.repository.merge_release(order)
    assert reply == MergeReply(None, reply.message)
    assert (await seen(world)).state == "MERGED"


async def test_nothing_is_merged_later_where_github_would(world: DeliveryWorld) -> None:
    """A native stack's pull request merges those below it too: no release is ever taken along, nor takes any."""
    await world.commit("ticket/1", {"one.txt": "x"}, of="release-1")
    low = (await world.wanda.post(PULLS, json={"title": "T", "head": "ticket/1", "base": "main"})).json()
    await world.commit("ticket/2", {"two.txt": "x"}, of="ticket/1")
    high = (await world.wanda.post(PULLS, json={"title": "T", "head": "ticket/2", "base": "ticket/1"})).json()
    numbers = {"pull_requests": [low["number"], high["number"]]}
    (await world.wanda.post(f"/repos/{NAME}/stacks", json=numbers)).raise_for_status()
    order = MergeRelease(high["number"], high["head"]["sha"], "main", "merge", "t", "m", ("7",), "8", "asked")
    reply = await world.repository.merge_release(order)
    assert reply.status == 403
    assert "asynchronous" in reply.message
    assert not (await world.wanda.get(f"{PULLS}/{low['number']}")).json()["merged"]


async def test_auto_merge_is_switched_off_and_stays_off(world: DeliveryWorld) -> None:
    pull, _ = await release(world)
    await world.boss.patch(f"/repos/{NAME}", json={"allow_auto_merge": True})
    await world.rules(CHECK, on="main")
    await graphql(world, "enablePullRequestAutoMerge", pull["node_id"])
    assert (await seen(world)).auto_merge
    for _ in range(2):
        await world.repository.stop_auto_merge(pull["node_id"])
        assert not (await seen(world)).auto_merge
    await world.report(pull["head"]["sha"], "build")
    assert (await seen(world)).state == "OPEN"
    with pytest.raises(GraphQLFailed):
        await world.repository.stop_auto_merge("PR_nothing")


async def test_it_is_taken_out_of_the_queue(world: DeliveryWorld) -> None:
    pull, _ = await release(world)
    await world.rules(QUEUE, CHECK, on="main")
    await world.report(pull["head"]["sha"], "build")
    await graphql(world, "enqueuePullRequest", pull["node_id"])
    queued = await seen(world)
    assert (queued.queued, queued.queue_entry is not None) == (True, True)
    await world.repository.dequeue(pull["node_id"])
    assert not (await seen(world)).queued


async def test_title_and_body_are_set_each_by_itself(world: DeliveryWorld) -> None:
    pull, _ = await release(world)
    await world.repository.edit_text(pull["number"], "Other", None)
    await world.repository.edit_text(pull["number"], None, "Body")
    before = world.sent()
    await world.repository.edit_text(pull["number"], None, None)
    assert world.sent() == before
    found = await seen(world)
    assert (found.title, found.body) == ("Other", "Body")


def test_neither_way_of_merging_can_be_given_what_is_the_others() -> None:
    assert get_type_hints(Repository.merge_pull)["pull"] is TicketPull
    assert get_type_hints(Repository.enqueue)["pull"] is TicketPull
    assert get_type_hints(Repository.merge_release)["order"] is MergeRelease
