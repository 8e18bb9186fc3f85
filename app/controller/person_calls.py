"""The controller towards persons."""

from app.controller.calling import Calls, naming
from app.controller.effect_decisions import Decision, EffectDecisions
from app.controller.person_commands import Done, PersonCommands, Word
from app.controller.rebuilding import Rebuilding
from app.controller.release_hearing import DoneRelease, ReleaseWord
from app.controller.release_rebuilding import BegunAnew
from app.controller.releases import Releases
from app.domain.effect_state import EffectState
from app.domain.keys import TicketKey
from app.domain.rebuild import Rebuild
from app.domain.release_record import Person, Source
from app.domain.release_verbs import ReleaseVerb
from app.domain.ticket_id import TicketId
from app.github.budget import counting


class PersonCalls(Calls):
    """What persons say, in a comment, by a button or at the operator's terminal."""

    _commands: PersonCommands
    _effect_decisions: EffectDecisions
    _rebuilding: Rebuilding
    _releases: Releases

    async def decide_effect(
        self, owner: str, name: str, ticket: TicketId, event: str, decision: Decision
    ) -> EffectState:
        """Write down what a person decided about an effect. Raises Refused, GitHubError."""
        self._require_writes()
        with counting("effect"):
            async with naming(ticket):
                state = await self._effect_decisions.decide(owner, name, ticket, event, decision)
        await self._pokes.poke(str(TicketKey(f"{owner}/{name}", ticket)))
        return state

    async def hear(self, owner: str, name: str, ticket: TicketId, word: Word, *, dry_run: bool = False) -> Done:
        """Carry out what a person says about a ticket. With `dry_run` nothing is written. Raises Refused with what
        stands in the way, GitHubError.
        """
        if not dry_run:
            self._require_writes()
        with counting("command"):
            async with naming(ticket):
                try:
                    return await self._commands.hear(owner, name, ticket, word, dry_run=dry_run)
                finally:
                    if not dry_run:
                        await self._pokes.poke(str(TicketKey(f"{owner}/{name}", ticket)))

    async def rebuild(
        self, owner: str, name: str, ticket: TicketId, *, by: str, accept_loss: bool = False, dry_run: bool = False
    ) -> Rebuild:
        """Begin a frozen ledger anew, because the person `by` says so. Raises Refused, GitHubError."""
        self._require_writes()
        with counting("rebuild"):
            async with naming(ticket):
                made = await self._rebuilding.rebuild(
                    owner, name, ticket, by=by, accept_loss=accept_loss, dry_run=dry_run
                )
        await self._pokes.poke(str(TicketKey(f"{owner}/{name}", ticket)))
        return made

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
        dry_run: bool = False,
    ) -> DoneRelease:
        """Carry out what a person says on the PR of a release. `source`: the comment in which it stands, which is read
        again before it is judged. With `dry_run` nothing is written. Raises Refused with what stands in the way,
        GitHubError.
        """
        if not dry_run:
            self._require_writes()
        with counting("command"):
            return await self._releases.hear(
                owner, name, pull, ReleaseWord(id, verb, by, rule, source), dry_run=dry_run
            )

    async def rebuild_release(
        self, owner: str, name: str, branch: str, *, id: str, by: str, dry_run: bool = False
    ) -> BegunAnew:
        """Begin a release's frozen ledger anew, because the person `by` says so. `id`: the command's; the same one
        again is only answered. With `dry_run` nothing is written. Raises Refused, GitHubError.
        """
        if not dry_run:
            self._require_writes()
        with counting("rebuild"):
            return await self._releases.rebuild(owner, name, branch, id=id, by=by, dry_run=dry_run)

    async def release_status(self, owner: str, name: str, pull: int) -> str:
        """How a release stands, in Markdown. Writes nothing. Raises Refused, GitHubError."""
        with counting("command"):
            return await self._releases.status(owner, name, pull)
