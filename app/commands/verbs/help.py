"""What can be said in a comment."""

from collections.abc import Callable

from app.commands.help_text import table
from app.commands.verb import ANYWHERE, Actions, Answered, Permission, Said, Verb


class Help:
    """`verbs`: all that there are, this one among them."""

    name = "help"
    usage = "help"
    help = "Shows this list."
    needs = ""
    permission = Permission.READ
    works_on = ANYWHERE
    late_ok = True

    def __init__(self, verbs: Callable[[], tuple[Verb, ...]]) -> None:
        self._verbs = verbs

    async def carry_out(self, said: Said, act: Actions) -> Answered:
        place = "release" if said.release is not None else "ticket" if said.ticket is not None else None
        shown = [verb for verb in self._verbs() if place is None or place in verb.works_on]
        return Answered(f"What can be said here, each at the beginning of a line of its own:\n\n{table(shown)}")
