"""Which of several tickets goes first: by the board's priority, then by whatever the row itself goes by.

Where every option of the field has a name that boards commonly use (`P0`, `Urgent`, `High`, …), the names decide, in
whatever order the board shows them. Otherwise the options are in the order of the board, the first the most urgent; a
field without options is read by its names or numbers. Tickets without a priority come last.
"""

import re
from collections.abc import Sequence

from app.domain.board import column_of, line_of
from app.domain.observation import Observation
from app.domain.policy import Policy

NONE = 1_000_000
"""The rank of a ticket without a priority."""

_NAMES = {"urgent": 0, "critical": 0, "highest": 0, "high": 1, "medium": 2, "normal": 2, "low": 3, "lowest": 4}
_NUMBERED = re.compile(r"p?([0-9]{1,5})\b")


def rank(value: str | None, options: Sequence[str] = ()) -> int:
    """The smaller goes first. `options`: the choices of the field, where it has any."""
    if value is None:
        return NONE
    folded = [option.strip().casefold() for option in options]
    wanted = value.strip().casefold()
    named = [_named(option) for option in folded or [wanted]]
    if None in named:
        return folded.index(wanted) if wanted in folded else NONE
    found = _named(wanted)
    return found if found is not None else NONE


def rank_of(observation: Observation, policy: Policy) -> int:
    """How urgent the board says that a ticket is."""
    item = line_of(observation, policy)
    column = column_of(item, policy.project.priority_field) if item is not None else None
    if item is None or column is None:
        return NONE
    return rank(item.fields.get(column.name), column.options)


def _named(text: str) -> int | None:
    if text in _NAMES:
        return _NAMES[text]
    number = _NUMBERED.match(text)
    return int(number[1]) if number is not None else None
