"""One call to GitHub and what it said: for a probe a refusal is an answer like any other."""

from collections.abc import AsyncGenerator, Awaitable
from dataclasses import dataclass
from typing import Any

from app.github.errors import GitHubError, RateLimited, Unanswered, Validation
from app.github.wire import Answer


@dataclass(frozen=True)
class Said:
    """`words` are GitHub's sentences of a refusal, and empty for a success."""

    status: int
    words: str = ""
    body: Any = None

    @property
    def told(self) -> str:
        """Status and sentence, as a report shows them."""
        return f"{self.status} {self.words}".strip()


async def said(deed: Awaitable[Answer]) -> Said:
    """GitHub's answer or refusal. Raises RateLimited, and Unanswered where it did not answer at all: neither is one."""
    try:
        answer = await deed
    except RateLimited:
        raise
    except Validation as refusal:
        return Said(refusal.status or 422, "; ".join(refusal.sentences))
    except Unanswered as error:
        if error.status is None:
            raise
        return Said(error.status, error.message)
    except GitHubError as refusal:
        return Said(refusal.status or 0, refusal.message)
    return Said(answer.status, "", answer.body)


class Held:
    """Credentials that are what they are: nothing renews them."""

    def __init__(self, header: str, payer: str) -> None:
        self._header = header
        self.payer = payer

    async def candidates(self) -> AsyncGenerator[str, None]:
        yield self._header
