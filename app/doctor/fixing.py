"""Writing the ruleset that makes the release check required: found again by its name, written once, never twice.

What if it was written and we did not hear: it is looked for by its name before anything is sent again. What if two of
us do it: GitHub takes a name once, and whoever comes second finds the first one's. What if a lease is alive: none is
involved; a person asked for it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from app.domain.outcome import Blocked, Code, Refused
from app.domain.release_ruleset import Change, Enforcement, Judged, Worth, change, judge
from app.domain.required_checks import Required
from app.github.errors import Unanswered, Validation
from app.github.repository import Repository

TRIES = 5
LAG_S = 0.5


@dataclass(frozen=True)
class Fixed:
    """How the ruleset stands now. `wrote`: what was written, in this call; None where it stood as wanted."""

    wrote: Change | None
    guard: Judged


class Fixing:
    """Writes the ruleset of one repository. Wanted, after any number of calls: exactly one ruleset of our name, which
    requires the check from our App on the base of releases, is enforced if a person said so and never less than
    before, and whatever others wrote into it stands.
    """

    def __init__(
        self,
        repo: Repository,
        branch: str,
        wanted: Required,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._repo = repo
        self._branch = branch
        self._wanted = wanted
        self._sleep = sleep
        self._least = Enforcement.EVALUATE

    async def carry_out(self, fix: str, *, enforce: bool) -> Fixed:
        """Write what is to be written, and look at it. Raises Refused where GitHub does not say what became of it,
        GitHubError where it refuses.
        """
        wrote: Change | None = None
        for number in range(TRIES):
            if number:
                await self._sleep(LAG_S * 2.0**number)
            seen = await self._repo.guard_of_base(self._branch)
            guard = judge(seen, self._wanted, fix)
            todo = change(seen, self._wanted, enforce=enforce, enforced_already=guard.worth is Worth.ENFORCED)
            if todo is None:
                done = Fixed(wrote, guard)
                if enforce and guard.worth is Worth.ADVISORY and number < TRIES - 1:
                    # Written a moment ago, by us or by another: the rules of the branch do not show it yet.
                    continue
                return done
            try:
                wrote = await self._write(todo) or wrote
            except Unanswered:
                wrote = todo
        reason = f"GitHub does not say whether the ruleset of {self._repo.full_name} was written"
        raise Refused(Blocked(Code.UNKNOWN_OUTCOME, reason, f"run {fix} again", retryable=True))

    async def _write(self, todo: Change) -> Change | None:
        """What was written. A plan without `evaluate` has our ruleset switched off instead: it enforces neither."""
        if todo.id is not None:
            await self._repo.change_ruleset(todo.id, todo.body)
            return todo
        body = {**todo.body, "enforcement": self._least} if todo.enforcement == Enforcement.EVALUATE else todo.body
        try:
            made = await self._repo.create_ruleset(body)
        except Validation as refusal:
            told = " ".join(refusal.sentences).lower()
            if body["enforcement"] != Enforcement.EVALUATE or "evaluate" not in told:
                raise
            self._least = Enforcement.DISABLED
            return await self._write(todo)
        return Change(made, body, todo.why) if made is not None else None
