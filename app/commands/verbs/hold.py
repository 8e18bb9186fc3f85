"""Nothing is claimed, written or landed."""

from functools import partial

from app.commands.telling import sentence
from app.commands.verb import ON_TICKETS, Actions, Answered, Permission, Said, Verb
from app.commands.words import ticket_and_text
from app.controller.person_commands import Word
from app.domain import person_verbs


class Hold:
    name = "hold"
    usage = "hold [reason]"
    help = "Nothing is claimed, written or landed until somebody takes the ticket off hold; its holder keeps the lease."
    needs = "the ticket has not ended"
    permission = Permission.TRIAGE
    works_on = ON_TICKETS
    late_ok = True

    async def carry_out(self, said: Said, act: Actions) -> Answered:
        ticket, reason = ticket_and_text(said)
        rule = partial(person_verbs.hold, by=said.by.login, reason=reason)
        word = Word(id=said.id, verb="hold", by=said.by.login, rule=rule)
        done = await act.hear(said.owner, said.name, ticket, word)
        return Answered(sentence(done.answer), done.changed)


VERB: Verb = Hold()
