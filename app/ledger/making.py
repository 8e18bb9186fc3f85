"""Making a ledger commit's objects through GitHub's API. No ref names them yet, so they entitle nobody to anything."""

from collections.abc import Awaitable, Callable

from app.github.errors import ServerError, Unanswered
from app.github.repository import Repository
from app.ledger.codec import RECORD_FILE, Draft

OBJECT_TRIES = 3


class Maker:
    """Makes commits in one repository."""

    def __init__(self, repo: Repository, sleep: Callable[[float], Awaitable[None]]) -> None:
        self._repo = repo
        self._sleep = sleep

    async def create(self, made: Draft) -> str:
        """The commit's SHA, once GitHub has it. An unheard answer is simply asked for again. Raises GitHubError."""
        for number in range(OBJECT_TRIES):
            try:
                tree = await self._repo.create_tree({RECORD_FILE: made.record_text})
                if tree != made.tree:
                    raise ServerError("GitHub stored another tree than was sent", route="git/trees")
                return await self._repo.create_commit(tree, made.parents, made.message, made.when)
            except Unanswered:
                if number == OBJECT_TRIES - 1:
                    raise
                await self._sleep(0.5 * 2.0**number)
        raise AssertionError("the loop above returns or raises")
