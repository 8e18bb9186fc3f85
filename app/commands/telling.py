"""Texts of the rules as Markdown for a comment: what others wrote is without effect, commands can be copied."""

import re

from app.domain.outcome import Blocked
from app.domain.untrusted import neutralise

_COMMAND = re.compile(r"`((?:/recovery|agent-recovery) [^`\n]*)`")
_QUIET = re.compile(r"[^ -~]")


def told(text: str) -> str:
    """One line of text. Commands in code spans stay as they are."""
    parts = _COMMAND.split(text)
    return "".join(_span(part) if number % 2 else _plain(part) for number, part in enumerate(parts))


def refusal(blocked: Blocked) -> str:
    """Why something is not done, and what to do about it."""
    return f"{_sentence(told(blocked.reason))} {_sentence(told(blocked.remedy))}"


def sentence(text: str) -> str:
    """One sentence of an answer."""
    return _sentence(told(text))


def fitted(markdown: str, most: int) -> str:
    """As many whole lines of Markdown of ours as have at most so many characters."""
    markdown = markdown.strip()
    if len(markdown) <= most:
        return markdown
    whole, _, _ = markdown[: most - 3].rpartition("\n")
    return f"{whole.rstrip()}\n\n…"


def _plain(text: str) -> str:
    # The blanks towards a code span stay.
    before, after = (" " if end.isspace() else "" for end in (text[:1], text[-1:]))
    return f"{before}{inner}{after}" if (inner := neutralise(text)) else before


def _span(command: str) -> str:
    # Nothing that cannot be seen is copied along.
    return f"`{_QUIET.sub('', command)}`"


def _sentence(text: str) -> str:
    text = text.strip()
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"
