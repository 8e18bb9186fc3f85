"""A merge whose answer is lost, late, refused, or meant for another base: the record says what is known, and one merge
comes of it or none.
"""

import json
import secrets
from functools import partial

import httpx
import pytest
from door_world import told
from landing_world import AT, Landing, policy, required, rules
from loop_world import REPO, LoopWorld

from app.controller.person_commands import Word
from app.domain import person_verbs
from app.domain.keys import TicketKey

MERGE = {"method": "PUT", "path_regex": "/merge$"}
SOON, LATER, LONG, NEVER = 3, 60, 150, 100_000


class BeforeMerge(httpx.AsyncBaseTransport):
    """Lets something happen between the permit of a merge and the merge."""

    def __init__(self) -> None:
        self._inner = httpx.AsyncHTTPTransport(verify=False)
        self.happens: list[object] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.method == "PUT" and request.url.path.endswith("/merge") and self.happens:
            self.happens.pop()()  # type: ignore[operator]
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


class Died(BaseException):
    """The process is gone."""


class TwoWrites(httpx.AsyncBaseTransport):
    """The way to GitHub of a process that dies after its second write; objects do not count, nobody sees them."""

    def __init__(self) -> None:
        self._inner = httpx.AsyncHTTPTransport(verify=False)
        self._written = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if self._written >= 2:
            raise Died
        response = await self._inner.handle_async_request(request)
        if path.endswith("/graphql"):
            self._written += json.loads(request.content)["query"].lstrip().startswith("mutation")
        elif request.method not in ("GET", "HEAD") and "/git/" not in path and not path.endswith("/access_tokens"):
            self._written += 1
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _until_sent(ticket: Landing) -> None:
    """Runs the loop until the merge was sent."""
    for _ in range(8):
        await ticket.once()
        ticket.world.emulator.advance(6)
        if any(r["method"] == "PUT" and str(r["path"]).endswith("/merge") for r in ticket.world.emulator.requests()):
            return
    raise AssertionError("no merge was sent")


def _merges(world: LoopWorld) -> int:
    """Commits of the trunk that a merge of ours made."""
    return sum(c["commit"]["message"].startswith("Land ticket") for c in world.get("commits?sha=release-1"))


def _landed(ticket: Landing) -> None:
    assert (ticket.pull()["merged"], ticket.place(), ticket.closings()) == (True, "done", 1)
    assert _merges(ticket.world) == 1
    assert ticket.world.head(ticket.branch) is None


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "late", "after": SOON},
        {"kind": "late", "after": LATER},
        {"kind": "drop_before"},
        {"kind": "drop_after"},
        {"kind": "status_after", "code": 502},
        {
            "kind": "status",
            "code": 405,
            "body": {"message": "Base branch was modified. Review and try the merge again."},
        },
        {"kind": "status", "code": 405, "body": {"message": "Pull Request is not mergeable"}},
    ],
    ids=lambda fault: "-".join(str(v) for v in fault.values() if not isinstance(v, dict)),
)
async def test_a_merge_without_an_answer_comes_once(world: LoopWorld, fault: dict[str, object]) -> None:
    ticket = await Landing.ready(world)
    world.emulator.fault(str(fault["kind"]), match=MERGE, **{k: v for k, v in fault.items() if k != "kind"})
    await ticket.settle(rounds=20)
    for _ in range(LATER):
        world.head("main")
    await ticket.settle(world.controller())
    _landed(ticket)


async def test_a_refusal_closes_nothing_while_another_send_is_under_way(world: LoopWorld) -> None:
    """The permit is sent twice: one send is refused, the other still comes."""
    ticket = await Landing.ready(world)
    world.emulator.fault("late", match=MERGE, after=LONG)
    await _until_sent(ticket)
    (permit,) = (await ticket.record()).open
    assert (permit.kind, permit.state, permit.unanswered) == ("merge", "unknown", True)
    world.emulator.fault("status", match=MERGE, code=405, body={"message": "At least 1 approving review is required."})
    world.emulator.advance(600)
    await ticket.once()
    (permit,) = (await ticket.record()).open
    assert (permit.state, permit.unanswered) == ("unknown", True), "only its end closes it"
    assert "approving review" in (permit.reason or "")
    for _ in range(LONG):
        world.head("main")
    world.emulator.advance(3600)
    await ticket.settle(rounds=20)
    _landed(ticket)


@pytest.mark.parametrize("after", [LONG, NEVER])
async def test_what_is_not_allowed_any_more_is_withdrawn_before_it_comes(world: LoopWorld, after: int) -> None:
    """A required check turns red while the merge is at the door. Where the merge came first, it has landed."""
    ticket = await Landing.ready(world, policy(checks="[ci]"))
    sha = ticket.pull()["head"]["sha"]
    _status(world, sha, "success")
    world.emulator.fault("late", match=MERGE, after=after)
    await _until_sent(ticket)
    assert (await ticket.record()).open[0].kind == "merge"
    _status(world, sha, "failure")
    world.emulator.advance(120)
    await ticket.once()
    record = await ticket.record()
    assert (record.fence is not None and record.fence.on, record.open, record.status) == (sha, (), "ready")
    assert sha in record.burned_shas
    for _ in range(LONG):
        world.head("main")
    await ticket.settle()
    assert not ticket.pull()["merged"]
    assert ticket.pull()["head"]["sha"] == record.fence.sha  # type: ignore[union-attr]
    _status(world, record.fence.sha, "success")  # type: ignore[union-attr]
    world.emulator.clear_faults()
    await ticket.settle()
    _landed(ticket)


async def test_another_base_between_the_permit_and_the_merge_is_an_incident(world: LoopWorld) -> None:
    door = BeforeMerge()
    ticket = await Landing.ready(world, controller=world.controller(transport=door))
    number = ticket.pull()["number"]

    def edit() -> None:
        ticket.patch(f"pulls/{number}", base="main")
        for _ in range(3):  # until GitHub has worked out that it can be merged there
            ticket.pull()

    door.happens.append(edit)
    await ticket.settle()
    record = await ticket.record()
    assert (record.status, ticket.issue()[0], ticket.place()) == ("held", "open", "active")
    assert "merged into main" in (record.landing.incident or "")
    await ticket.settle(world.controller())
    assert len(world.comments(world.ticket, "agent-recovery:report")) == 1
    since = world.requested()
    await ticket.settle()
    assert world.writes(since) == []


@pytest.mark.parametrize("happening", ["the holder pushes", "the holder goes on", "a rule comes"])
async def test_what_changes_at_the_last_moment_is_judged_anew(world: LoopWorld, happening: str) -> None:
    door = BeforeMerge()
    ticket = await Landing.ready(world, controller=world.controller(transport=door))
    before = ticket.pull()["head"]["sha"]
    deeds = {
        "the holder pushes": lambda: ticket.agent.push("two"),
        "the holder goes on": lambda: ticket.agent.push("two"),
        "a rule comes": lambda: rules(world, "release-1", required("ci")),
    }
    door.happens.append(deeds[happening])
    await ticket.settle(rounds=3)
    assert not ticket.pull()["merged"]
    assert [p.state for p in (await ticket.record()).open if p.kind == "merge"] in ([], ["blocked"])
    if happening == "a rule comes":
        _status(world, before, "success")
    else:
        await ticket.say("ready")
    world.emulator.advance(600)
    await ticket.settle()
    _landed(ticket)


async def test_a_process_that_dies_at_any_step_of_the_tail_leaves_the_rest_to_the_next(world: LoopWorld) -> None:
    """Each process dies after its second write: a permit is opened, its write is sent, and nobody hears the answer."""
    ticket = await Landing.ready(world)
    died = 0
    for _ in range(40):
        try:
            ended = await world.controller(transport=TwoWrites()).round(TicketKey(REPO, world.ticket))
        except Died:
            died += 1
            world.emulator.advance(3600)
            continue
        if ended.again_at is None:
            break
        world.emulator.advance(max(ended.again_at.timestamp() - world.emulator.now(), 0) + 1)
    assert died >= 4
    _landed(ticket)


def _status(world: LoopWorld, sha: str, state: str) -> None:
    """What CI says of a commit."""
    world.http.post(f"/repos/{REPO}/statuses/{sha}", json={"state": state, "context": "ci"}).raise_for_status()


async def test_an_issue_that_github_does_not_let_us_close_is_shown_and_closed_later(world: LoopWorld) -> None:
    ticket = await Landing.ready(world)
    refusal = {"code": 403, "body": {"message": "Resource not accessible by integration"}}
    world.emulator.fault("status", match={"method": "PATCH", "path_regex": f"/issues/{world.ticket}$"}, **refusal)
    await _until_sent(ticket)
    for _ in range(3):
        await ticket.once()
        world.emulator.advance(6)
    record = await ticket.record()
    assert [(p.kind, p.state) for p in record.open] == [("issue_close", "blocked")]
    assert (record.landing.issue_closed, ticket.place()) == (False, "active")
    await ticket.settle()
    _landed(ticket)


async def test_an_edit_of_the_base_that_comes_late_meets_no_merge(world: LoopWorld) -> None:
    """Trace: the App asked for another base and heard nothing; a person moves the ticket back; it becomes ready, and
    only then GitHub carries the edit out.
    """
    ticket = await Landing.begun(world)
    number = ticket.pull()["number"]
    world.emulator.commit("acme/shop", {"x": "y"}, branch="release-2")
    match = {"method": "PATCH", "path_regex": f"/pulls/{number}$"}
    world.emulator.fault("drop_before", match=match, times=1)
    assert await _moved(ticket, "release-2") == "done"
    await ticket.once()
    assert await _moved(ticket, "release-1") == "done"
    await ticket.say("ready")
    since = world.requested()
    begun = world.emulator.now()
    for _ in range(6):
        ended = await world.controller().round(TicketKey(REPO, ticket.ticket))
        if ended.again_at is not None and ended.again_at.timestamp() < begun + 600:
            world.emulator.advance(max(ended.again_at.timestamp() - world.emulator.now(), 0) + 1)
    assert [p.kind for p in (await ticket.record()).open] == ["base_edit"]
    assert [w for w in world.writes(since) if w.endswith("/merge")] == []
    # It comes now: what the App had asked for, done by GitHub.
    token = world.emulator.installation_token(world.app, world.installation)
    url = f"{world.emulator.url}/repos/{REPO}/pulls/{number}"
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(headers=headers) as late:
        (await late.patch(url, json={"base": "release-2"})).raise_for_status()
    await ticket.settle(world.controller(), rounds=30)
    record = await ticket.record()
    assert (ticket.pull()["merged"], ticket.pull()["base"]["ref"]) == (True, "release-1")
    assert (record.status, record.landing.incident, record.open) == ("landed", None, ())


async def _moved(ticket: Landing, trunk: str) -> str:
    rule = partial(person_verbs.retarget, by="wanda", to=trunk)
    word = Word(id=secrets.token_hex(6), verb="retarget", by="wanda", rule=rule, branch=trunk)
    return await told(ticket.controller.hear(*AT, ticket.ticket, word))
