"""Text of strangers and agents inside our own Markdown: readable, and without effect.

Nobody is mentioned, no Issue is referenced or closed, no HTML or hidden comment begins or ends, no fence breaks out, no
line looks like a command of ours, nothing hides or reverses text.
"""

import re

from app.domain.plain_text import clean, cut, one_line, shorten

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_MARKUP = re.compile(r"([\\`*_\[\]#|~$])")
# A word joiner is invisible and keeps GitHub from seeing a mention, a reference, a link or a command.
_APART = "\N{WORD JOINER}"
_LIVE = re.compile(r"(?i)@|#(?=[0-9])|://|\bwww\.|\bgh-(?=[0-9])")
# What many runners of workflows look for in a commit's message: [skip ci], [no ci], [ci skip], [skip actions].
_SKIPS = re.compile(r"(?i)\[(?=[^\]]{0,40}\b(?:skip|no|ci)\b)|\*\*\*(?=no_ci)|\bskip-checks(?=:)")
_COMMAND = re.compile(r"(?i)^([ \t>]*)/(?=[a-z])", re.MULTILINE)


def as_title(text: str, max_bytes: int) -> str:
    """A stranger's text as a title of ours: one line, readable as it is, and without effect where GitHub copies it into
    a commit's message later: it mentions, closes and skips nothing.
    """
    return _SKIPS.sub(_broken, _LIVE.sub(_broken, cut(one_line(text), max_bytes)))


def neutralise(text: str) -> str:
    """One line that shows the text as it is, wherever it stands in Markdown: in a paragraph, list item, table cell."""
    line = _LIVE.sub(_broken, one_line(text))
    line = re.sub(r"[&<>]", lambda match: _ENTITIES[match[0]], line)
    line = _MARKUP.sub(r"\\\1", line)
    line = re.sub(r"^([-+=])", r"\\\1", line)
    return re.sub(r"^(/|[0-9]+(?=[.)]))", _before, line)


def inline(text: str, max_bytes: int) -> str:
    """`neutralise`d text shortened before: at most `max_bytes` of the original (what is escaped stays whole)."""
    return neutralise(shorten(one_line(text), max_bytes)[0])


def quote(text: str, max_bytes: int) -> str:
    """The text as a fenced block of data, all its lines kept, shortened to `max_bytes` of content where it is longer.

    A fence is one backtick longer than any run in the text, so nothing in it ends it; inside it GitHub mentions nobody.
    """
    body, _ = shorten(clean(text), max_bytes)
    # Readers that look for commands or for our markers line by line do not all know fences.
    body = _COMMAND.sub(rf"\1{_APART}/", body.replace("-->", f"--{_APART}>").replace("<!--", f"<{_APART}!--"))
    longest = max((len(run) for run in re.findall(r"`+", body)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{body}\n{fence}"


def _broken(match: re.Match[str]) -> str:
    found = match[0]
    return found + _APART if len(found) == 1 else f"{found[:-1]}{_APART}{found[-1]}"


def _before(match: re.Match[str]) -> str:
    return f"{_APART}/" if match[0] == "/" else f"{match[0]}{_APART}"
