"""What a person says in a comment is seen, carried out once and answered once."""

from collections.abc import Callable

import httpx
import pytest
from loop_world import REPO
from spoken_world import POLICY_FILE, SpokenWorld, ticket

from app.commands import flood
from app.controller.pokes import First
from app.domain.keys import TicketKey


@pytest.fixture(autouse=True)
def nobody_says_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flood, "MOST", 1000)


class Between(httpx.AsyncBaseTransport):
    """Does something after the answer to the first request that matches."""

    def __init__(self, matches: str, then: Callable[[], None]) -> None:
        self._inner = httpx.AsyncHTTPTransport(verify=False)
        self._matches = matches
        self._then = then
        self.met = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await self._inner.handle_async_request(request)
        if self._matches in request.url.path:
            await answer.aread()
            self.met += 1
            if self.met == 1:
                self._then()
        return answer


async def test_hold_on_the_pull_request_and_unhold_on_the_issue(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ticket(world, service)
    number = int(made.pull()["number"])
    said = await world.say(service, number, "/recovery hold wait for QA")
    record = await made.record()
    assert (record.status, world.reactions(said)) == ("held", ["eyes", "rocket"])
    assert [c["id"] for c in record.commands] == [str(said)]
    assert "`/recovery hold`: done." in world.answer(number, said)
    off = await world.say(service, made.ticket, "/recovery unhold")
    assert (await made.record()).status == "working"
    assert world.reactions(off) == ["eyes", "rocket"]
    assert len(world.answers(made.ticket, off)) == 1


async def test_an_issue_without_a_pull_request_or_a_ticket(world: SpokenWorld) -> None:
    service = world.replica()
    assert world.get("pulls?state=all") == []
    await world.claim(service.controller)
    held = await world.say(service, world.ticket, "/recovery hold")
    assert world.reactions(held) == ["eyes", "rocket"]
    assert "done" in world.answer(world.ticket, held)
    status = await world.say(service, world.ticket, "/recovery status", by="rita")
    assert "is held" in world.answer(world.ticket, status)
    plain = int(world.emulator.issue(REPO, "An idea", author="wanda")["number"])
    helped = await world.say(service, plain, "/recovery help", by="sam")
    assert "| `/recovery hold [reason]` |" in world.answer(plain, helped)
    none = await world.say(service, plain, "/recovery hold")
    assert world.reactions(none) == ["eyes", "confused"]
    assert "nobody has claimed it" in world.answer(plain, none)
    nothing = await world.say(service, plain, "/recovery land")
    assert "has no commit yet. An agent claims the ticket and pushes work first: `agent-recovery claim 2`" in (
        world.answer(plain, nothing)
    )
    assert await world.say(service, plain, "This is about /recovery hold in general.")
    assert len(world.comments(plain, "agent-recovery:answer")) == 3


async def test_who_may_is_what_github_says_now(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ticket(world, service)
    before = await made.record()
    comment = world.comment(made.ticket, "/recovery hold", by="rita")
    shown = {**comment, "author_association": "OWNER"}
    await world.deliver(service, "issue_comment", world.payload(made.ticket, shown))
    await service.hear()
    answer = world.answer(made.ticket, comment["id"])
    assert "GitHub gives rita the role read in this repository, and `/recovery hold` needs triage" in answer
    assert world.reactions(comment["id"]) == ["eyes", "confused"]
    stranger = await world.say(service, made.ticket, "/recovery cancel", by="sam")
    assert world.reactions(stranger) == ["eyes", "confused"]
    assert await made.record() == before
    allowed = await world.say(service, made.ticket, "/recovery hold", by="tom")
    assert world.reactions(allowed) == ["eyes", "rocket"]


async def test_a_permission_that_is_taken_away_before_the_act(world: SpokenWorld) -> None:
    between = Between("/collaborators/wanda/permission", lambda: world.role("wanda", "read"))
    first = world.replica()
    made = await ticket(world, first)
    before = await made.record()
    service = world.replica(transport=between)
    said = await world.say(service, made.ticket, "/recovery hold")
    assert between.met == 2
    assert await made.record() == before
    assert world.reactions(said) == ["eyes", "confused"]
    assert "needs triage" in world.answer(made.ticket, said)


async def test_a_permission_that_github_does_not_tell_permits_nothing_and_is_asked_again(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ticket(world, service)
    before = await made.record()
    world.emulator.fault(match={"path_regex": "/collaborators/.*/permission"}, kind="status", code=500, times=10)
    said = await world.say(service, made.ticket, "/recovery hold")
    assert (await made.record(), world.reactions(said), world.answers(made.ticket, said)) == (before, ["eyes"], [])
    world.emulator.clear_faults()
    await service.later(600)
    await service.hear()
    assert (await made.record()).status == "held"
    assert world.reactions(said) == ["eyes", "rocket"]


async def test_nothing_is_written_where_the_app_only_observes(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ticket(world, service)
    world.policy("observe")
    since = world.requested()
    said = await world.say(service, made.ticket, "/recovery hold\n/recovery help")
    assert (world.writes(since), world.reactions(said)) == ([], [])
    world.emulator.commit(REPO, {POLICY_FILE: None}, branch="main")
    await world.say(service, made.ticket, "/recovery help")
    assert world.writes(since) == []


async def test_nothing_is_written_in_a_stopped_repository_and_it_is_heard_afterwards(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ticket(world, service)
    await world.stops.stop(REPO, None, by="olga", reason="an audit", now=service.github.clock.now())
    since = world.requested()
    said = await world.say(service, made.ticket, "/recovery hold")
    assert world.writes(since) == []
    await world.stops.start(REPO)
    await service.later(120)
    await service.hear()
    assert world.reactions(said) == ["eyes", "rocket"]


async def test_several_commands_of_one_comment_have_one_answer(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ticket(world, service)
    world.emulator.commit(REPO, {"x": "y"}, branch="release-2")
    number = int(made.pull()["number"])
    said = await world.say(service, number, "/recovery retarget release-2\n\n/recovery hold\n/recovery frobnicate\n")
    record = await made.record()
    assert (record.status, record.trunk) == ("held", "release-2")
    assert [c["id"] for c in record.commands] == [str(said), f"{said}.2"]
    answer = world.answer(number, said)
    places = [answer.index(f"`/recovery {verb}`: ") for verb in ("retarget", "hold", "frobnicate")]
    assert places == sorted(places)
    assert world.reactions(said) == ["eyes", "confused"]
    both = await world.say(service, number, "/recovery unhold\n/recovery hold")
    assert "contradict each other" in world.answer(number, both)
    assert (await made.record()).commands == record.commands


async def test_what_is_said_gets_too_old(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ticket(world, service)
    late = world.comment(made.ticket, "/recovery takeover\n/recovery hold")
    later = world.comment(made.ticket, "/recovery unhold")
    world.emulator.advance(25 * 3600)
    await world.deliver(service, "issue_comment", world.payload(made.ticket, late))
    await service.hear()
    answer = world.answer(made.ticket, late["id"])
    assert "`/recovery takeover`: not done." in answer
    assert "too old. Say it again in a new comment." in answer
    assert "`/recovery hold`: done." in answer
    world.emulator.advance(48 * 3600)
    await world.deliver(service, "issue_comment", world.payload(made.ticket, later))
    await service.hear()
    assert (world.reactions(later["id"]), world.answers(made.ticket, later["id"])) == ([], [])
    assert (await made.record()).status == "held"


async def test_the_text_is_that_of_the_delivery(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ticket(world, service)
    comment = world.comment(made.ticket, "/recovery hold for now")
    await world.deliver(service, "issue_comment", world.payload(made.ticket, comment))
    edited = world.ask("wanda", "PATCH", f"issues/comments/{comment['id']}", body="/recovery cancel")
    await world.deliver(service, "issue_comment", world.payload(made.ticket, edited, "edited"))
    # A delivery that was made before the edit and comes after it counts; what it says now does not.
    await world.deliver(service, "issue_comment", world.payload(made.ticket, edited))
    await service.hear()
    record = await made.record()
    assert (record.status, [c["verb"] for c in record.commands]) == ("held", ["hold"])
    removed = world.comment(made.ticket, "/recovery unhold")
    await world.deliver(service, "issue_comment", world.payload(made.ticket, removed))
    world.ask("wanda", "DELETE", f"issues/comments/{removed['id']}")
    await service.hear()
    assert (await made.record(), world.answers(made.ticket, removed["id"])) == (record, [])


async def test_land_binds_to_the_head_that_was_there_when_it_was_said(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ticket(world, service)
    number = int(made.pull()["number"])
    comment = world.comment(number, "/recovery land")
    payload = world.payload(number, comment)
    world.emulator.advance(5)
    made.agent.push("two")
    await made.settle()
    await world.deliver(service, "issue_comment", payload)
    await service.hear()
    assert world.reactions(comment["id"]) == ["eyes", "confused"]
    assert not made.pull()["merged"]
    world.emulator.advance(5)
    again = await world.say(service, number, "/recovery land")
    assert world.reactions(again) == ["eyes", "rocket"], world.answers(number, again)


async def test_a_comment_on_another_branch_of_the_ticket_is_not_about_it(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ticket(world, service)
    before = await made.record()
    other = made.person_pull(f"{made.ticket}-another", "release-1")
    said = await world.say(service, other, "/recovery hold")
    assert world.reactions(said) == ["eyes", "confused"]
    assert "is no ticket's own pull request, and no release's" in world.answer(other, said)
    assert await made.record() == before


async def test_where_no_answer_can_be_written_the_reaction_says_it(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ticket(world, service)
    comment = world.comment(made.ticket, "/recovery hold")
    await world.deliver(service, "issue_comment", world.payload(made.ticket, comment))
    world.emulator.fault(
        match={"method": "POST", "path_regex": f"/issues/{made.ticket}/comments"},
        kind="status",
        code=403,
        body={"message": "Unable to create comment because issue is locked."},
    )
    assert await service.hear() == [f"{REPO}!comment-{comment['id']} over"]
    assert ((await made.record()).status, world.reactions(comment["id"])) == ("held", ["eyes", "rocket"])


async def test_words_do_not_wait_for_rounds_of_tickets(world: SpokenWorld) -> None:
    service = world.replica()
    made = await ticket(world, service)
    await service.pokes.poke(str(TicketKey(REPO, made.ticket)))
    comment = world.comment(made.ticket, "/recovery hold")
    await world.deliver(service, "issue_comment", world.payload(made.ticket, comment))
    assert await service.pokes.take("a", First.TICKETS) is not None
    assert await service.pokes.take("b", First.OTHERS) is None
    assert await service.waiting() == [f"{REPO}!comment-{comment['id']}"]
