"""The holder may do one effect that cannot be undone: this very one, in this generation."""

from functools import partial

from app.commands.effects_seen import AsSeen
from app.commands.telling import told
from app.commands.verb import ON_TICKETS, Actions, Answered, Permission, Said, Verb
from app.commands.words import effect_key, refuse, ticket_and_words
from app.domain.effect_decision import approved


class Approve:
    name = "approve"
    usage = "approve <effect>"
    help = "The holder may do one effect that cannot be undone: this very one, in this generation."
    needs = "its holder has said before what it means to do"
    permission = Permission.MAINTAIN
    works_on = ON_TICKETS
    late_ok = False

    async def carry_out(self, said: Said, act: Actions) -> Answered:
        ticket, words = ticket_and_words(said, at_least=1)
        if len(words) != 1:
            refuse("the effect's key is missing, or there is more than one word", "say `/recovery approve EFFECT`")
        key = effect_key(words[0])
        decision = AsSeen(partial(approved, key=key, by=said.by.login), key, said)
        state = await act.decide_effect(said.owner, said.name, ticket, f"effect {key} approved", decision)
        return Answered(told(f"The effect {key} ({state.kind}) is approved: its holder may do it now."), changed=True)


VERB: Verb = Approve()
