"""How an effect ended of which nobody knew the end: it happened, or it did not and never will."""

from functools import partial

from app.commands.effects_seen import AsSeen
from app.commands.telling import told
from app.commands.verb import ON_TICKETS, Actions, Answered, Permission, Said, Verb
from app.commands.words import effect_key, refuse, ticket_and_words
from app.domain.effect_decision import resolved


class Resolve:
    name = "resolve"
    usage = "resolve <effect> done|not-done"
    help = "How an effect ended of which nobody knew the end: it happened, or it did not and never will."
    needs = "the effect was unknown when this was said, and somebody found out"
    permission = Permission.WRITE
    works_on = ON_TICKETS
    late_ok = False

    async def carry_out(self, said: Said, act: Actions) -> Answered:
        ticket, words = ticket_and_words(said, at_least=2)
        if len(words) != 2 or words[1].lower() not in ("done", "not-done"):
            remedy = "say `/recovery resolve EFFECT done` or `/recovery resolve EFFECT not-done`"
            refuse("it has to be said which effect, and how it ended", remedy)
        key, done = effect_key(words[0]), words[1].lower() == "done"
        decision = AsSeen(partial(resolved, key=key, done=done, by=said.by.login), key, said)
        state = await act.decide_effect(said.owner, said.name, ticket, f"effect {key} resolved", decision)
        ended = "happened" if state.state == "confirmed" else "did not happen and never will"
        return Answered(told(f"The effect {key} {ended}, as {said.by.login} found out."), changed=True)


VERB: Verb = Resolve()
