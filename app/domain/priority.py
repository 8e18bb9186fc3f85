"""Which of several tickets goes first: by the board's priority, then the older Issue.

A single-select field is in the order of its options, the first the most urgent, as a board shows them. Otherwise the
first number in the text counts (`P0` before `P1`), and tickets without a priority come last.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from app.domain.board import line_of
from app.domain.observation import Observation
from app.domain.policy import Policy

_NUMBER = re.compile(r"\d{1,6}")


@dataclass(frozen=True, order=True)
class Urgency:
    """Comparable: the smaller goes first. `known` is 0 where a priority was found, 1 otherwise."""

    known: int = 1
    rank: int = 0


NONE = Urgency()


@dataclass(frozen=True)
class Waiting:
    """A ticket that waits for its turn."""

    ticket: int
    urgency: Urgency = NONE


def in_order(waiting: Iterable[Waiting]) -> tuple[Waiting, ...]:
    """The tickets in the order in which they are to be served."""
    return tuple(sorted(waiting, key=lambda one: (one.urgency, one.ticket)))


def urgency_of(observation: Observation, policy: Policy) -> Urgency:
    """How urgent the board says that a ticket is."""
    item = line_of(observation, policy)
    if item is None:
        return NONE
    wanted = policy.project.priority_field.casefold()
    column = next((c for c in item.columns if c.name.casefold() == wanted), None)
    value = item.fields.get(column.name) if column is not None else None
    if column is None or value is None:
        return NONE
    return urgency(value, column.options)


def urgency(value: str, options: Iterable[str] = ()) -> Urgency:
    """The place of a priority among the options of its field; without options, its first number."""
    folded = [option.casefold() for option in options]
    if value.casefold() in folded:
        return Urgency(0, folded.index(value.casefold()))
    number = _NUMBER.search(value)
    return Urgency(0, int(number[0])) if number is not None else NONE
