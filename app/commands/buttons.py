"""A click on a button of a ticket's check-run as a command. It is about the state that the check-run showed then."""

from dataclasses import dataclass

from app.commands.grammar import Command
from app.commands.registry import find
from app.commands.verb import ON_TICKETS, Actions, Answered, Permission, Said, Verb
from app.commands.verbs import status
from app.commands.words import ticket_and_words
from app.controller.words import Kept
from app.domain.buttons import button
from app.domain.compose_brief import render_markdown
from app.domain.external_id import Projected, parse
from app.domain.keys import WordKey
from app.domain.outcome import Blocked, Code
from app.domain.untrusted import quote

BRIEF_BYTES = 40_000
"""Of the brief in an answer. GitHub takes no comment above 65,536 characters."""


@dataclass(frozen=True)
class Click:
    """What a click says, and of which ticket in which generation."""

    command: Command
    verb: Verb
    label: str
    shown: Projected


class ShowBrief:
    """What `status` says, and below it the whole brief as data."""

    name = status.VERB.name
    usage = status.VERB.usage
    help = "Shows the brief: everything that a fresh agent must know."
    needs = ""
    permission = Permission.READ
    works_on = ON_TICKETS
    late_ok = True

    async def carry_out(self, said: Said, act: Actions) -> Answered:
        ticket, _ = ticket_and_words(said)
        short = await status.VERB.carry_out(said, act)
        brief = render_markdown(await act.brief(said.owner, said.name, ticket))
        whole = f"<details><summary>The brief</summary>\n\n{quote(brief, BRIEF_BYTES)}\n\n</details>"
        return Answered(f"{short.markdown}\n\n{whole}")


_BRIEF: Verb = ShowBrief()


def click_of(key: WordKey, kept: Kept) -> Click | None:
    """The click that a key names and its word keeps; None where it is none."""
    named, shown = key.said.split("."), parse(kept.text)
    clicked = button(named[1]) if key.comment_id is None and len(named) == 3 else None
    verb = _BRIEF if clicked is not None and clicked.identifier == "brief" else find(clicked.verb) if clicked else None
    if clicked is None or verb is None or not shown:
        return None
    return Click(Command(clicked.verb, (), "", 1), verb, clicked.label, shown[0])


def out_of_date(click: Click, generation: int | None) -> Blocked | None:
    """Why a click counts no more: somebody else holds the ticket than its check-run said when it was clicked."""
    if generation is None or generation == click.shown.generation:
        return None
    reason = (
        f"the check-run that was clicked showed generation {click.shown.generation} of the ticket, and the present one "
        f"is {generation}"
    )
    return Blocked(Code.STALE_GENERATION, reason, f"look again, then say `/recovery {click.command.verb}` in a comment")
