"""The ticket ends."""

from functools import partial

from app.commands.telling import sentence
from app.commands.verb import ON_TICKETS, Actions, Answered, Permission, Said, Verb
from app.commands.words import ticket_and_text
from app.controller.person_commands import Word
from app.domain import person_verbs


class Cancel:
    name = "cancel"
    usage = "cancel [reason]"
    help = "The ticket ends, its children with it; Issue, branch and PR are left as they are."
    needs = "the ticket has not landed; a child is cancelled by the holder of its ticket"
    permission = Permission.TRIAGE
    works_on = ON_TICKETS
    late_ok = True

    async def carry_out(self, said: Said, act: Actions) -> Answered:
        ticket, reason = ticket_and_text(said)
        rule = partial(person_verbs.cancel, by=said.by.login, reason=reason)
        word = Word(id=said.id, verb="cancel", by=said.by.login, rule=rule)
        done = await act.hear(said.owner, said.name, ticket, word)
        return Answered(sentence(done.answer), done.changed)


VERB: Verb = Cancel()
