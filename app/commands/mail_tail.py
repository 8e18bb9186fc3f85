"""Where an answer that was sent by mail ends: at its signature, or where the mail that it answers begins."""

import re
from collections.abc import Sequence, Set

_SIGNATURE = re.compile(r"--[ \t]*")
_BEGINS = re.compile(r"(?:On|Am|Le|El|Il|Em|Op|Den|Dnia|W dniu)\b")
# Beside the words a date or an address has to be there: people write "on that somebody wrote:", too.
_WROTE = re.compile(
    r"(?=.*(?:[0-9]|@)).*\b(?:wrote|schrieb\b.*|a écrit|escribió|ha scritto|escreveu|schreef\b.*|skrev\b.*|"
    r"napisał\(?a?\)?)[ \t\xa0]*:[ \t]*",
    re.IGNORECASE,
)
_FORWARDED = re.compile(
    r"(?i)-{2,}[ \t]*(?:Original Message|Original-Nachricht|Ursprüngliche Nachricht|Forwarded message)"
    r"[ \t]*-{2,}[ \t]*|Begin forwarded message:[ \t]*"
)
_FROM = re.compile(r"(?i)[*_]{0,2}(?:From|Von|De|Da|Van|Från|Fra):[*_]{0,2}[ \t]*\S.*")
_SENT = re.compile(r"Sent from my .{1,40}|Get Outlook for .{1,40}", re.IGNORECASE)
LONGEST = 400
"""Characters of a line that may begin a tail."""
WRAPPED = 3
"""Lines over which mail programs break the line that says who wrote when."""


def mail_tail(lines: Sequence[str], prose: Set[int]) -> int:
    """The number of the first line of the tail, counted from 0; the number of lines where there is none. Only lines in
    `prose`, which are no code and no HTML, begin one.
    """
    for number, line in enumerate(lines):
        # The mark of a signature under a paragraph is, to Markdown, the underline of a heading: no code either.
        if number in prose and (_SIGNATURE.fullmatch(line) or _begins_tail(lines, number)):
            return number
    return len(lines)


def _begins_tail(lines: Sequence[str], number: int) -> bool:
    line = lines[number].strip(" \t")
    if len(line) > LONGEST:
        return False
    if _FROM.fullmatch(line) or _FORWARDED.fullmatch(line) or _SENT.fullmatch(line):
        return True
    if not _BEGINS.match(line):
        return False
    return any(
        _WROTE.fullmatch(" ".join(part[:LONGEST].strip(" \t") for part in lines[number : number + count])) is not None
        for count in range(1, WRAPPED + 1)
    )
