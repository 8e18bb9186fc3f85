"""The lease ends."""

from functools import partial

from app.commands.telling import sentence
from app.commands.verb import ON_TICKETS, Actions, Answered, Permission, Said, Verb
from app.commands.words import no_words, ticket_and_words
from app.controller.person_commands import Word
from app.domain import person_verbs


class Takeover:
    name = "takeover"
    usage = "takeover"
    help = "The lease ends, however alive its holder: the next agent that claims gets the ticket at once."
    needs = "the ticket is not on hold and has not ended"
    permission = Permission.WRITE
    works_on = ON_TICKETS
    late_ok = False

    async def carry_out(self, said: Said, act: Actions) -> Answered:
        ticket, words = ticket_and_words(said)
        no_words(words, self.name)
        rule = partial(person_verbs.takeover, by=said.by.login)
        word = Word(id=said.id, verb="takeover", by=said.by.login, rule=rule)
        done = await act.hear(said.owner, said.name, ticket, word)
        return Answered(sentence(done.answer), done.changed)


VERB: Verb = Takeover()
