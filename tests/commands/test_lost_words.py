"""What was said and never delivered is found by the sweep: three days back, in one request, never what was edited."""

import asyncio
import time

import pytest
from loop_world import REPO
from spoken_world import Replica, SpokenWorld, ticket

from app.commands import flood


@pytest.fixture(autouse=True)
def nobody_says_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flood, "MOST", 1000)


async def sweep(service: Replica) -> int:
    """One sweep; how often comments of the whole repository were asked for."""
    since = service.world.requested()
    await service.controller._loop._sweeper.sweep()
    seen = service.world.emulator.requests(since)
    return sum(str(r["path"]).partition("?")[0] == f"/repos/{REPO}/issues/comments" for r in seen)


async def test_what_was_never_delivered_is_heard_once(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ticket(world, service)
    await service.later(60)
    assert await sweep(service) == 1
    await service.later(300)
    lost = world.comment(made.ticket, "/recovery hold")
    edited = world.comment(made.ticket, "/recovery hold")
    world.ask("wanda", "PATCH", f"issues/comments/{edited['id']}", body="/recovery cancel")
    quoted = world.comment(made.ticket, "> /recovery cancel")
    talk = world.comment(made.ticket, "nothing to see")
    assert await sweep(service) == 1
    assert await service.hear() == [f"{REPO}!comment-{lost['id']} over"]
    assert ((await made.record()).status, world.reactions(lost["id"])) == ("held", ["eyes", "rocket"])
    for other in (edited, quoted, talk):
        assert (world.reactions(other["id"]), world.answers(made.ticket, other["id"])) == ([], [])
    await service.later(300)
    # The place where the last sweep ended is remembered, by another process on the database too.
    again = world.replica(service.file)
    assert await sweep(again) == 1
    assert await again.waiting() == []


async def test_a_delivery_that_comes_after_all_changes_nothing(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ticket(world, service)
    comment = world.comment(made.ticket, "/recovery hold")
    payload = world.payload(made.ticket, comment)
    await sweep(service)
    await service.hear()
    ledger, since = world.ledger(), world.requested()
    await world.deliver(service, "issue_comment", payload)
    await service.hear()
    assert (world.ledger(), world.writes(since)) == (ledger, [])


async def test_the_database_is_lost(world: SpokenWorld) -> None:
    first = world.replica()
    made = await ticket(world, first)
    old = world.comment(made.ticket, "/recovery hold for four days")
    await first.later(24 * 3600)
    answered = await world.say(first, made.ticket, "/recovery help")
    await first.later(72 * 3600 - 3600)
    acknowledged = world.comment(made.ticket, "/recovery hold")
    await world.deliver(first, "issue_comment", world.payload(made.ticket, acknowledged))
    # It was acknowledged and never run; now the database is gone.
    second = world.replica()
    await second.github.installations()
    await second.controller._loop._sweeper.start_up()
    ended = await second.hear()
    assert ended == [f"{REPO}!comment-{id} over" for id in (answered, acknowledged["id"])]
    assert len(world.answers(made.ticket, answered)) == 1
    assert len(world.answers(made.ticket, acknowledged["id"])) == 1
    assert world.reactions(old["id"]) == []
    assert (await made.record()).status == "held"


async def test_what_is_found_at_once_is_carried_out_as_it_was_said(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ticket(world, service)
    said = []
    for text in ("hold", "unhold") * 3:
        said.append(world.comment(made.ticket, f"/recovery {text}")["id"])
        await service.later(60)
    await sweep(service)
    stop = asyncio.Event()
    working = asyncio.create_task(service.controller.work(stop))
    deadline = time.monotonic() + 60
    while not all(world.reactions(id) == ["eyes", "rocket"] for id in said):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.1)
    stop.set()
    await working
    record = await made.record()
    assert record.status == "working"
    assert [c["id"] for c in record.commands] == [str(id) for id in said]


async def test_land_that_is_found_later_binds_to_no_newer_head(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ticket(world, service)
    number = int(made.pull()["number"])
    lost = world.comment(number, "/recovery land")
    await service.later(5)
    made.agent.push("two")
    await made.settle()
    await service.later(600)
    await sweep(service)
    await service.hear()
    assert world.reactions(lost["id"]) == ["eyes", "confused"]
    assert not made.pull()["merged"]


async def test_a_repository_without_a_policy_is_not_asked(world: SpokenWorld) -> None:
    service = world.replica()
    world.emulator.commit(REPO, {".github/agent-recovery.yml": None}, branch="main")
    world.comment(world.ticket, "/recovery help")
    assert await sweep(service) == 0
    assert await service.waiting() == []


async def test_a_look_that_fails_is_made_again_from_where_it_began(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ticket(world, service)
    await sweep(service)
    await service.later(1200)
    lost = world.comment(made.ticket, "/recovery hold")
    world.emulator.fault("status", match={"path_regex": "/issues/comments"}, code=502, times=5)
    await sweep(service)
    assert await service.waiting() == []
    world.emulator.clear_faults()
    await service.later(1200)
    await sweep(service)
    await service.hear()
    assert world.reactions(lost["id"]) == ["eyes", "rocket"]
