"""The buttons on a ticket's check-run: what a person may say by a click. GitHub shows them once the run is completed.

Authorizing a release is no button: a click on a check-run names no commit, and what is authorized has to be written
out.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Button:
    """`identifier`: what GitHub tells us of a click, at most 20 characters; `label` 20, `description` 40. `verb`: the
    command that it stands for.
    """

    identifier: str
    label: str
    description: str
    verb: str


BUTTONS = (
    Button("recover", "Recover now", "Let a fresh agent take the ticket up", "recover"),
    Button("hold", "Hold", "Nothing is claimed, written or landed", "hold"),
    Button("brief", "Show brief", "Answer with what a fresh agent must know", "status"),
)
"""At most three: GitHub takes no more."""


def button(identifier: str) -> Button | None:
    """The button of this identifier."""
    return next((one for one in BUTTONS if one.identifier == identifier), None)
