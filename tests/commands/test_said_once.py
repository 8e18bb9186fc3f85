"""One effect and one answer, however often a comment is delivered, retried or found, by however many services."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from landing_world import Landing
from spoken_world import Replica, SpokenWorld, ticket

from app.commands import flood
from app.controller.person_commands import Done, Word
from app.domain.outcome import Blocked, Code, Refused


@pytest.fixture(autouse=True)
def nobody_says_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flood, "MOST", 1000)


class Killed(BaseException):
    """The process is gone."""


@dataclass
class Mortal(httpx.AsyncBaseTransport):
    """Ends its process at the n-th request to GitHub: before it is sent, or once GitHub has carried it out."""

    at: int
    after: bool
    met: list[str] = field(default_factory=list)
    dead: bool = False
    until: str = ""
    """Or at the first request to such a place."""

    def __post_init__(self) -> None:
        self._inner = httpx.AsyncHTTPTransport(verify=False)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.dead:
            raise Killed
        self.met.append(f"{request.method} {request.url.path}")
        if len(self.met) - 1 != self.at and not (self.until and self.until in request.url.path):
            return await self._inner.handle_async_request(request)
        self.dead = True
        if self.after:
            await (await self._inner.handle_async_request(request)).aread()
        raise Killed


async def heard_once(world: SpokenWorld, made: Landing, number: int, comment: int, verb: str) -> None:
    """One command in the record, one answer, its reaction."""
    record = await made.record()
    assert [c["verb"] for c in record.commands if c["id"] == str(comment)] == [verb]
    assert len(world.answers(number, comment)) == 1
    assert world.reactions(comment) == ["eyes", "rocket"]


async def test_delivered_again_replayed_and_replayed_to_an_empty_database(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ticket(world, service)
    comment = world.comment(made.ticket, "/recovery hold")
    payload = world.payload(made.ticket, comment)
    for _ in range(3):
        await world.deliver(service, "issue_comment", payload)
    await service.hear()
    ledger, since = world.ledger(), world.requested()
    await world.deliver(service, "issue_comment", payload)
    assert await service.hear() == [f"acme/shop!comment-{comment['id']} over"]
    assert world.writes(since) == []
    # A day later, and nothing is left of what the service remembered.
    empty = world.replica()
    await world.deliver(empty, "issue_comment", payload)
    await empty.hear()
    assert world.ledger() == ledger
    await heard_once(world, made, made.ticket, comment["id"], "hold")


async def test_words_that_no_record_knows_are_answered_once_too(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ticket(world, service)
    comment = world.comment(made.ticket, "/recovery help\n/recovery status")
    payload = world.payload(made.ticket, comment)
    for replica in (service, service, world.replica()):
        await world.deliver(replica, "issue_comment", payload)
        await replica.hear()
    answer = world.answer(made.ticket, comment["id"])
    assert answer.index("`/recovery help`") < answer.index("`/recovery status`")
    # Somebody removes the answer: the reaction still says that there was one.
    (own,) = world.comments(made.ticket, "agent-recovery:answer")
    world.tokens["boss"] = world.emulator.user("boss")["token"]
    world.role("boss", "admin")
    world.ask("boss", "DELETE", f"issues/comments/{own['id']}")
    third = world.replica()
    await world.deliver(third, "issue_comment", payload)
    await third.hear()
    assert world.answers(made.ticket, comment["id"]) == []


async def test_two_replicas_with_a_database_each(world: SpokenWorld) -> None:
    one, two = world.replica(), world.replica()
    made = await ticket(world, one)
    for text, verb in (("/recovery hold", "hold"), ("/recovery unhold", "unhold"), ("/recovery help", "")):
        comment = world.comment(made.ticket, text)
        payload = world.payload(made.ticket, comment)
        await asyncio.gather(*(world.deliver(replica, "issue_comment", payload) for replica in (one, two)))
        await asyncio.gather(one.hear(), two.hear())
        for replica in (one, two):
            await replica.later(700)
            await replica.hear()
        if verb:
            await heard_once(world, made, made.ticket, comment["id"], verb)
        assert len(world.answers(made.ticket, comment["id"])) == 1


async def test_two_replicas_on_one_database(world: SpokenWorld) -> None:
    one = world.replica(world.folder / "shared.db")
    two = world.replica(world.folder / "shared.db")
    made = await ticket(world, one)
    comment = world.comment(made.ticket, "/recovery hold")
    payload = world.payload(made.ticket, comment)
    await asyncio.gather(*(world.deliver(replica, "issue_comment", payload) for replica in (one, two)))
    await asyncio.gather(one.hear(), two.hear())
    await heard_once(world, made, made.ticket, comment["id"], "hold")


async def _killed(replica: Replica) -> None:
    with pytest.raises(Killed):
        await replica.hear()


@pytest.mark.drill
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_a_service_that_dies_at_any_request(world: SpokenWorld, after: bool) -> None:
    """The next one has the same database, or, every other time, an empty one."""
    service = world.replica()
    made = await ticket(world, service)
    verbs = ("hold", "unhold")
    requests = 0
    for turn in range(60):
        verb = verbs[turn % 2]
        comment = world.comment(made.ticket, f"/recovery {verb}")
        payload = world.payload(made.ticket, comment)
        file = world.folder / f"turn-{turn}-{after}.db"
        mortal = Mortal(at=turn, after=after)
        dying = world.replica(file, mortal)
        await world.deliver(dying, "issue_comment", payload)
        try:
            await dying.hear()
        except Killed:
            requests += 1
        else:
            break
        if turn % 2:
            successor = world.replica()
            await world.deliver(successor, "issue_comment", payload)
        else:
            successor = world.replica(file)
            await successor.later(60)
        await successor.hear()
        await heard_once(world, made, made.ticket, comment["id"], verb)
        assert (await made.record()).status == ("held" if verb == "hold" else "working")
    else:
        pytest.fail("it never came to its end")
    assert requests > 10, mortal.met


async def test_a_service_that_dies_between_its_act_and_its_answer(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ticket(world, service)
    comment = world.comment(made.ticket, "/recovery hold")
    payload = world.payload(made.ticket, comment)
    mortal = Mortal(at=-1, after=False)
    dying = world.replica(transport=mortal)
    await world.deliver(dying, "issue_comment", payload)
    mortal.until = f"/issues/{made.ticket}/comments"
    await _killed(dying)
    assert ((await made.record()).status, world.answers(made.ticket, comment["id"])) == ("held", [])
    await world.deliver(successor := world.replica(), "issue_comment", payload)
    await successor.hear()
    await heard_once(world, made, made.ticket, comment["id"], "hold")


class Undecided:
    """Stands for a controller to which GitHub does not say how it ended, for a while."""

    def __init__(self, done: Done, times: int) -> None:
        self._done, self._left = done, times

    async def hear(self, owner: str, name: str, ticket: Any, word: Word, *, dry_run: bool = False) -> Done:
        self._left -= 1
        if self._left < 0:
            return self._done
        reason = "a merge was under way, and GitHub does not say whether it happened"
        raise Refused(Blocked(Code.LANDING_UNRESOLVED, reason, "wait", retryable=True))


async def test_an_answer_that_is_not_known_yet_is_edited_in_place(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ticket(world, service)
    done = Done("the ticket is on hold", await made.record(), changed=True)
    service.ears._doing = Undecided(done, 2)  # type: ignore[assignment]
    comment = world.comment(made.ticket, "/recovery hold")
    await world.deliver(service, "issue_comment", world.payload(made.ticket, comment))
    await service.hear()
    (first,) = world.comments(made.ticket, "agent-recovery:answer")
    assert "`/recovery hold`: not known yet" in first["body"]
    assert world.reactions(comment["id"]) == ["eyes"]
    for _ in range(3):
        await service.later(60)
        await service.hear()
    (last,) = world.comments(made.ticket, "agent-recovery:answer")
    assert (last["id"], "`/recovery hold`: done." in last["body"]) == (first["id"], True)
    assert world.reactions(comment["id"]) == ["eyes", "rocket"]
    # Where it is never known, the answer says so in the end.
    service.ears._doing = Undecided(done, 1000)  # type: ignore[assignment]
    never = world.comment(made.ticket, "/recovery unhold")
    await world.deliver(service, "issue_comment", world.payload(made.ticket, never))
    for _ in range(2):
        await service.hear()
        await service.later(3700)
    await service.hear()
    assert "`/recovery unhold`: not done." in world.answer(made.ticket, never["id"])
    assert world.reactions(never["id"]) == ["eyes", "confused"]


async def test_what_was_done_is_answered_as_done_though_the_person_may_not_any_more(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ticket(world, service)
    comment = world.comment(made.ticket, "/recovery hold", by="tom")
    payload = world.payload(made.ticket, comment)
    mortal = Mortal(at=-1, after=False, until=f"/issues/{made.ticket}/comments")
    await world.deliver(dying := world.replica(transport=mortal), "issue_comment", payload)
    await _killed(dying)
    world.role("tom", "read")
    ledger = world.ledger()
    await world.deliver(successor := world.replica(), "issue_comment", payload)
    await successor.hear()
    await heard_once(world, made, made.ticket, comment["id"], "hold")
    assert "`/recovery hold`: done." in world.answer(made.ticket, comment["id"])
    assert world.ledger() == ledger


async def test_an_answer_that_was_not_heard_of_comes_late(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ticket(world, service)
    comment = world.comment(made.ticket, "/recovery help")
    await world.deliver(service, "issue_comment", world.payload(made.ticket, comment))
    world.emulator.fault("late", match={"method": "POST", "path_regex": "/issues/[0-9]+/comments"}, after=12)
    for _ in range(6):
        await service.hear()
        await service.later(70)
    assert len(world.answers(made.ticket, comment["id"])) == 1
    assert world.reactions(comment["id"]) == ["eyes", "rocket"]
    assert await service.hear() == []
