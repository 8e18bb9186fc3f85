"""The ticket goes on."""

from functools import partial

from app.commands.telling import sentence
from app.commands.verb import ON_TICKETS, Actions, Answered, Permission, Said, Verb
from app.commands.words import no_words, ticket_and_words
from app.controller.person_commands import Word
from app.domain import person_verbs


class Unhold:
    name = "unhold"
    usage = "unhold"
    help = "The ticket goes on where it was when it was put on hold."
    needs = "the ticket has not ended"
    permission = Permission.WRITE
    works_on = ON_TICKETS
    late_ok = False

    async def carry_out(self, said: Said, act: Actions) -> Answered:
        ticket, words = ticket_and_words(said)
        no_words(words, self.name)
        rule = partial(person_verbs.unhold, by=said.by.login)
        word = Word(id=said.id, verb="unhold", by=said.by.login, rule=rule)
        done = await act.hear(said.owner, said.name, ticket, word)
        return Answered(sentence(done.answer), done.changed)


VERB: Verb = Unhold()
