"""The release PR is merged at the authorized commit."""

from functools import partial

from app.commands.telling import sentence
from app.commands.verb import ON_RELEASES, Actions, Answered, Permission, Said, Verb
from app.commands.words import no_words
from app.domain import release_verbs


class MergeRelease:
    name = "merge-release"
    usage = "merge-release"
    help = "The release PR is merged at the authorized commit, if all that was checked is still so."
    needs = "a live authorization of the present head; base, checks, reviews and conversations in order"
    permission = Permission.WRITE
    works_on = ON_RELEASES
    late_ok = False

    async def carry_out(self, said: Said, act: Actions) -> Answered:
        no_words(said.command.args, self.name)
        rule = partial(release_verbs.merge, id=said.id, by=said.by)
        heard = await act.hear_release(
            said.owner, said.name, said.number, id=said.id, verb=self.name, by=said.by, rule=rule
        )
        return Answered(sentence(heard.answer), heard.changed)


VERB: Verb = MergeRelease()
