"""A merge at GitHub's door: it was sent under its permit, nobody heard an answer, and it is carried out when a test
says so: before somebody's word, right before or right after the update that writes the word down, or after its answer.
"""

import secrets
from collections.abc import Awaitable, Callable
from functools import partial

import httpx
from landing_world import AT, Landing
from loop_world import LoopWorld

from app.controller.controller import Controller
from app.controller.person_commands import VerbName, Word
from app.domain import person_verbs
from app.domain.agent_api import ClaimRequest
from app.domain.outcome import Refused

Say = Callable[[Controller], Awaitable[str]]


class Killed(BaseException):
    """The process is gone: nothing it was about to do happens any more."""


class Door(httpx.AsyncBaseTransport):
    """The App's way to GitHub, with a door: the first merge waits there, and its sender hears nothing. `moment`: when
    it goes through by itself. `on_update`: what befalls the next update of refs.
    """

    def __init__(self) -> None:
        self._wire = httpx.AsyncHTTPTransport(verify=False)
        self._waiting: httpx.Request | None = None
        self.moment = "after the answer"
        self.on_update: str | None = None
        self._updated = False
        self.status: int | None = None

    @property
    def is_occupied(self) -> bool:
        return self._waiting is not None

    async def go_through(self) -> None:
        """GitHub carries the merge out now."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            answer = await self._wire.handle_async_request(waiting)
            await answer.aread()
            await answer.aclose()
            self.status = answer.status_code

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = await request.aread()
        if request.method == "PUT" and request.url.path.endswith("/merge") and self.status is None:
            self._waiting = httpx.Request(request.method, request.url, headers=request.headers, content=body)
            raise httpx.ReadError("the connection was cut")
        if self._updated:
            self._updated = False
            if self.moment == "after the update":
                await self.go_through()
        if b"updateRefs(" not in body:
            return await self._wire.handle_async_request(request)
        if self.moment == "at the update":
            await self.go_through()
        befalls, self.on_update = self.on_update, None
        if befalls == "killed before":
            raise Killed
        answer = await self._wire.handle_async_request(request)
        self._updated = True
        if befalls is None:
            return answer
        await answer.aread()
        await answer.aclose()
        if befalls == "killed after":
            raise Killed
        raise httpx.ReadError("the connection was cut")

    async def aclose(self) -> None:
        await self._wire.aclose()


async def at_the_door(world: LoopWorld) -> tuple[Landing, Door, str]:
    """A ticket whose merge waits at the door, and the head that the merge names."""
    door = Door()
    ticket = await Landing.ready(world, controller=world.controller(transport=door))
    sha = str(ticket.pull()["head"]["sha"])
    for _ in range(6):
        if door.is_occupied:
            world.emulator.commit("acme/shop", {"x": "y"}, branch="release-2")
            return ticket, door, sha
        await ticket.once()
    raise AssertionError("no merge was sent")


async def told(saying: Awaitable[object]) -> str:
    """What somebody was answered: "done", or the code of the refusal."""
    try:
        await saying
    except Refused as refused:
        return refused.blocked.code.value
    return "done"


def _word(verb: VerbName, rule: person_verbs.Verb, branch: str | None = None) -> Say:
    word = Word(id=secrets.token_hex(6), verb=verb, by="wanda", rule=rule, branch=branch)
    return lambda controller: told(controller.hear(*AT, 1, word))


def _claim() -> Say:
    request = ClaimRequest(claim_id=secrets.token_hex(8), observed_generation=1, holder="second agent")
    return lambda controller: told(controller.claim(*AT, 1, request, "wanda"))


WORDS: dict[str, Callable[[], Say]] = {
    "hold": lambda: _word("hold", partial(person_verbs.hold, by="wanda", reason="wait")),
    "cancel": lambda: _word("cancel", partial(person_verbs.cancel, by="wanda", reason=None)),
    "takeover": lambda: _word("takeover", partial(person_verbs.takeover, by="wanda")),
    "retarget": lambda: _word("retarget", partial(person_verbs.retarget, by="wanda", to="release-2"), "release-2"),
    "claim": _claim,
}
"""Each says the same word with the same id, however often it is called."""


def unhold() -> Say:
    """A person takes the ticket off hold."""
    return _word("unhold", partial(person_verbs.unhold, by="wanda"))
