"""A release may be merged at exactly this commit."""

from functools import partial

from app.commands.telling import sentence
from app.commands.verb import ON_RELEASES, Actions, Answered, Permission, Said, Verb
from app.commands.words import as_whole_sha, refuse
from app.domain import release_verbs


class AuthorizeRelease:
    name = "authorize-release"
    usage = "authorize-release <sha>"
    help = "A release may be merged at exactly this commit, for the time that the policy gives."
    needs = "the commit is the head of the release PR, and the policy lets this person authorize"
    permission = Permission.AUTHORIZER
    works_on = ON_RELEASES
    late_ok = False

    async def carry_out(self, said: Said, act: Actions) -> Answered:
        sha = as_whole_sha(said.command.args)
        if said.source is None:
            refuse("a release is authorized in a comment", "say `/recovery authorize-release SHA` on the release PR")
        if sha is None and said.head_sha is not None:
            remedy = f"look at that commit, then say `/recovery authorize-release {said.head_sha}`"
            refuse("a release is authorized by all 40 characters of its commit", remedy)
        rule = partial(release_verbs.authorize, by=said.by, sha=sha or "", source=said.source)
        heard = await act.hear_release(
            said.owner,
            said.name,
            said.number,
            id=said.id,
            verb=self.name,
            by=said.by,
            rule=rule,
            source=said.source,
        )
        return Answered(sentence(heard.answer), heard.changed)


VERB: Verb = AuthorizeRelease()
