"""What was said and never delivered: comments of the last three days that were never edited count as delivered.

One request for a repository and sweep where nothing was said; it goes on where the last one ended. Every comment that
is found is a word like any other: one that was answered is answered by the comment that stands.
"""

from datetime import timedelta

import structlog

from app.commands.grammar import commands_in
from app.controller.clock import Clock
from app.controller.pokes import PokeStore
from app.controller.words import Spoken, WordStore, may_hold_command, storable
from app.domain.keys import WordKey
from app.domain.source_comment import SourceComment
from app.github.repository import Repository

HEARD_FOR = timedelta(hours=72)
"""How long after it was written a comment is heard at all."""
OVERLAP = timedelta(minutes=10)
"""GitHub's lists may show a comment late."""
KEPT_FOR = HEARD_FOR + timedelta(hours=24)

log = structlog.get_logger()


class LostWords:
    """Looks for them."""

    def __init__(self, words: WordStore, pokes: PokeStore, clock: Clock) -> None:
        self._words = words
        self._pokes = pokes
        self._clock = clock

    async def listen_back(self, repo: Repository) -> int:
        """Poke what was said in a repository since the last time and is not over; how much. Raises GitHubError."""
        if not await self._words.has_policy(repo.id):
            return 0
        now = self._clock()
        earliest, until = now - HEARD_FOR, await self._words.heard_until(repo.id)
        since = max(earliest, until - OVERLAP) if until is not None else earliest
        comments = await repo.comments_since(since, may_hold_command)
        said = [word for c in comments if c.created_at >= earliest and (word := _spoken(repo, c)) is not None]
        over = await self._words.over([word.key for word in said])
        lost = [word for word in said if word.key not in over]
        await self._pokes.poke(*(word.key for word in lost), words=lost)
        # Only now: what was found is durable, so a look that dies before is made again from where it began.
        await self._words.note_heard(repo.id, now)
        await self._words.forget(now - KEPT_FOR)
        if lost:
            log.info("words found", repository=repo.full_name, found=len(lost))
        return len(lost)


def _spoken(repo: Repository, comment: SourceComment) -> Spoken | None:
    if not comment.is_a_persons_own() or comment.author is None:
        return None
    if not commands_in(comment.body).commands:
        return None
    return Spoken(
        key=str(WordKey(repo.full_name, f"comment-{comment.id}")),
        text=storable(comment.body),
        number=comment.number,
        author_id=comment.author.id,
        author_login=comment.author.login,
        created_at=comment.created_at,
        node_id=comment.node_id,
    )
