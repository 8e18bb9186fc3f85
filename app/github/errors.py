"""What can go wrong in a call to GitHub, as types.

The one question that matters after a failed write is whether GitHub may have carried it out. Every class below except
`Unanswered` and `RefsUndecided` is GitHub's own refusal: the write did not happen. Texts never hold a token, a header
or a whole body; GitHub's sentence is shortened and anything in it that looks like a credential is taken out.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from app.domain.reach import Reach
from app.domain.secret_shapes import redact

DEFAULT_WAIT_S = 60.0
"""GitHub's rule for a limit that names no time: wait at least a minute."""

_READ = 4000
"""Characters of a text that are looked at: more is no sentence."""
_LINES = 40
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


def plain(text: object, limit: int = 300) -> str:
    """GitHub's sentence as it may stand in a log: one line, shortened, without anything like a credential."""
    if not isinstance(text, str):
        return ""
    line = _CONTROL.sub(" ", redact(text[:_READ]).text).strip()
    return line if len(line) <= limit else line[: limit - 1] + "…"


class GitHubError(Exception):
    """A call failed. `message` is GitHub's sentence, `lines` the same where it has several, `route` the template that
    was called, without its values.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        request_id: str | None = None,
        documentation: str | None = None,
        route: str = "",
        lines: Sequence[str] = (),
    ) -> None:
        self.message = plain(message)
        self.lines = tuple(lines) or (self.message,)
        self.status = status
        self.request_id = request_id
        self.documentation = documentation
        self.route = route
        super().__init__(self.message)

    def __str__(self) -> str:
        parts = [self.message or type(self).__name__]
        facts = [f"HTTP {self.status}" if self.status else "", self.route]
        facts.append(f"request {self.request_id}" if self.request_id else "")
        named = ", ".join(fact for fact in facts if fact)
        return f"{parts[0]} ({named})" if named else parts[0]


class NotFound(GitHubError):
    """404, or GraphQL's NOT_FOUND: it does not exist, or the App may not see it."""


class Uninstalled(NotFound):
    """404 to the App's asking for a token of an installation: it is not there any more. Nothing is written there
    again; what was written stays to be read.
    """

    reach = Reach.UNINSTALLED


class Unauthorized(GitHubError):
    """401 twice: the credential is refused, and a new one as well."""


class Forbidden(GitHubError):
    """403: the App or account lacks a permission. Final; trying again changes nothing."""


class Suspended(GitHubError):
    """The installation is suspended. Final until somebody unsuspends it; other installations are not concerned."""

    reach = Reach.SUSPENDED


class Moved(GitHubError):
    """A redirect: the repository was renamed or transferred. Nothing was done under the old name."""


class Conflict(GitHubError):
    """409: the state of the thing forbids it (an empty repository, a head that moved)."""


class MethodNotAllowed(GitHubError):
    """405: refused by a rule, a queue or the thing's state; the message says which."""


class ServerError(GitHubError):
    """5xx or an unreadable answer to a read, also after its retries. Nothing is known."""


@dataclass(frozen=True)
class FieldError:
    """One entry of a 422's `errors`."""

    resource: str = ""
    field: str = ""
    code: str = ""
    message: str = ""


class Validation(GitHubError):
    """422: GitHub understood and refuses. `errors` names the fields."""

    def __init__(self, message: str, *, errors: Sequence[FieldError] = (), **facts: Any) -> None:
        super().__init__(message, **facts)
        self.errors = tuple(errors)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The message and those of all its errors."""
        return (self.message, *(error.message for error in self.errors if error.message))

    def __str__(self) -> str:
        details = "; ".join(e.message or f"{e.field} {e.code}".strip() for e in self.errors)
        return f"{super().__str__()}: {details}" if details else super().__str__()


class RateLimited(GitHubError):
    """A limit was met: nothing was done, and nothing may be sent before `retry_at` (GitHub's time).

    `stated`: GitHub named the time itself. `secondary`: a limit on behaviour, not the hourly budget.
    """

    def __init__(self, message: str, *, wait_s: float, now: datetime, secondary: bool, stated: bool, **facts: Any):
        super().__init__(message, **facts)
        self.secondary = secondary
        self.stated = stated
        self.wait_s = wait_s
        self._now = now

    @property
    def retry_at(self) -> datetime:
        return self._now + timedelta(seconds=self.wait_s)


class Unanswered(GitHubError):
    """No usable answer: a timeout, a cut connection, or a 5xx to a write (`status`).

    Whether GitHub carried it out is unknown, and it may still do so later. Read before deciding anything.
    """


@dataclass(frozen=True)
class GraphQLProblem:
    """One entry of a GraphQL answer's `errors`."""

    type: str
    message: str
    path: tuple[str | int, ...] = ()


class GraphQLFailed(GitHubError):
    """A GraphQL answer with errors (HTTP 200). `partial` is what came beside them and is never a complete answer:
    a null in it means unknown, not absent.
    """

    def __init__(self, errors: Sequence[GraphQLProblem], partial: Any = None, **facts: Any) -> None:
        first = errors[0] if errors else GraphQLProblem("", "GraphQL answered without data")
        super().__init__(first.message or first.type or "GraphQL refused", **facts)
        self.errors = tuple(errors)
        self.partial = partial

    @property
    def types(self) -> frozenset[str]:
        return frozenset(error.type for error in self.errors)

    def as_not_found(self, *path: str) -> NotFound | None:
        """The NotFound it amounts to, where GitHub's only complaint is that the thing at `path` does not exist."""
        if not self.errors or not all(e.type == "NOT_FOUND" and e.path == path for e in self.errors):
            return None
        return NotFound(self.message, status=self.status, request_id=self.request_id, route=self.route)


class RefsUndecided(GitHubError):
    """An update of refs did not end with a clear yes. GitHub's answer says nothing about why, so the outcome is
    read from the refs themselves (the ownership protocol, R8).
    """

    def __init__(self, reason: str, *, status: int | None = None, route: str = "") -> None:
        super().__init__(reason, status=status, route=route)
        self.reason = self.message


_BY_STATUS: dict[int, type[GitHubError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    409: Conflict,
    410: NotFound,
}


def error_of(status: int, headers: Mapping[str, str], body: Any, *, route: str, now: datetime) -> GitHubError:
    """The typed error of an HTTP answer that is not a success. `body` is its parsed JSON, or None."""
    fields = body if isinstance(body, dict) else {}
    # Merges that are done later tell their refusals one level down.
    details = fields.get("details")
    below = details.get("message") if isinstance(details, dict) else None
    message = plain(fields.get("message")) or plain(below) or f"GitHub answered {status}"
    documentation = fields.get("documentation_url")
    facts: dict[str, Any] = {
        "lines": _lines(fields.get("message")),
        "status": status,
        "request_id": plain(headers.get("x-github-request-id"), 80) or None,
        "documentation": plain(documentation) or None,
        "route": route,
    }
    if status in (403, 429) and (limited := _rate_limit(status, headers, message, facts, now)):
        return limited
    if status == 403 and "suspended" in message.lower():
        return Suspended(message, **facts)
    if 300 <= status < 400:
        return Moved("the repository has another name or owner now", **facts)
    if status == 422:
        return Validation(message, errors=_field_errors(fields.get("errors")), **facts)
    if status >= 500:
        return ServerError(message, **facts)
    return _BY_STATUS.get(status, GitHubError)(message, **facts)


def graphql_error(
    body: Any, headers: Mapping[str, str], *, status: int, route: str, now: datetime
) -> GitHubError | None:
    """The typed error of a GraphQL answer with HTTP 200; None for a complete answer."""
    facts: dict[str, Any] = {
        "status": status,
        "request_id": plain(headers.get("x-github-request-id"), 80) or None,
        "route": route,
    }
    fields = body if isinstance(body, dict) else {}
    entries = fields.get("errors")
    if not entries:
        return None if isinstance(fields.get("data"), dict) else GraphQLFailed((), **facts)
    problems = tuple(_problem(entry) for entry in entries) if isinstance(entries, list) else ()
    if any(problem.type in ("RATE_LIMITED", "RATE_LIMIT") for problem in problems):
        wait, stated = _wait(headers, now)
        secondary = any("secondary" in problem.message.lower() for problem in problems)
        return RateLimited(problems[0].message, wait_s=wait, now=now, secondary=secondary, stated=stated, **facts)
    return GraphQLFailed(problems, fields.get("data"), **facts)


def _lines(text: Any) -> tuple[str, ...]:
    """A refusal by several rules names each on a line of its own."""
    given = text[:_READ].splitlines()[:_LINES] if isinstance(text, str) else ()
    return tuple(line for one in given if (line := plain(one)))


def _rate_limit(
    status: int, headers: Mapping[str, str], message: str, facts: dict[str, Any], now: datetime
) -> RateLimited | None:
    words = message.lower()
    secondary = "secondary rate" in words or "abuse" in words
    spent = headers.get("x-ratelimit-remaining") == "0" and "rate limit" in words
    if not (status == 429 or secondary or spent or "retry-after" in headers):
        return None
    wait, stated = _wait(headers, now)
    return RateLimited(message, wait_s=wait, now=now, secondary=secondary or not spent, stated=stated, **facts)


def _wait(headers: Mapping[str, str], now: datetime) -> tuple[float, bool]:
    """Seconds to wait, and whether GitHub named them. A reset in the past is no reason to try at once."""
    after = headers.get("retry-after", "")
    if after.isascii() and after.isdigit() and len(after) < 7:
        return max(float(after), 1.0), True
    reset = headers.get("x-ratelimit-reset", "")
    if headers.get("x-ratelimit-remaining") == "0" and reset.isascii() and reset.isdigit() and len(reset) < 12:
        wait = (datetime.fromtimestamp(int(reset), UTC) - now).total_seconds()
        if wait > 0:
            return wait + 1.0, True
    return DEFAULT_WAIT_S, False


def _field_errors(entries: Any) -> tuple[FieldError, ...]:
    if not isinstance(entries, list):
        return ()
    return tuple(_field_error(entry) for entry in entries[:20])


def _field_error(entry: Any) -> FieldError:
    if isinstance(entry, str):
        return FieldError(message=plain(entry))
    fields = entry if isinstance(entry, dict) else {}
    return FieldError(*(plain(fields.get(name)) for name in ("resource", "field", "code", "message")))


def _problem(entry: Any) -> GraphQLProblem:
    fields = entry if isinstance(entry, dict) else {}
    path = fields.get("path")
    kind = fields.get("type")
    if not isinstance(kind, str) and fields.get("code") == "graphql_rate_limit":
        kind = "RATE_LIMIT"
    steps = tuple(step for step in path if isinstance(step, str | int)) if isinstance(path, list) else ()
    return GraphQLProblem(plain(kind, 60), plain(fields.get("message")), steps)
