"""Requests, answers and the table of routes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl, quote, unquote, urlencode

from app.emulator.errors import ApiError, not_supplied, unreadable

if TYPE_CHECKING:
    from app.emulator.auth import Identity
    from app.emulator.world import World

T = TypeVar("T")


class Body:
    """A JSON object of a request, read with GitHub's complaints about missing and mistyped members."""

    def __init__(self, raw: bytes) -> None:
        if not raw.strip():
            self.data: dict[str, Any] = {}
            return
        try:
            data = json.loads(raw)
        except ValueError:
            raise ApiError(400, "Problems parsing JSON") from None
        if not isinstance(data, dict):
            raise ApiError(400, "Body should be a JSON object")
        self.data = data

    def __contains__(self, name: str) -> bool:
        return name in self.data

    def need(self, name: str, kind: type[T]) -> T:
        """A member that must be there. Raises 422 otherwise."""
        if self.data.get(name) is None:
            raise unreadable(not_supplied([name]))
        return self._typed(name, kind)

    def need_all(self, *names: str) -> None:
        """Members that must be there, complained of together. Raises 422."""
        missing = [name for name in names if self.data.get(name) is None]
        if missing:
            raise unreadable(not_supplied(missing))

    def get(self, name: str, kind: type[T], default: T) -> T:
        """A member, or the default when it is missing or null."""
        return default if self.data.get(name) is None else self._typed(name, kind)

    def maybe(self, name: str, kind: type[T]) -> T | None:
        """A member, or None when it is missing or null."""
        return None if self.data.get(name) is None else self._typed(name, kind)

    def seconds(self, name: str, default: float) -> float:
        """A span of time, or the default when it is missing or null. Raises 422."""
        value = self.data.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise unreadable(f"For 'properties/{name}', {json.dumps(value)} is not a number of seconds.")
        return float(value)

    def _typed(self, name: str, kind: type[T]) -> T:
        value = self.data[name]
        wrong = not isinstance(value, kind) or (kind is int and isinstance(value, bool))
        if wrong:
            names = {str: "a string", bool: "a boolean", int: "an integer", list: "an array", dict: "an object"}
            raise unreadable(f"For 'properties/{name}', {json.dumps(value)} is not {names[kind]}.")
        return value  # type: ignore[no-any-return]


@dataclass
class Request:
    """One request, its body fully read and decoded."""

    method: str
    path: str
    segments: list[str]
    query: dict[str, str]
    headers: dict[str, str]
    raw: bytes
    world: World
    identity: Identity
    prefix: str = ""
    query_string: str = ""
    # The host a client of the unix socket thinks it speaks to; empty for everybody else.
    believed_host: str = ""
    # What an installation or a fine-grained token must hold for this endpoint, as `x-accepted-github-permissions`.
    accepted: str = ""
    # The points and nodes of a GraphQL document, measured before it is executed.
    cost: int = 1
    nodes: int = 0

    @property
    def body(self) -> Body:
        """The JSON body."""
        return Body(self.raw)

    @property
    def base_url(self) -> str:
        """The root under which this client reaches the REST API."""
        root = f"https://{self.believed_host}" if self.believed_host else self.world.url
        return root + self.prefix

    def flag(self, name: str) -> bool:
        """A boolean query parameter."""
        return self.query.get(name, "").lower() in ("1", "true")


@dataclass
class Response:
    """One answer."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    # When the one thing shown was last changed, for `last-modified`.
    updated_at: str | None = None

    @classmethod
    def json(cls, data: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
        """A JSON answer."""
        return cls(
            status,
            json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode(),
            {"content-type": "application/json; charset=utf-8"} | (headers or {}),
            data.get("updated_at") if isinstance(data, dict) else None,
        )


Handler = Callable[..., Any]


@dataclass(frozen=True)
class Route:
    """A method and a pattern (``/repos/{owner}/{repo}/git/ref/{ref*}``; ``*`` takes the rest)."""

    method: str
    pattern: str
    handler: Handler

    def match(self, segments: list[str]) -> dict[str, str] | None:
        """The path's parameters, or None."""
        parts = self.pattern.strip("/").split("/")
        values: dict[str, str] = {}
        for index, part in enumerate(parts):
            if part.startswith("{") and part.endswith("*}"):
                after = len(parts) - index - 1
                if after:
                    # In the middle it takes all but what the pattern's end needs.
                    taken, end = segments[index : len(segments) - after], segments[len(segments) - after :]
                    if not taken or not all(taken) or len(segments) <= index + after:
                        return None
                    values[part[1:-2]] = "/".join(taken)
                    segments = [*segments[:index], part, *end]
                    continue
                rest = segments[index:]
                # Only the end may be empty: a trailing slash matters to a prefix match.
                if not rest or not all(rest[:-1]):
                    return None
                values[part[1:-2]] = "/".join(rest)
                return values
            if index >= len(segments):
                return None
            if part.startswith("{"):
                name, _, kind = part[1:-1].partition(":")
                if not segments[index] or (kind == "int" and not segments[index].isdigit()):
                    return None
                values[name] = segments[index]
            elif part != segments[index]:
                return None
        return values if len(parts) == len(segments) else None


class Router:
    """A table of routes, tried in the order they were added."""

    def __init__(self) -> None:
        self.routes: list[Route] = []

    def add(self, method: str, pattern: str) -> Callable[[Handler], Handler]:
        """Register a handler: called with the request and the path's parameters as keywords."""

        def register(handler: Handler) -> Handler:
            self.routes.append(Route(method, pattern, handler))
            return handler

        return register

    def find(self, method: str, segments: list[str]) -> tuple[Route, dict[str, str]] | None:
        """The first route that fits."""
        for route in self.routes:
            if route.method == method and (values := route.match(segments)) is not None:
                return route, values
        return None


def split_path(raw_path: str) -> list[str]:
    """The decoded segments of a path; an encoded slash stays inside its segment."""
    return [unquote(part) for part in raw_path.removeprefix("/").split("/")]


def parse_query(raw: str) -> dict[str, str]:
    """The query string; the last value of a name counts."""
    return dict(parse_qsl(raw, keep_blank_values=True))


def page_bounds(request: Request, default: int = 30) -> tuple[int, int]:
    """Page number and size; size is at most 100, as GitHub cuts it."""
    return _positive(request.query.get("page"), 1), min(_positive(request.query.get("per_page"), default), 100)


def paginated(request: Request, items: list[Any], render: Callable[[Any], Any], key: str | None = None) -> Response:
    """One page of a list, with ``Link``; under ``key`` with ``total_count`` when the endpoint wraps it."""
    page, size = page_bounds(request)
    shown = [render(item) for item in items[(page - 1) * size : page * size]]
    link = page_links(request, page, max(1, -(-len(items) // size)))
    headers = {"link": link} if link else {}
    return Response.json({"total_count": len(items), key: shown} if key else shown, headers=headers)


def page_links(request: Request, page: int, last: int) -> str:
    """The ``Link`` header of a page in GitHub's order: prev, next, last, first; empty for a list of one page.

    A page beyond the end has no next; its prev is the last one there is. A repository's lists go by its id
    (docs.github.com, "Using pagination in the REST API").
    """
    links: list[tuple[str, int]] = []
    if page > 1:
        links.append(("prev", min(page - 1, last)))
    if page < last:
        links += [("next", page + 1), ("last", last)]
    if page > 1:
        links.append(("first", 1))
    base = f"{request.base_url}{by_id(request.world, request.segments) or request.path}"
    return ", ".join(
        f'<{base}?{urlencode(request.query | {"page": str(number)})}>; rel="{rel}"' for rel, number in links
    )


def by_id(world: World, segments: list[str]) -> str:
    """A repository's path as GitHub writes it in ``Link``: by id, whatever its name is; empty for other paths."""
    repo = world.repo(*segments[1:3]) if len(segments) >= 3 and segments[0] == "repos" else None
    return "/".join(["", "repositories", str(repo.id), *map(quote, segments[3:])]) if repo is not None else ""


def _positive(text: str | None, default: int) -> int:
    return int(text) if text and re.fullmatch(r"\d{1,9}", text) and int(text) > 0 else default
