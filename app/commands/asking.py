"""May this person? Asked of GitHub when a command's turn comes, and again right before every act, because a permission
can be taken away in between. Nothing is kept, and what GitHub does not say permits nothing.
"""

from typing import Protocol

from app.commands.verb import Actions, Permission, ReleaseHeard
from app.controller.effect_decisions import Decision
from app.controller.person_commands import Done, Word
from app.domain.brief import Brief
from app.domain.command_noted import known
from app.domain.effect_state import EffectState
from app.domain.outcome import Blocked, Code, Refused
from app.domain.permission import Level, NoSuchAccount, NotTold, Role
from app.domain.rebuild import Rebuild
from app.domain.release_record import Person, Source
from app.domain.release_verbs import ReleaseVerb
from app.domain.ticket_id import TicketId
from app.github.repository import Repository

_LEVELS: dict[Permission, Level] = {
    Permission.READ: "read",
    Permission.TRIAGE: "triage",
    Permission.WRITE: "write",
    Permission.MAINTAIN: "maintain",
    # Whom the policy lets authorize is judged with the release itself.
    Permission.AUTHORIZER: "write",
}


class Doing(Actions, Protocol):
    """What carries words out: the controller, which can also tell what it would answer."""

    async def hear(self, owner: str, name: str, ticket: TicketId, word: Word, *, dry_run: bool = False) -> Done: ...


def not_permitted(role: Role, person: Person, verb: str, needs: Permission) -> Blocked | None:
    """Why this person may not say this; None where GitHub says that the account may."""
    level = _LEVELS[needs]
    if isinstance(role, NotTold):
        remedy = "an administrator has to let the App read permissions; then say it again"
        return Blocked(Code.FORBIDDEN, role.reason, remedy)
    if isinstance(role, NoSuchAccount) or role.id != person.id:
        reason = f"GitHub knows the account that said this under another name than {person.login} now"
        return Blocked(Code.FORBIDDEN, reason, "say it again in a new comment")
    if role.is_at_least(level):
        return None
    held = "no role" if role.level == "none" else f"the role {role.role}"
    reason = f"GitHub gives {person.login} {held} in this repository, and `/recovery {verb}` needs {level}"
    remedy = f"somebody with {level} or more can say it; an administrator of the repository gives that role"
    return Blocked(Code.FORBIDDEN, reason, remedy)


class Asked:
    """The acts of one person's command: each asks first whether that person may still. `first`: why the person might
    not when the command's turn came; None where nothing spoke against it.
    """

    def __init__(
        self,
        doing: Doing,
        repo: Repository,
        person: Person,
        verb: str,
        needs: Permission,
        first: Blocked | None = None,
    ) -> None:
        self._doing = doing
        self._repo = repo
        self._person = person
        self._verb = verb
        self._needs = needs
        self.first = first

    async def require(self) -> None:
        """Raises Refused where the person may not say this now, GitHubError where GitHub does not answer."""
        blocked = await self._blocked()
        if blocked is not None:
            raise Refused(blocked)

    async def hear(self, owner: str, name: str, ticket: TicketId, word: Word) -> Done:
        blocked = await self._blocked()
        if blocked is None:
            return await self._doing.hear(owner, name, ticket, word)
        done = await self._done_before(owner, name, ticket, word)
        if done is None:
            raise Refused(blocked)
        # It was carried out while the person still might, and whoever did it never came to say so.
        self.first = None
        return done

    async def _blocked(self) -> Blocked | None:
        if self.first is not None:
            return self.first
        role = await self._repo.role_of(self._person.login)
        return not_permitted(role, self._person, self._verb, self._needs)

    async def _done_before(self, owner: str, name: str, ticket: TicketId, word: Word) -> Done | None:
        """What the record knows of this very command: it is only answered again (the ownership protocol, R16)."""
        try:
            done = await self._doing.hear(owner, name, ticket, word, dry_run=True)
        except Refused:
            return None
        return done if known(done.record, word.id) is not None else None

    async def decide_effect(
        self, owner: str, name: str, ticket: TicketId, event: str, decision: Decision
    ) -> EffectState:
        await self.require()
        return await self._doing.decide_effect(owner, name, ticket, event, decision)

    async def rebuild(self, owner: str, name: str, ticket: TicketId, *, by: str) -> Rebuild:
        await self.require()
        return await self._doing.rebuild(owner, name, ticket, by=by)

    async def brief(self, owner: str, name: str, ticket: TicketId) -> Brief:
        await self.require()
        return await self._doing.brief(owner, name, ticket)

    async def hear_release(
        self,
        owner: str,
        name: str,
        pull: int,
        *,
        id: str,
        verb: str,
        by: Person,
        rule: ReleaseVerb,
        source: Source | None = None,
    ) -> ReleaseHeard:
        await self.require()
        return await self._doing.hear_release(owner, name, pull, id=id, verb=verb, by=by, rule=rule, source=source)

    async def rebuild_release(self, owner: str, name: str, branch: str, *, id: str, by: str) -> ReleaseHeard:
        await self.require()
        return await self._doing.rebuild_release(owner, name, branch, id=id, by=by)

    async def release_status(self, owner: str, name: str, pull: int) -> str:
        await self.require()
        return await self._doing.release_status(owner, name, pull)
