"""What was sent to GitHub, counted: by kind, route and the step of our work it was sent for.

The budget is 5,000 requests an hour for an installation, shared by everything the App does there. A test that says
what a claim may cost reads it here, and so does an operator who asks where the budget went.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

Kind = Literal["rest", "graphql", "git", "token", "caller"]
"""`token`: minting an installation token. `caller`: asking with a user's own token, from that user's budget."""

_step: ContextVar[str] = ContextVar("github_step", default="")


@contextmanager
def counting(step: str) -> Iterator[None]:
    """Requests sent inside are counted under this step, e.g. `claim.read`."""
    token = _step.set(step)
    try:
        yield
    finally:
        _step.reset(token)


@dataclass(frozen=True)
class Counted:
    """`route` is the template (`GET /repos/{owner}/{repo}/git/matching-refs/{+ref}`) or the GraphQL operation."""

    kind: Kind
    route: str
    step: str


@dataclass(frozen=True)
class Limit:
    """The last `x-ratelimit` values seen for one payer and resource."""

    limit: int
    remaining: int
    reset_at: datetime


@dataclass(frozen=True)
class Snapshot:
    """The counts at one moment, or between two."""

    counts: Mapping[Counted, int]

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def of(self, *, kind: Kind | None = None, step: str | None = None) -> int:
        """How many requests of this kind, under this step."""
        return sum(
            n for c, n in self.counts.items() if (kind is None or c.kind == kind) and (step is None or c.step == step)
        )


class Meter:
    """Counts every request at the moment it is sent, answered or not."""

    def __init__(self) -> None:
        self._counts: Counter[Counted] = Counter()
        self._limits: dict[tuple[str, str], Limit] = {}

    def count(self, kind: Kind, route: str) -> None:
        self._counts[Counted(kind, route, _step.get())] += 1

    def snapshot(self) -> Snapshot:
        return Snapshot(dict(self._counts))

    def since(self, earlier: Snapshot) -> Snapshot:
        """What was sent after `earlier` was taken."""
        return Snapshot(
            {c: n - earlier.counts.get(c, 0) for c, n in self._counts.items() if n > earlier.counts.get(c, 0)}
        )

    def note_limits(self, payer: str, headers: Mapping[str, str]) -> None:
        """Keep the limits an answer names. `payer`: `installation:7`, `app`. Malformed headers are ignored."""
        try:
            limit = Limit(
                limit=int(headers["x-ratelimit-limit"]),
                remaining=int(headers["x-ratelimit-remaining"]),
                reset_at=datetime.fromtimestamp(int(headers["x-ratelimit-reset"]), UTC),
            )
        except (KeyError, ValueError, OverflowError, OSError):
            return
        self._limits[payer, headers.get("x-ratelimit-resource", "core")] = limit

    def limits(self) -> Mapping[tuple[str, str], Limit]:
        """(payer, resource) → the last values seen."""
        return dict(self._limits)
