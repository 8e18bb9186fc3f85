"""Calls in somebody's name: credentials renewed once, at a pace GitHub bears; reads repeated, writes not."""

import copy
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from typing import Any, TypeVar

from app.github.auth import AsInstallation, Credentials
from app.github.errors import GitHubError, RateLimited, ServerError, Unauthorized
from app.github.git_stream import GitStream
from app.github.pace import Pace, SharedContent, Sleep
from app.github.retry import reads
from app.github.wire import Answer, Call, Wire

T = TypeVar("T")

Guard = Callable[[], Awaitable[None]]
"""Asked right before a write is sent; raises where it may not be."""

PER_PAGE = 100
MAX_PAGES = 200
"""More pages than this are not a list we can decide on."""

Values = Mapping[str, str | int]
_NONE: Values = {}
_RECEIVES = "/git-receive-pack"
"""The end of the one route of git that writes."""


class Session:
    """One payer's way to GitHub. All methods raise GitHubError and its kinds."""

    def __init__(
        self, wire: Wire, credentials: Credentials, sleep: Sleep, content: SharedContent | None = None
    ) -> None:
        self.wire = wire
        self._credentials = credentials
        self._sleep = sleep
        self._pace = Pace(wire.clock, sleep, credentials.payer, content)
        self._guard: Guard | None = None

    def guarded(self, guard: Guard) -> "Session":
        """The same way to GitHub, with the same pace, on which `guard` is asked right before every write."""
        session = copy.copy(self)
        session._guard = guard
        return session

    async def get(self, route: str, values: Values, query: Values = _NONE) -> Answer:
        """Read. Repeated after lost connections, timeouts, 502–504 and limits of at most five seconds."""
        return await self._call(Call("GET", route, values, query))

    async def pages(self, route: str, values: Values, query: Values = _NONE) -> list[Answer]:
        """Read all pages, one after the other. The pages' own links are looked at and never followed."""
        answers: list[Answer] = []
        while len(answers) < MAX_PAGES:
            page: dict[str, str | int] = {**query, "per_page": PER_PAGE}
            if answers:
                page["page"] = len(answers) + 1
            answers.append(await self.get(route, values, page))
            if not answers[-1].has_next_page:
                return answers
        raise ServerError("the list does not end", route=route)

    async def write(self, method: str, route: str, values: Values, body: Any = None) -> Answer:
        """Write, once. `Unanswered` where GitHub may have done it; any other error is a refusal."""
        return await self._call(Call(method, route, values, body=body, writes=True))

    async def query(self, operation: str, document: str, variables: Mapping[str, Any]) -> Answer:
        """Read by GraphQL. Errors beside partial data raise GraphQLFailed: such an answer decides nothing."""
        return await self._call(_graphql(operation, document, variables, writes=False))

    async def mutate(self, operation: str, document: str, variables: Mapping[str, Any]) -> Answer:
        """Write by GraphQL, once. GraphQLFailed is GitHub's refusal, save where the caller knows better."""
        return await self._call(_graphql(operation, document, variables, writes=True))

    async def content_wait_s(self) -> float:
        """Seconds until something may be written that people are told of; 0 where it may be now."""
        return await self._pace.content_wait_s()

    async def pause(self, seconds: float) -> None:
        """Wait for something that GitHub does in the background."""
        await self._sleep(seconds)

    async def git(
        self, method: str, url: str, *, route: str, headers: Mapping[str, str], content: bytes | None = None
    ) -> bytes:
        """One request of git's smart HTTP. GETs are repeated like reads, POSTs never."""

        async def send(authorization: str) -> bytes:
            return await self.wire.git(
                method, url, route=route, authorization=authorization, headers=headers, content=content
            )

        return await self._in_turn(send, self._for_git(), resource="git", writes=method == "POST", route=route)

    async def git_open(
        self,
        method: str,
        url: str,
        *,
        route: str,
        headers: Mapping[str, str],
        content: AsyncIterable[bytes] | None = None,
    ) -> GitStream:
        """One request of git's smart HTTP whose answer is read as it comes. Without `content` repeated like a read.

        Where the token is refused, a body that can be read anew is sent once more with a new one; an iterator cannot,
        and then the next call has the new token. It takes no turn among the writes: the transfer of a large pack would
        hold all others up.
        """

        async def send(authorization: str) -> GitStream:
            return await self.wire.git_open(
                method, url, route=route, authorization=authorization, headers=headers, content=content
            )

        if content is None:
            return await self._in_turn(send, self._for_git(), resource="git", writes=False, route=route)
        self._pace.admit("git")
        if route.endswith(_RECEIVES):
            await self._ask_guard()
        refused: GitHubError | None = None
        async with aclosing(self._for_git()()) as credentials:
            async for authorization in credentials:
                if refused is not None and isinstance(content, AsyncIterator):
                    raise refused
                try:
                    return await send(authorization)
                except RateLimited as limit:
                    self._pace.limited("git", limit)
                    raise
                except Unauthorized as e:
                    refused = e
        raise refused or Unauthorized("there are no credentials", route=route)

    async def _ask_guard(self) -> None:
        if self._guard is not None:
            await self._guard()

    def _for_git(self) -> Callable[[], AsyncGenerator[str, None]]:
        if not isinstance(self._credentials, AsInstallation):
            raise TypeError("git is spoken in the name of an installation only")
        return self._credentials.for_git

    async def _call(self, call: Call) -> Answer:
        async def send(authorization: str) -> Answer:
            return await self.wire.send(call, authorization=authorization, payer=self._credentials.payer)

        resource = "graphql" if call.kind == "graphql" else "core"
        return await self._in_turn(
            send, self._credentials.candidates, resource=resource, writes=call.writes, route=call.name
        )

    async def _in_turn(
        self,
        send: Callable[[str], Awaitable[T]],
        candidates: Callable[[], AsyncGenerator[str, None]],
        *,
        resource: str,
        writes: bool,
        route: str,
    ) -> T:
        async def admitted(authorization: str) -> T:
            self._pace.admit(resource)
            if writes:
                await self._ask_guard()
            try:
                result = await send(authorization)
            except RateLimited as limit:
                self._pace.limited(resource, limit)
                raise
            self._pace.went_well(writing=writes)
            return result

        # Before the token too: a payer that must wait buys none meanwhile.
        self._pace.admit(resource)
        if writes:
            await self._pace.room_for(route)
        turn: AbstractAsyncContextManager[Any] = self._pace.write() if writes else nullcontext()
        refused: GitHubError | None = None
        async with turn, aclosing(candidates()) as credentials:
            async for authorization in credentials:
                try:
                    if writes:
                        return await admitted(authorization)
                    return await reads(self._sleep)(admitted, authorization)
                except Unauthorized as e:
                    refused = e
        raise refused or Unauthorized("there are no credentials", route=route)


def _graphql(operation: str, document: str, variables: Mapping[str, Any], *, writes: bool) -> Call:
    body = {"query": document, "operationName": operation, "variables": dict(variables)}
    return Call("POST", operation, body=body, kind="graphql", writes=writes)
