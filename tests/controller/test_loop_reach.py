"""What a worker of the loop tells of whether GitHub can be reached: it opens the reattach window of an outage."""

from datetime import UTC, datetime
from typing import Any, cast

import pytest

from app.controller.loop import Loop
from app.controller.pokes import Poke
from app.github.errors import Forbidden, GitHubError, ServerError, Unanswered

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


class _Parts:
    """A round that fails, and who is told of it."""

    def __init__(self, failure: GitHubError) -> None:
        self.failure = failure
        self.told: list[bool] = []

    async def run(self, key: object, refs: object) -> None:
        raise self.failure

    async def handed(self, poke: object) -> None:
        """Nothing was read for it."""

    async def blocked(self, repository: str) -> None:
        """Nothing is stopped."""

    async def reached(self, *, answered: bool) -> None:
        self.told.append(answered)


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (Unanswered("the connection was cut"), [False]),
        (ServerError("bad gateway", status=502), [False]),
        (Forbidden("a permission is missing", status=403), []),
    ],
    ids=["no answer", "an answer of 5xx", "a refusal, which is an answer"],
)
async def test_only_what_was_not_answered_says_that_github_is_away(failure: GitHubError, told: list[bool]) -> None:
    parts = cast(Any, _Parts(failure))
    loop = Loop(parts, parts, parts, parts, parts, lambda: NOW, parts, parts)
    due = await loop._run(Poke("acme/shop#42", 1, "worker", NOW))
    assert due is not None
    assert due > NOW
    assert parts.told == told
