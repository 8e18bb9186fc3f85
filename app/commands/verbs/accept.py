"""Somebody else's head counts as published."""

from functools import partial

from app.commands.heads import commit_named
from app.commands.telling import sentence
from app.commands.verb import ON_TICKETS, Actions, Answered, Permission, Said, Verb
from app.commands.words import ticket_and_words
from app.controller.person_commands import Word
from app.domain import person_verbs


class Accept:
    name = "accept"
    usage = "accept <sha>"
    help = "The branch's present head counts as published, though somebody else pushed it."
    needs = "exactly this commit is the head, it contains what was published, and it was never withdrawn"
    permission = Permission.WRITE
    works_on = ON_TICKETS
    late_ok = False

    async def carry_out(self, said: Said, act: Actions) -> Answered:
        ticket, words = ticket_and_words(said, at_least=1)
        sha = await commit_named(said, ticket, words, act)
        rule = partial(person_verbs.accept, by=said.by.login, sha=sha)
        word = Word(id=said.id, verb="accept", by=said.by.login, rule=rule)
        done = await act.hear(said.owner, said.name, ticket, word)
        return Answered(sentence(done.answer), done.changed)


VERB: Verb = Accept()
