"""The branch grammar: which branch belongs to which ticket.

Default grammar: `42`, `42-slug`, `ticket/42`, `ticket/42-slug`, `issue-42`. No other branch is ever a
ticket's; a name that only looks similar (`ticket/42#tmp`, `Ticket/42`, `042`) belongs to nobody, so that
nothing done for one branch can touch another.
"""

import re
import unicodedata

from app.domain.ticket_id import CHILD_NAME, Child, TicketId

BEFORE_A_NUMBER = ("", "ticket/", "issue-")
"""How the name of a ticket's branch begins, before its number."""
_NUMBER = r"(?P<{}>[1-9][0-9]{{0,9}})"
# A slug is everything git allows in one path segment; letters beyond ASCII are common in it.
_SLUG = r"-[^/\s~^:?*\[\\]+"
_GRAMMAR = re.compile(
    rf"(?:ticket/)?{_NUMBER.format('plain')}(?:{_SLUG})?|issue-{_NUMBER.format('issue')}",
)
_CHILD = re.compile(rf"ticket/{_NUMBER.format('parent')}\.(?P<name>{CHILD_NAME})")
_MAX_BYTES = 244  # GitHub's limit for a branch name


def ticket_of_branch(name: str) -> int | None:
    """The ticket a branch belongs to by its short name (no `refs/heads/`), or None when it is nobody's.

    Names that git itself would refuse, that hold control, format or unpaired surrogate characters, or
    that exceed 244 bytes of UTF-8 belong to nobody.
    """
    found = _GRAMMAR.fullmatch(name)
    if found is None or not _is_plain_ref_name(name):
        return None
    return int(found["plain"] or found["issue"])


def owner_of_branch(name: str) -> TicketId | None:
    """The ticket or the child that a branch belongs to, or None when it is nobody's.

    A child has one branch, named after it (`ticket/42.docs-1`); a ticket's never looks like that.
    """
    found = _CHILD.fullmatch(name)
    return Child(int(found["parent"]), found["name"]) if found else ticket_of_branch(name)


def child_branch(child: Child) -> str:
    """The branch of a child: beside its parent's, so that each leaves room for the other."""
    return f"ticket/{child}"


def _is_plain_ref_name(name: str) -> bool:
    if any(unicodedata.category(character).startswith("C") for character in name):
        return False
    if len(name.encode()) > _MAX_BYTES:
        return False
    return ".." not in name and "@{" not in name and not name.endswith((".", ".lock"))
