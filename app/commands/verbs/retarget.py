"""The ticket goes to another trunk."""

from functools import partial

from app.commands.telling import sentence
from app.commands.verb import ON_TICKETS, Actions, Answered, Permission, Said, Verb
from app.commands.words import branch_name, refuse, ticket_and_words
from app.controller.person_commands import Word
from app.domain import person_verbs


class Retarget:
    name = "retarget"
    usage = "retarget <branch>"
    help = "The ticket goes to another trunk, and the base of its PR follows."
    needs = "the branch stands and trunks in the policy match it; the ticket is not on hold and has not ended"
    permission = Permission.WRITE
    works_on = ON_TICKETS
    late_ok = False

    async def carry_out(self, said: Said, act: Actions) -> Answered:
        ticket, words = ticket_and_words(said, at_least=1)
        if len(words) != 1:
            refuse("it has to be said to which branch, and nothing else", "say `/recovery retarget BRANCH`")
        branch = branch_name(words[0])
        rule = partial(person_verbs.retarget, by=said.by.login, to=branch)
        word = Word(id=said.id, verb="retarget", by=said.by.login, rule=rule, branch=branch)
        done = await act.hear(said.owner, said.name, ticket, word)
        return Answered(sentence(done.answer), done.changed)


VERB: Verb = Retarget()
