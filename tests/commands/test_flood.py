"""Too much of one person: a few are heard, one is told, the rest is silent, and a restart forgets nothing."""

import pytest
from spoken_world import SpokenWorld, ticket
from structlog.testing import capture_logs

from app.commands import hearing
from app.commands.flood import MOST, WITHIN

pytestmark = pytest.mark.drill


async def test_a_flood_of_one_person_has_one_notice(world: SpokenWorld) -> None:
    service = world.replica(world.folder / "flood.db")
    made = await ticket(world, service)
    said = [world.comment(made.ticket, "/recovery status") for _ in range(MOST + 6)]
    for comment in said[: MOST + 3]:
        await world.deliver(service, "issue_comment", world.payload(made.ticket, comment))
    await service.hear(100)
    restarted = world.replica(world.folder / "flood.db")
    for comment in said[MOST + 3 :]:
        await world.deliver(restarted, "issue_comment", world.payload(made.ticket, comment))
    await restarted.hear(100)
    answers = [world.answers(made.ticket, comment["id"]) for comment in said]
    assert [len(found) for found in answers] == [1] * (MOST + 1) + [0] * 5
    assert all("Ticket #1" in found[0] for found in answers[:MOST])
    assert "more here within 10 minutes than is heard of one person" in answers[MOST][0]
    assert world.reactions(said[MOST]["id"]) == ["eyes", "confused"]
    assert world.reactions(said[-1]["id"]) == []
    # Somebody else is heard meanwhile, and so is the same person when the time is over.
    other = await world.say(restarted, made.ticket, "/recovery status", by="tom")
    assert world.reactions(other) == ["eyes", "rocket"]
    await restarted.later(WITHIN.total_seconds() + 1)
    after = await world.say(restarted, made.ticket, "/recovery hold")
    assert world.reactions(after) == ["eyes", "rocket"]


async def test_a_word_that_is_tried_again_counts_once(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ticket(world, service)
    world.emulator.fault("status", match={"path_regex": "/collaborators/"}, code=502, times=None)
    comment = world.comment(made.ticket, "/recovery status")
    await world.deliver(service, "issue_comment", world.payload(made.ticket, comment))
    for _ in range(4):
        await service.hear()
        await service.later(100)
    world.emulator.clear_faults()
    await service.later(200)
    await service.hear()
    said = [await world.say(service, made.ticket, "/recovery status") for _ in range(MOST - 1)]
    assert [len(world.answers(made.ticket, id)) for id in (comment["id"], *said)] == [1] * MOST
    assert all("within 10 minutes" not in world.answer(made.ticket, id) for id in said)


async def test_one_comment_cannot_say_hundreds_of_things(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ticket(world, service)
    text = "\n\n".join(f"/recovery status {made.ticket}.c{number}" for number in range(2_500))
    since = world.requested()
    with capture_logs() as logs:
        said = await world.say(service, made.ticket, text, by="sam")
    assert max(len(str(line)) for line in logs) < 1_000
    assert len(world.emulator.requests(since)) < 20
    assert world.reactions(said) == ["eyes", "confused"]
    assert "says more than 10 things. None of its commands was carried out" in world.answer(made.ticket, said)


async def test_the_longest_answer_is_one_that_github_takes(world: SpokenWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hearing, "ANSWER", 2_000)
    service = world.replica()
    made = await ticket(world, service)
    said = await world.say(service, made.ticket, "\n".join(f"/recovery help {number}" for number in range(MOST)))
    assert world.reactions(said) == ["eyes", "rocket"]
    answer = world.answer(made.ticket, said)
    assert (answer.count("`/recovery help`: done."), answer.count("…")) == (MOST, MOST)
    assert len(answer) < 3_000


async def test_what_was_said_in_days_and_found_at_once_is_no_flood(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ticket(world, service)
    for _ in range(MOST + 2):
        world.comment(made.ticket, "/recovery status")
        await service.later(1800)
    hold = world.comment(made.ticket, "/recovery hold")
    await service.controller._loop._sweeper.sweep()
    await service.hear(60)
    assert world.reactions(hold["id"]) == ["eyes", "rocket"]
    assert len(world.comments(made.ticket, "agent-recovery:answer")) == MOST + 3
