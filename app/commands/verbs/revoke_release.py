"""Every authorization of a release is void."""

from functools import partial

from app.commands.telling import sentence
from app.commands.verb import ON_RELEASES, Actions, Answered, Permission, Said, Verb
from app.commands.words import no_words
from app.domain import release_verbs


class RevokeRelease:
    name = "revoke-release"
    usage = "revoke-release"
    help = "Every authorization of this release is void, and a merge that is on its way is withdrawn."
    needs = "the release has not been merged"
    permission = Permission.WRITE
    works_on = ON_RELEASES
    late_ok = False

    async def carry_out(self, said: Said, act: Actions) -> Answered:
        no_words(said.command.args, self.name)
        rule = partial(release_verbs.revoke, by=said.by)
        heard = await act.hear_release(
            said.owner, said.name, said.number, id=said.id, verb=self.name, by=said.by, rule=rule
        )
        return Answered(sentence(heard.answer), heard.changed)


VERB: Verb = RevokeRelease()
