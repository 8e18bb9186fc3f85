"""One effect is not done, in no generation; an approval of it is void."""

from functools import partial

from app.commands.telling import told
from app.commands.verb import ON_TICKETS, Actions, Answered, Permission, Said, Verb
from app.commands.words import effect_key, refuse, ticket_and_words
from app.domain.effect_decision import denied


class Deny:
    name = "deny"
    usage = "deny <effect>"
    help = "One effect is not done, in no generation; an approval of it is void."
    needs = "it is intended and was not let through yet"
    permission = Permission.WRITE
    works_on = ON_TICKETS
    late_ok = True

    async def carry_out(self, said: Said, act: Actions) -> Answered:
        ticket, words = ticket_and_words(said, at_least=1)
        if len(words) != 1:
            refuse("the effect's key is missing, or there is more than one word", "say `/recovery deny EFFECT`")
        key = effect_key(words[0])
        decision = partial(denied, key=key, by=said.by.login)
        state = await act.decide_effect(said.owner, said.name, ticket, f"effect {key} denied", decision)
        return Answered(told(f"The effect {key} ({state.kind}) is denied: it is never done."), changed=True)


VERB: Verb = Deny()
