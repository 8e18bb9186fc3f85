"""A ticket that stopped may go on: a person's intent, which renews its age and its attempts. A frozen ledger, of a
ticket or a release, is begun anew.
"""

from functools import partial

from app.commands.telling import sentence, told
from app.commands.verb import ANYWHERE, Actions, Answered, Permission, Said, Verb
from app.commands.words import no_words, ticket_and_words
from app.controller.person_commands import Word
from app.domain import person_verbs
from app.domain.outcome import Code, Refused
from app.domain.rebuild import Rebuild
from app.domain.ticket_id import TicketId


class Recover:
    name = "recover"
    usage = "recover"
    help = (
        "A ticket that stopped, was cancelled or abandoned can be claimed again, whatever its age and attempts; a "
        "frozen ledger, of a ticket or of a release, is begun anew."
    )
    needs = (
        "no living holder (`/recovery takeover` ends its lease), and the ticket is not on hold; a release's ledger is "
        "frozen"
    )
    permission = Permission.WRITE
    permission_on_releases = Permission.MAINTAIN
    works_on = ANYWHERE
    late_ok = False

    async def carry_out(self, said: Said, act: Actions) -> Answered:
        if said.release is not None:
            no_words(said.command.args, self.name)
            begun = await act.rebuild_release(said.owner, said.name, said.release, id=said.id, by=said.by.login)
            return Answered(sentence(begun.answer), begun.changed)
        ticket, words = ticket_and_words(said)
        no_words(words, self.name)
        rule = partial(person_verbs.recover, by=said.by.login)
        word = Word(id=said.id, verb="recover", by=said.by.login, rule=rule)
        try:
            done = await act.hear(said.owner, said.name, ticket, word)
        except Refused as refused:
            if refused.blocked.code is not Code.FROZEN:
                raise
            made = await act.rebuild(said.owner, said.name, ticket, by=said.by.login)
            return Answered(f"{_rebuilt(ticket, made)} {_next(ticket)}", changed=True)
        return Answered(f"{sentence(done.answer)} {_next(ticket)}", done.changed)


def _rebuilt(ticket: TicketId, made: Rebuild) -> str:
    unknown = [effect.key for effect in made.record.effects if effect.state == "unknown"]
    effects = f" Unknown now, and for a person to resolve: {', '.join(unknown)}." if unknown else ""
    begun = f"The ledger of #{ticket} is begun anew from {made.source}: generation {made.record.generation}, no holder"
    return sentence(begun) + told(effects)


def _next(ticket: TicketId) -> str:
    return f"An agent goes on with `agent-recovery recover {ticket}`."


VERB: Verb = Recover()
