"""The published head lands without waiting for its holder to say ready."""

from functools import partial
from typing import NoReturn

from app.commands.telling import sentence
from app.commands.verb import ON_TICKETS, Actions, Answered, Permission, Said, Verb
from app.commands.words import refuse, ticket_and_words, whole_sha
from app.controller.person_commands import Word
from app.domain import person_verbs
from app.domain.outcome import Code
from app.domain.ticket_id import TicketId
from app.domain.told_commands import of


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
        sha = whole_sha(words, self.name, ticket, said.head_sha) if words else said.head_sha
        if sha is None:
            sha = await _unknown_head(said, ticket, act)
        rule = partial(person_verbs.land, by=said.by.login, sha=sha)
        word = Word(id=said.id, verb="land", by=said.by.login, rule=rule)
        done = await act.hear(said.owner, said.name, ticket, word)
        return Answered(sentence(done.answer), done.changed)


async def _unknown_head(said: Said, ticket: TicketId, act: Actions) -> NoReturn:
    """Refuses with the command that names what is there now, for whoever looked at it."""
    brief = await act.brief(said.owner, said.name, ticket)
    command = f"`/recovery land{of(ticket)} {brief.work.branch_head or 'SHA'}`"
    reason = "which commit the branch had when this was written is not known"
    refuse(reason, f"look at what is there now; to land exactly that say {command}", Code.BRANCH_MOVED)


VERB: Verb = Land()
