"""The tickets that a commit's message names in its trailers: `Ticket: #42`, `Recovery-Ticket: 42`.

Only the last paragraph counts, as git reads trailers, and only where every line of it is one: a sentence that mentions
`Ticket: #42`, a quotation or a revert's text names nobody.
"""

import re

from app.domain.ticket_id import MAX_NUMBER

_PARAGRAPHS = re.compile(r"\n[ \t]*\n")
_LINE_END = re.compile(r"\r\n|\r|\n")
_TRAILER = re.compile(r"[A-Za-z0-9-]{1,60}[ \t]*:[ \t].*|[ \t]+\S.*")
_TICKET = re.compile(r"(?:recovery-)?ticket[ \t]*:[ \t]*#?([1-9][0-9]{0,9})[ \t]*", re.IGNORECASE)
_READ = 16_384
"""Characters of a message's end that are read: a stranger may write megabytes."""


def tickets_named_by(message: str) -> tuple[int, ...]:
    """The numbers in the trailers of a commit's message, each once, in their order."""
    text = "\n".join(_LINE_END.split(message[-_READ:])).rstrip()
    paragraphs = _PARAGRAPHS.split(text)
    # A message of one paragraph is a subject, whatever it looks like.
    lines = paragraphs[-1].split("\n") if len(paragraphs) > 1 else []
    if not all(_TRAILER.fullmatch(line) for line in lines):
        return ()
    found = (_TICKET.fullmatch(line) for line in lines)
    return tuple(dict.fromkeys(int(m[1]) for m in found if m and int(m[1]) <= MAX_NUMBER))
