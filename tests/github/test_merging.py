"""Merging, queueing and updating for one exact head: what GitHub answers, as values."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import respx
from delivery_world import NAME, DeliveryWorld, as_ticket

from app.domain.merge_answer import Meaning, meaning_of
from app.domain.merge_text import MergeText
from app.github.merging import (
    Enqueued,
    MergeReply,
    QueueRefusal,
    QueueRefused,
    UpdateRefusal,
    UpdateRefused,
    UpdateStarted,
)
from app.github.pull_edits import BaseRefusal, BaseRefused
from app.github.repository import Repository

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
CHECK = {
    "type": "required_status_checks",
    "parameters": {"required_status_checks": [{"context": "build"}], "strict_required_status_checks_policy": False},
}

SEEN = {
    "number": 7,
    "node_id": "PR_7",
    "head": {"ref": "ticket/42", "sha": "c" * 40},
    "base": {"ref": "release-1"},
    "draft": False,
}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[DeliveryWorld]:
    async with DeliveryWorld(tmp_path) as made:
        yield made


async def merge(world: DeliveryWorld, pull: dict[str, Any], sha: str | None = None) -> MergeReply:
    text = MergeText(f"Ticket 42 (#{pull['number']})", "Landed.")
    return await world.repository.merge_pull(as_ticket(pull, sha), "merge", text)


async def test_a_merge_for_exactly_this_head(world: DeliveryWorld) -> None:
    pull = await world.pull()
    reply = await merge(world, pull)
    assert (reply.status, reply.sha) == (200, world.emulated.git(NAME).branch("release-1"))
    told = await world.wanda.get(f"/repos/{NAME}/commits/{reply.sha}")
    assert told.json()["commit"]["message"] == f"Ticket 42 (#{pull['number']})\n\nLanded."


async def test_refusals_of_a_merge_keep_githubs_words(world: DeliveryWorld) -> None:
    pull = await world.pull()
    moved = await merge(world, pull, "1" * 40)
    assert (moved.status, meaning_of(moved.status, moved.message).meaning) == (409, Meaning.HEAD_MOVED)
    await world.rules(CHECK)
    ruled = await merge(world, pull)
    assert (ruled.status, meaning_of(ruled.status, ruled.message).meaning) == (405, Meaning.PENDING)
    assert ruled.message.splitlines()[-1] == 'Required status check "build" is expected.'


async def test_a_refusal_has_the_rules_read_anew(world: DeliveryWorld) -> None:
    pull = await world.pull()
    assert not (await world.repository.branch_rules("release-1")).required
    await world.rules(CHECK)
    assert (await merge(world, pull)).status == 405
    assert (await world.repository.branch_rules("release-1")).required


@pytest.mark.parametrize("fault", ["drop_after", "status_after"])
async def test_a_merge_that_is_not_heard_of_is_unknown(world: DeliveryWorld, fault: str) -> None:
    pull = await world.pull()
    more = {"code": 502} if fault == "status_after" else {}
    await world.emulated.control("POST", "/faults", kind=fault, match={"path_regex": "/merge$"}, **more)
    reply = await merge(world, pull)
    assert (reply.status, meaning_of(reply.status, reply.message).meaning) == (None, Meaning.VERIFY)
    assert (await world.wanda.get(f"/repos/{NAME}/pulls/{pull['number']}")).json()["merged"]


async def test_the_queue_takes_it_or_says_why_not(world: DeliveryWorld) -> None:
    pull = await world.pull()
    refused = await world.repository.enqueue(as_ticket(pull), pull["head"]["sha"])
    assert isinstance(refused, QueueRefused)
    assert refused.kind is QueueRefusal.NO_QUEUE
    await world.rules(QUEUE, CHECK)
    await world.report(pull["head"]["sha"], "build")
    moved = await world.repository.enqueue(as_ticket(pull), "1" * 40)
    assert isinstance(moved, QueueRefused)
    assert moved.kind is QueueRefusal.HEAD_MOVED
    assert isinstance(await world.repository.enqueue(as_ticket(pull), pull["head"]["sha"]), Enqueued)
    again = await world.repository.enqueue(as_ticket(pull), pull["head"]["sha"])
    assert isinstance(again, QueueRefused)
    assert again.kind is QueueRefusal.ALREADY_QUEUED
    seen = await world.repository.landing_evidence(pull["number"], pull["head"]["sha"], "release-1", "main")
    assert (seen.queued, seen.rules.queue) == (True, True)


async def test_a_branch_is_brought_up_to_date_or_why_not(world: DeliveryWorld) -> None:
    pull = await world.pull()
    update, head = world.repository.update_branch, pull["head"]["sha"]
    assert await update(pull["number"], head) == UpdateRefused(
        UpdateRefusal.UP_TO_DATE, "There are no new commits on the base branch."
    )
    await world.commit("release-1", {"new.md": "x"})
    moved = await update(pull["number"], "1" * 40)
    assert isinstance(moved, UpdateRefused)
    assert moved.kind is UpdateRefusal.HEAD_MOVED
    assert await update(pull["number"], head) == UpdateStarted()
    await world.commit("ticket/50", {"README.md": "ours\n"}, of="release-1")
    made = {"title": "T", "head": "ticket/50", "base": "release-1"}
    other = (await world.wanda.post(f"/repos/{NAME}/pulls", json=made)).json()
    await world.commit("release-1", {"README.md": "theirs\n"})
    conflict = await update(other["number"], other["head"]["sha"])
    assert isinstance(conflict, UpdateRefused)
    assert conflict.kind is UpdateRefusal.CONFLICT


async def test_a_native_stack_lands_from_the_bottom_and_keeps_its_bases(world: DeliveryWorld) -> None:
    low = await world.pull(branch="ticket/1")
    await world.commit("ticket/2", {"two.txt": "x"}, of="ticket/1")
    made = {"title": "T", "head": "ticket/2", "base": "ticket/1"}
    high = (await world.wanda.post(f"/repos/{NAME}/pulls", json=made)).json()
    numbers = {"pull_requests": [low["number"], high["number"]]}
    (await world.wanda.post(f"/repos/{NAME}/stacks", json=numbers)).raise_for_status()

    kept = await world.repository.edit_base(high["number"], "release-1")
    assert isinstance(kept, BaseRefused)
    assert kept.kind is BaseRefusal.IN_A_STACK
    reply = await merge(world, low)
    assert (reply.status, reply.sha) == (200, world.emulated.git(NAME).branch("release-1"))
    assert (await merge(world, low, "1" * 40)).status == 200, "it is merged already, and says so"
    above = await merge(world, high)
    assert above.status == 405, "it was seen on the branch below"
    high = (await world.wanda.get(f"/repos/{NAME}/pulls/{high['number']}")).json()
    moved = await merge(world, high, "1" * 40)
    assert (moved.status, meaning_of(moved.status, moved.message).meaning) == (409, Meaning.HEAD_MOVED)


async def test_what_is_below_a_ticket_in_a_native_stack_is_not_merged_with_it(world: DeliveryWorld) -> None:
    """GitHub merges all that is below: here the release itself, ready and with nothing in its way."""
    await world.commit("release-1", {"released.txt": "x"})
    made = {"title": "Release", "head": "release-1", "base": "main"}
    release = (await world.wanda.post(f"/repos/{NAME}/pulls", json=made)).json()
    ticket = await world.pull(branch="ticket/1")
    numbers = {"pull_requests": [release["number"], ticket["number"]]}
    (await world.wanda.post(f"/repos/{NAME}/stacks", json=numbers)).raise_for_status()
    before = world.emulated.git(NAME).branch("main"), world.emulated.git(NAME).branch("release-1")
    reply = await merge(world, ticket)
    assert (reply.status, meaning_of(reply.status, reply.message).meaning) == (405, Meaning.TERMINAL), reply
    assert "native stack into main" in reply.message
    assert (world.emulated.git(NAME).branch("main"), world.emulated.git(NAME).branch("release-1")) == before


STACKED = "Merging stacked PRs via this endpoint is not supported. Use the asynchronous merge endpoint instead."
PULL = "/repos/octo-org/demo/pulls/7"


def stacked(wire: respx.MockRouter, answer: httpx.Response, *looks: httpx.Response) -> respx.Route:
    """A pull request of a native stack, and what the asynchronous merge says."""
    wire.put(f"{PULL}/merge").respond(403, json={"message": STACKED})
    wire.get(PULL).respond(200, json={"number": 7, "stack": {"number": 1, "base": {"ref": SEEN["base"]["ref"]}}})
    later = wire.put(f"{PULL}/merge-async").mock(return_value=answer)
    wire.get(f"{PULL}/merge-async/u-1").mock(side_effect=list(looks))
    return later


def told(status: str, code: int = 200, **details: Any) -> httpx.Response:
    return httpx.Response(code, json={"status": status, "details": details})


PENDING = told("pending", 202, message="Merge request enqueued.", uuid="u-1")
WAITS = told("pending", 200, message="Merge request is in progress.", uuid="u-1")
FAILED = "Head branch was modified. Review and try the merge again."


@pytest.mark.parametrize(
    ("answer", "looks", "reply"),
    [
        (PENDING, [WAITS, told("merged", message="done", sha="a" * 40)], MergeReply(200, "done", "a" * 40)),
        (
            PENDING,
            [told("failed", message="1 conversation must be resolved")],
            MergeReply(405, "1 conversation must be resolved"),
        ),
        (PENDING, [told("failed", message=FAILED)], MergeReply(409, FAILED)),
        (PENDING, [WAITS] * 5, MergeReply(None, "Merge request is in progress.")),
        (PENDING, [httpx.Response(404)], MergeReply(None, "Merge request enqueued.")),
        (
            told("merged", message="Pull request is already merged.", sha="b" * 40),
            [],
            MergeReply(200, "Pull request is already merged.", "b" * 40),
        ),
        (told("failed", 400, message="Pull request is a draft."), [], MergeReply(400, "Pull request is a draft.")),
        (
            told("pending", 409, message="A merge request already exists for this pull request."),
            [],
            MergeReply(None, "A merge request already exists for this pull request."),
        ),
        (httpx.Response(502), [], MergeReply(None, "GitHub answered 502")),
    ],
)
async def test_a_native_stack_is_merged_later_and_waited_for(
    wire: respx.MockRouter,
    repository: Repository,
    answer: httpx.Response,
    looks: list[httpx.Response],
    reply: MergeReply,
) -> None:
    later = stacked(wire, answer, *looks)
    assert await repository.merge_pull(as_ticket(SEEN), "merge", MergeText("Ticket 42", "Landed.")) == reply
    (sent,) = later.calls
    assert b'"sha":"cccccccccc' in sent.request.content
    assert b'"merge_action":"direct_merge"' in sent.request.content
