"""The linked Issue: the first line of a PR body that names the ticket, `Ticket: #42`."""

import re

_LINE = re.compile(r"Ticket:[ \t]*#([1-9][0-9]{0,9})[ \t]*")


def linked_issue_of(body: str) -> int | None:
    """The ticket that a PR body names in its first line, or None.

    Only the first line counts: text further down may be quoted or written by strangers.
    """
    first_line = re.split(r"\r\n|\r|\n", body, maxsplit=1)[0]
    found = _LINE.fullmatch(first_line)
    return int(found[1]) if found else None
