"""A click on a button of a ticket's check-run as a command. It is about the state that the check-run showed then."""

from dataclasses import dataclass

from app.commands.grammar import Command
from app.controller.words import Kept
from app.domain.buttons import button
from app.domain.external_id import Projected, parse
from app.domain.keys import WordKey
from app.domain.outcome import Blocked, Code


@dataclass(frozen=True)
class Click:
    """What a click says, and of which ticket in which generation."""

    command: Command
    label: str
    shown: Projected


def click_of(key: WordKey, kept: Kept) -> Click | None:
    """The click that a key names and its word keeps; None where it is none."""
    named, shown = key.said.split("."), parse(kept.text)
    clicked = button(named[1]) if key.comment_id is None and len(named) == 3 else None
    if clicked is None or not shown:
        return None
    return Click(Command(clicked.verb, (), "", 1), clicked.label, shown[0])


def out_of_date(click: Click, generation: int | None) -> Blocked | None:
    """Why a click counts no more: somebody else holds the ticket than its check-run said when it was clicked."""
    if generation is None or generation == click.shown.generation:
        return None
    reason = (
        f"the check-run that was clicked showed generation {click.shown.generation} of the ticket, and the present one "
        f"is {generation}"
    )
    return Blocked(Code.STALE_GENERATION, reason, f"look again, then say `/recovery {click.command.verb}` in a comment")
