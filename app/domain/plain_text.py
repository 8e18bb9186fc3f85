"""Text as it may be stored and cut: no control characters, no half characters.

Outside text may hold anything a JSON string can: NUL, lone surrogates, terminal escapes, marks that turn the direction
of reading or hide letters. None of that reaches a record, a comment or a terminal.
"""

import re
import unicodedata

_DIRECTION = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_HIDDEN = "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u2060-\u2065\u206a-\u206f\u3164\ufeff\ufff9-\ufffb"
_TAGS = "\U000e0000-\U000e007f"
_REMOVED = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_DIRECTION}{_HIDDEN}{_TAGS}]")
# Joiners belong to emoji and to some scripts; between ASCII characters they only hide a word from a search.
_JOINER = re.compile("(?<=[\x21-\x7e])[\u200c\u200d]+|[\u200c\u200d]+(?=[\x21-\x7e])")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LINE_END = re.compile("\r\n?|\u2028|\u2029|\x85")


def clean(text: str) -> str:
    """The text without control, direction and hidden characters (line feed and tab stay), with well-formed Unicode
    and line feeds as its only line ends.
    """
    text = _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", _LINE_END.sub("\n", text))
    # Removing hidden characters can bring a joiner next to a letter, so they go first.
    return _JOINER.sub("", _REMOVED.sub("", text))


def one_line(text: str) -> str:
    """`clean` text on one line: every run of white space is one space."""
    return " ".join(clean(text).split())


def is_one_line(text: str) -> bool:
    """Whether a label is fit to be shown as it is: one printable line, without hidden or direction characters."""
    return bool(text.strip()) and text.isprintable() and text == clean(text)


def cut(text: str, max_bytes: int) -> str:
    """The longest beginning of a text that has at most `max_bytes` UTF-8 bytes and ends between two characters as a
    reader sees them: no half emoji, no letter without its accent, no dangling joiner.
    """
    raw = text.encode("utf-8", "replace")
    if len(raw) <= max_bytes:
        return text
    end = len(raw[: max(max_bytes, 0)].decode("utf-8", "ignore"))
    while end > 0 and not _may_part(text, end):
        end -= 1
    return text[:end]


def shorten(text: str, max_bytes: int) -> tuple[str, bool]:
    """`cut` with a visible `…` where something was left out, within `max_bytes` (at least 3); and whether it was."""
    if len(text.encode("utf-8", "replace")) <= max_bytes:
        return text, False
    return cut(text, max_bytes - 3).rstrip() + "…", True


def _may_part(text: str, at: int) -> bool:
    before, after = text[at - 1], text[at]
    if after in "\u200d\ufe0e\ufe0f\u20e3" or before == "\u200d" or unicodedata.combining(after):
        return False
    if unicodedata.category(after) in {"Mn", "Me", "Mc"} or "\U0001f3fb" <= after <= "\U0001f3ff":
        return False
    if (before, after) == ("\r", "\n"):
        return False
    if _is_flag(after) and _is_flag(before):
        run = len(text[:at]) - len(text[:at].rstrip("".join(map(chr, range(0x1F1E6, 0x1F200)))))
        return run % 2 == 0
    return True


def _is_flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
