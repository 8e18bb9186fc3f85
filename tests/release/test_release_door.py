"""A merge of a release at GitHub's door: sent while it was authorized, unheard, and carried out late. Whoever takes the
word back is answered with the truth, and a merge that comes all the same is an incident.
"""

import asyncio
import json
from collections.abc import Awaitable

import httpx
import pytest
from loop_world import REPO
from release_world import POLICY, TRUNK, ReleaseWorld

from app.controller.controller import Controller
from app.domain.outcome import Refused

pytestmark = pytest.mark.drill

MERGE = {"method": "PUT", "path_regex": "/merge$"}
_READY = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { clientMutationId } }"


class Door(httpx.AsyncBaseTransport):
    """The App's way to GitHub, with a door: the first merge waits there until it is let through, and its sender hears
    nothing.
    """

    def __init__(self) -> None:
        self._wire = httpx.AsyncHTTPTransport(verify=False)
        self._waiting: httpx.Request | None = None
        self.status: int | None = None

    async def go_through(self) -> int | None:
        """GitHub carries it out now; its answer's status."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            answer = await self._wire.handle_async_request(waiting)
            await answer.aread()
            await answer.aclose()
            self.status = answer.status_code
        return self.status

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = await request.aread()
        is_merge = request.method == "PUT" and request.url.path.endswith("/merge")
        if is_merge and self.status is None and self._waiting is None:
            self._waiting = httpx.Request(request.method, request.url, headers=request.headers, content=body)
            raise httpx.ReadError("the connection was cut")
        return await self._wire.handle_async_request(request)

    async def aclose(self) -> None:
        await self._wire.aclose()


class Lagging(httpx.AsyncBaseTransport):
    """The App's way to GitHub, where the first reading after a merge comes from a replica that has not heard of it."""

    def __init__(self) -> None:
        self._wire = httpx.AsyncHTTPTransport(verify=False)
        self._merged = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = await request.aread()
        answer = await self._wire.handle_async_request(request)
        self._merged |= request.method == "PUT" and request.url.path.endswith("/merge") and answer.status_code == 200
        if not (self._merged and b"PullNow" in body):
            return answer
        self._merged = False
        whole = json.loads(await answer.aread())
        whole["data"]["repository"]["pullRequest"] |= {"state": "OPEN", "mergedAt": None, "mergeCommit": None}
        headers = {k: v for k, v in answer.headers.items() if k.lower() not in ("content-length", "content-encoding")}
        return httpx.Response(200, headers=headers, json=whole)

    async def aclose(self) -> None:
        await self._wire.aclose()


async def authorized(world: ReleaseWorld, door: httpx.AsyncBaseTransport | None = None) -> tuple[Controller, int, str]:
    """A release that a person authorized, its guard green: the controller, the number and the head."""
    world.policy(POLICY + "  expires: 10m\n")
    controller = world.controller(transport=door)
    world.differ()
    await world.settle(controller)
    pull = world.pull()
    sha = str(pull["head"]["sha"])
    await world.word(controller, "maya", "authorize-release", sha)
    await world.settle(controller)
    assert world.guard(sha) == "success"
    return controller, int(pull["number"]), sha


async def told(saying: Awaitable[object]) -> str:
    """ "done", or the code of the refusal."""
    try:
        await saying
    except Refused as refused:
        return refused.blocked.code.value
    return "done"


async def test_a_lost_answer_is_read_and_the_merge_noted_once(world: ReleaseWorld) -> None:
    controller, number, _ = await authorized(world)
    world.emulator.fault("drop_after", match=MERGE)
    await told(world.word(controller, "wanda", "merge-release"))
    await world.settle(controller)
    assert world.merges() == [number]
    assert world.issues_of_app() == []
    since = world.requested()
    await world.round(controller)
    assert world.writes(since) == []


async def test_a_merge_that_shows_late_is_told_as_ours_and_never_as_refused(world: ReleaseWorld) -> None:
    controller, number, _ = await authorized(world, Lagging())
    comment = world.say("wanda", number, "/recovery merge-release")
    heard = ("merge-release", "", number)
    assert await told(world.carry_out(controller, comment, *heard)) == "unknown_outcome"
    await world.settle(controller)
    # It is heard again, because it is not over yet.
    done = await world.carry_out(controller, comment, *heard)
    assert done.answer.startswith(f"PR #{number} is merged at ")
    assert (world.merges(), world.issues_of_app()) == ([number], [])


async def test_a_merge_that_was_cut_off_is_sent_again_while_its_word_stands(world: ReleaseWorld) -> None:
    controller, number, _ = await authorized(world)
    world.emulator.fault("drop_before", match=MERGE)
    await told(world.word(controller, "wanda", "merge-release"))
    await world.settle(controller)
    assert (world.merges(), world.issues_of_app()) == ([number], [])


@pytest.mark.parametrize("comes", [pytest.param("before the word ends", marks=pytest.mark.drill), "after"])
@pytest.mark.parametrize("how", ["revoke", "expiry", "comment deleted", "base edited", "new head"])
async def test_the_word_ends_while_the_merge_is_at_the_door(world: ReleaseWorld, how: str, comes: str) -> None:
    door = Door()
    controller, number, sha = await authorized(world, door)
    await told(world.word(controller, "wanda", "merge-release"))
    if comes != "after":
        assert await door.go_through() == 200
    answer = await _end(world, controller, how, number)
    await world.settle(controller)
    if comes == "after":
        assert answer in ("done", "")
        assert {run["conclusion"] for run in world.guards(sha)} <= {"action_required"}
        if world.pull(number)["draft"]:
            # Somebody makes it ready again, so that GitHub would merge it.
            world.graphql("wanda", _READY, id=world.pull(number)["node_id"])
        await door.go_through()
    else:
        assert answer in ("landed", "")
    await world.settle(controller)
    await world.settle(world.controller())
    merged = bool(world.pull(number)["merged"])
    assert merged is not (comes == "after" and how == "new head")
    # A merge that came while its word stood is no incident; whatever came later is told once.
    assert len(world.issues_of_app()) == int(merged and comes == "after")
    since = world.requested()
    await world.round(controller)
    assert world.writes(since) == []


async def _end(world: ReleaseWorld, controller: Controller, how: str, number: int) -> str:
    """The word ends in one of five ways; what somebody was answered who said so."""
    if how == "revoke":
        return await told(world.word(controller, "wanda", "revoke-release", number=number))
    if how == "expiry":
        world.emulator.advance(601)
    elif how == "comment deleted":
        for comment in world.get(f"issues/{number}/comments"):
            if comment["user"]["login"] == "maya":
                world.as_person("maya", "DELETE", f"issues/comments/{comment['id']}")
    elif how == "base edited":
        world.branch("elsewhere")
        world.asked("wanda", "PATCH", f"pulls/{number}", base="elsewhere")
    else:
        world.differ()
    return ""


async def test_two_replicas_open_one_pull_request_write_one_comment_and_merge_once(world: ReleaseWorld) -> None:
    first, second = world.controller(), world.controller()
    world.landed()
    await asyncio.gather(world.round(first), world.round(second))
    for one in (first, second):
        await world.settle(one)
    (pull,) = world.pulls()
    number, sha = int(pull["number"]), str(pull["head"]["sha"])
    assert len(world.ours(number)) == 1
    assert {run["conclusion"] for run in world.guards(sha)} == {"action_required"}
    comment = world.say("maya", number, f"/recovery authorize-release {sha}")
    await asyncio.gather(
        *(told(world.carry_out(one, comment, "authorize-release", sha, number)) for one in (first, second))
    )
    wish = world.say("wanda", number, "/recovery merge-release")
    await asyncio.gather(*(told(world.carry_out(one, wish, "merge-release", "", number)) for one in (first, second)))
    for one in (first, second):
        await world.settle(one)
    assert (world.merges()[-1], world.issues_of_app(), world.pulls("open")) == (number, [], [])
    assert world.head(TRUNK) == sha
    puts = [w for w in world.writes() if w.startswith("PUT") and w.endswith("/merge")]
    assert puts == [f"PUT /repos/{REPO}/pulls/{number}/merge"]
    since = world.requested()
    for one in (first, second):
        await world.round(one)
    assert world.writes(since) == []
