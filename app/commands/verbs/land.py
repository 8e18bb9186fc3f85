"""The published head lands without waiting for its holder to say ready."""

from functools import partial

from app.commands.heads import commit_named, head_unknown
from app.commands.telling import sentence
from app.commands.verb import ON_TICKETS, Actions, Answered, Permission, Said, Verb
from app.commands.words import ticket_and_words
from app.controller.person_commands import Word
from app.domain import person_verbs


class Land:
    name = "land"
    usage = "land [sha]"
    help = "Exactly the head that the PR had when the comment was written lands once nothing is in its way."
    needs = "that head is published under the present lease, the policy says mode: full, and the ticket is not on hold"
    permission = Permission.WRITE
    works_on = ON_TICKETS
    late_ok = False

    async def carry_out(self, said: Said, act: Actions) -> Answered:
        ticket, words = ticket_and_words(said)
        # What a person saw is what lands: a head that came after the comment was not meant.
        sha = await commit_named(said, ticket, words, act) if words else said.head_sha
        if sha is None:
            await head_unknown(said, ticket, act)
        rule = partial(person_verbs.land, by=said.by.login, sha=sha)
        word = Word(id=said.id, verb="land", by=said.by.login, rule=rule)
        done = await act.hear(said.owner, said.name, ticket, word)
        return Answered(sentence(done.answer), done.changed)


VERB: Verb = Land()
