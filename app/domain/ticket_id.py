"""What is claimed, worked on and handed off: a ticket by its Issue's number, or a child of one.

A child (`42.docs-1`) is a part of a ticket that its holder gave to another agent. It has a ledger, a branch and a lease
of its own under the same protocol; the Issue is the parent's.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, PlainSerializer, PlainValidator, WithJsonSchema

MAX_NUMBER = 2**31 - 1
"""GitHub asks for the number of an Issue as a GraphQL `Int`: no Issue can have a higher one."""
CHILD_NAME = r"(?!lock$)[a-z0-9][a-z0-9-]{0,30}"
"""`lock` is left out because git takes no name that ends in `.lock`."""
TICKET = rf"^[1-9][0-9]{{0,9}}(\.{CHILD_NAME})?$"
"""How a ticket or child is written, for descriptions."""

_NO_NAME = "a child's name is up to 31 lower-case letters, digits and '-', does not begin with '-' and is not 'lock'"
_CHILD_NAME = re.compile(CHILD_NAME)
_TEXT = re.compile(r"(?P<number>[1-9][0-9]{0,9})(?:\.(?P<child>[a-z0-9][a-z0-9-]{0,30}))?")


def is_child_name(name: object) -> bool:
    """Whether a child may be called that."""
    return isinstance(name, str) and _CHILD_NAME.fullmatch(name) is not None


def _child_name(name: str) -> str:
    if not is_child_name(name):
        raise ValueError(_NO_NAME)
    return name


ChildName = Annotated[str, AfterValidator(_child_name)]
"""A child's name as a field."""


@dataclass(frozen=True, slots=True, order=True)
class Child:
    """The child `name` of the ticket `parent`. Raises ValueError on a name that no child can have."""

    parent: int
    name: str

    def __post_init__(self) -> None:
        if not is_child_name(self.name):
            raise ValueError(_NO_NAME)

    def __str__(self) -> str:
        return f"{self.parent}.{self.name}"


TicketId = int | Child
"""`str()` of it is how it stands in refs, keys, paths and on the command line: `42`, `42.docs-1`."""


def ticket_id(text: str) -> TicketId | None:
    """The ticket or child that a text names, None where it names none; `str()` of the result is the text again."""
    found = _TEXT.fullmatch(text)
    if found is None or int(found["number"]) > MAX_NUMBER:
        return None
    number, child = int(found["number"]), found["child"]
    if child is None:
        return number
    return Child(number, child) if is_child_name(child) else None


def number_of(ticket: TicketId) -> int:
    """The number of the Issue: a child's is its parent's."""
    return ticket.parent if isinstance(ticket, Child) else ticket


def by_number(ticket: TicketId) -> tuple[int, str]:
    """A key to sort by: tickets by their number, each before its children."""
    return number_of(ticket), child_name_of(ticket) or ""


def child_name_of(ticket: TicketId) -> str | None:
    return ticket.name if isinstance(ticket, Child) else None


def as_json(ticket: TicketId) -> int | str:
    """How it stands in JSON: a ticket is a number, a child a text."""
    return str(ticket) if isinstance(ticket, Child) else ticket


def from_json(value: Any) -> TicketId:
    """The reverse of `as_json`. Raises ValueError on anything else."""
    if isinstance(value, Child):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MAX_NUMBER:
        return value
    found = ticket_id(value) if isinstance(value, str) else None
    if not isinstance(found, Child):
        raise ValueError("neither the number of an Issue nor the name of a child like '42.docs-1'")
    return found


TicketField = Annotated[
    TicketId,
    PlainValidator(from_json),
    PlainSerializer(as_json, return_type=int | str),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": MAX_NUMBER},
                {"type": "string", "pattern": rf"^[1-9][0-9]{{0,9}}\.{CHILD_NAME}$"},
            ],
            "title": "Ticket",
        }
    ),
]
"""A ticket or child as a field of a message: 42, or "42.docs-1"."""
