"""One request to GitHub, sent once, and its answer or its typed error. The single place where bytes leave.

Built on githubkit with everything switched off that guesses: its HTTP cache (shared across tokens), its retry (it
repeats POSTs on 5xx), its own raising (errors are typed in `errors.py`) and its authentication (no single-flight, a
refused token stays cached). One transport is shared by all calls, because a client made outside would build a TLS
context every time; githubkit closes its clients after each call, so the transport's own `aclose` does nothing.
"""

import json
import re
from collections.abc import AsyncIterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import Any, cast

import githubkit
import httpx
from githubkit.cache.mem_cache import MemCacheStrategy
from githubkit.exception import RequestError, RequestTimeout
from githubkit.response import Response

from app.github.budget import Kind, Meter
from app.github.clock import GitHubClock
from app.github.errors import GitHubError, ServerError, Unanswered, error_of, graphql_error
from app.github.git_stream import GitStream, refusal_text
from app.github.routes import path

GIT_PATIENCE_S = 120.0
"""How long the git server may be silent in the middle of an exchange: it counts and checks objects meanwhile."""
API_VERSION = "2022-11-28"
"""Pinned: the next version drops `merge_commit_sha` and `assignee`."""


@dataclass(frozen=True)
class Call:
    """A request described: a route template with its values, so that logs and counts name routes and not people."""

    method: str
    route: str
    values: Mapping[str, str | int] = field(default_factory=dict)
    query: Mapping[str, str | int] = field(default_factory=dict)
    body: Any = None
    kind: Kind = "rest"
    writes: bool = False

    @property
    def name(self) -> str:
        return self.route if self.kind == "graphql" else f"{self.method} {self.route}"


@dataclass(frozen=True)
class Answer:
    """A success. `body` is the parsed JSON (None for an empty body); `date` GitHub's time of the answer."""

    status: int
    headers: httpx.Headers
    body: Any
    date: datetime

    @property
    def has_next_page(self) -> bool:
        return re.search(r';\s*rel="?next"?', self.headers.get("link", "")) is not None


class SharedTransport(httpx.AsyncBaseTransport):
    """A transport that outlives the clients which use it; `shut` closes it."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await self._inner.handle_async_request(request)

    async def __aenter__(self) -> "SharedTransport":
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        return None

    async def aclose(self) -> None:
        return None

    async def shut(self) -> None:
        await self._inner.aclose()


class _Core(githubkit.GitHub[Any]):
    """githubkit that hands every answer over as it is."""

    def _check_is_error(self, response: httpx.Response) -> bool:
        return False

    def _check_rate_limit(self, response: Response) -> None:
        return None


class Wire:
    """Sends calls. Learns GitHub's time from every answer and counts every request."""

    def __init__(
        self,
        *,
        base_url: str,
        clock: GitHubClock,
        meter: Meter,
        transport: httpx.AsyncBaseTransport | None = None,
        user_agent: str = "agent-recovery",
        timeout_s: float = 15.0,
    ) -> None:
        self.clock = clock
        self.meter = meter
        self.base_url = base_url.rstrip("/")
        self.user_agent = user_agent
        self._timeout = httpx.Timeout(timeout_s, connect=min(timeout_s, 5.0))
        self._transport = SharedTransport(transport or httpx.AsyncHTTPTransport())
        self._core = _Core(
            base_url=self.base_url,
            user_agent=user_agent,
            follow_redirects=False,
            timeout=self._timeout,
            trust_env=False,
            async_transport=self._transport,
            cache_strategy=MemCacheStrategy(),
            http_cache=False,
            auto_retry=False,
        )

    @property
    def graphql_url(self) -> str:
        """`/api/v3` (Enterprise Server) has its GraphQL at `/api/graphql`; everywhere else it is `/graphql`."""
        url, n = re.subn(r"/api/v3$", "/api/graphql", self.base_url)
        return url if n else f"{self.base_url}/graphql"

    @property
    def git_url(self) -> str:
        """Where repositories are pushed to: the web address that belongs to the API's."""
        if self.base_url == "https://api.github.com":
            return "https://github.com"
        return re.sub(r"/api/v3$", "", self.base_url)

    async def aclose(self) -> None:
        """Close all connections. No call may follow."""
        await self._transport.shut()

    async def send(self, call: Call, *, authorization: str, payer: str) -> Answer:
        """Send once. Raises a GitHubError; for a write whose fate is unknown always `Unanswered`."""
        if call.kind == "graphql":
            url, route = self.graphql_url, call.route
        else:
            url, route = path(call.route, call.values).lstrip("/"), call.name
        headers = {"Authorization": authorization, "X-GitHub-Api-Version": API_VERSION}
        self.meter.count(call.kind, call.name)
        started = self.clock.monotonic()
        lost: str | None = None
        try:
            # githubkit's own typing allows no plain dict of mixed values; httpx does.
            query = cast(dict[str, str], dict(call.query)) or None
            response = (
                await self._core.arequest(call.method, url, params=query, json=call.body, headers=headers)
            ).raw_response
        except RequestTimeout:
            lost = "no answer in time"
        except RequestError as e:
            lost = _lost(e.exc)
        # Raised out here, so that the request with its Authorization header is not the error's context.
        if lost is not None:
            raise Unanswered(lost, route=route)
        return self._judge(call, response, payer=payer, elapsed_s=self.clock.monotonic() - started)

    async def git(
        self,
        method: str,
        url: str,
        *,
        route: str,
        authorization: str,
        headers: Mapping[str, str],
        content: bytes | None = None,
    ) -> bytes:
        """One request of git's smart HTTP, sent once, with its body as it came. Raises as `send` does."""
        self.meter.count("git", f"{method} {route}")
        started = self.clock.monotonic()
        lost: str | None = None
        try:
            async with httpx.AsyncClient(transport=self._transport, trust_env=False, timeout=self._timeout) as client:
                response = await client.request(
                    method,
                    url,
                    headers={**headers, "Authorization": authorization, "User-Agent": self.user_agent},
                    content=content,
                )
        except httpx.TimeoutException:
            lost = "no answer in time"
        except httpx.HTTPError as e:
            lost = _lost(e)
        if lost is not None:
            raise Unanswered(lost, route=route)
        self.clock.learn(response.headers.get("date"), elapsed_s=self.clock.monotonic() - started)
        if response.is_success:
            return response.content
        error = error_of(response.status_code, response.headers, None, route=route, now=self.clock.now())
        raise _for_a_write(error) if method == "POST" else error

    async def git_open(
        self,
        method: str,
        url: str,
        *,
        route: str,
        authorization: str,
        headers: Mapping[str, str],
        content: AsyncIterable[bytes] | None = None,
    ) -> GitStream:
        """One request of git's smart HTTP, sent once, with body and answer passed on as they come. Raises as `send`
        does for what is known before the answer's first byte; what breaks later shows in the stream.
        """
        self.meter.count("git", f"{method} {route}")
        timeout = httpx.Timeout(GIT_PATIENCE_S, connect=self._timeout.connect)
        started = self.clock.monotonic()
        lost: str | None = None
        # Never closed itself: it holds nothing of its own, and its transport is everybody's.
        client = httpx.AsyncClient(transport=self._transport, trust_env=False, timeout=timeout)
        own = {"Authorization": authorization, "User-Agent": self.user_agent, "Accept-Encoding": "identity"}
        request = client.build_request(method, url, headers={**headers, **own}, content=content)
        try:
            response = await client.send(request, stream=True)
        except httpx.TimeoutException:
            lost = "no answer in time"
        except httpx.HTTPError as e:
            lost = _lost(e)
        if lost is not None:
            raise Unanswered(lost, route=route)
        self.clock.learn(response.headers.get("date"), elapsed_s=self.clock.monotonic() - started)
        if response.is_success:
            return GitStream(response, route)
        said = {"message": await refusal_text(response)}
        error = error_of(response.status_code, response.headers, said, route=route, now=self.clock.now())
        raise _for_a_write(error) if content is not None else error

    def _judge(self, call: Call, response: httpx.Response, *, payer: str, elapsed_s: float) -> Answer:
        date = self.clock.learn(response.headers.get("date"), elapsed_s=elapsed_s)
        now = self.clock.now()
        self.meter.note_limits(payer, response.headers)
        body, readable = _json(response.content)
        error: GitHubError | None = None
        if not response.is_success:
            error = error_of(response.status_code, response.headers, body, route=call.name, now=now)
        elif not readable:
            error = ServerError("the answer is not JSON", status=response.status_code, route=call.name)
        elif call.kind == "graphql":
            error = graphql_error(body, response.headers, status=response.status_code, route=call.name, now=now)
        if error is not None:
            raise _for_a_write(error) if call.writes else error
        return Answer(response.status_code, response.headers, body, date or now)


def _for_a_write(error: GitHubError) -> GitHubError:
    """A 5xx to a write leaves open whether it happened."""
    if not isinstance(error, ServerError):
        return error
    return Unanswered(error.message, status=error.status, request_id=error.request_id, route=error.route)


def _lost(error: BaseException) -> str:
    """Why no answer came, in our words: the text of a transport error may quote the request."""
    if isinstance(error, httpx.ConnectError):
        return "GitHub cannot be reached"
    if isinstance(error, httpx.HTTPError):
        return "the connection broke before an answer came"
    return f"the request failed ({type(error).__name__})"


def _json(content: bytes | AsyncIterable[bytes]) -> tuple[Any, bool]:
    if not isinstance(content, bytes):
        return None, False
    if not content.strip():
        return None, True
    try:
        return json.loads(content), True
    except (ValueError, RecursionError):
        return None, False
