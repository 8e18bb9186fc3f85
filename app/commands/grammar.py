"""The one grammar of commands in comments: `/recovery <verb> …` at the beginning of a line that a person wrote.

Lines end at CR, LF or both and at nothing else. Up to three blanks may stand before the slash; what is not plain ASCII
up to the end of the verb is no command, however it looks. A Markdown parser tells what a reader sees as text: code,
quotes, HTML comments and what folds away or quotes in HTML (`<details>`, `<blockquote>`, …) hold reports and words of
others, so nothing in them counts; neither does what follows a mail's signature or the mail that it answers.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from app.commands.contradictions import contradiction_of
from app.commands.html_around import HtmlAround
from app.commands.mail_tail import mail_tail


@dataclass(frozen=True)
class Command:
    """One command. `verb`: in lower-case ASCII, whether there is such a verb or not; `args`: the words after it, as
    written; `rest`: the same as free text; `line`: the line of the comment on which it stands, the first is 1.
    """

    verb: str
    args: tuple[str, ...]
    rest: str
    line: int


@dataclass(frozen=True)
class Parsed:
    """The commands of a comment in the order in which they are written, each once. `none_because`: in a sentence, why
    none of them is carried out: two contradict each other, or there are too many. None where all are.
    """

    commands: tuple[Command, ...]
    none_because: str | None = None


MOST_CHARACTERS = 70_000
"""GitHub takes comments of 65,536 characters."""
LONGEST_PARAGRAPH = 8_000
"""A paragraph in which a command counts: looking for links and spans takes time by the square of its length."""
_ALL_PARAGRAPHS = LONGEST_PARAGRAPH**2
"""The squares of the lengths of all that are looked into."""
MOST_COMMANDS = 10
"""Of one comment. Every command costs requests to GitHub, and all are answered in one comment, which has a bound."""
HELP = "help"
"""What `/recovery` alone says."""

_LINE_END = re.compile(r"\r\n|\r|\n")
_BLANKS = re.compile(r"[ \t]+")
_VERB = r"[A-Za-z][A-Za-z0-9_-]{0,39}[.,:;!?]?"
_COMMAND = re.compile(rf"(?P<before> {{0,3}})(?P<slash>/recovery)(?:[ \t]+(?P<verb>{_VERB})(?P<rest>[ \t].*)?|[ \t]*)")

# Raw HTML is read as GitHub reads it. Tables need not be known: a row that a command would be in is a line of its own.
_MARKDOWN = MarkdownIt("commonmark").enable("strikethrough")
_PROSE = {"inline", "heading_open"}
_BEGIN, _END = {"blockquote_open", "list_item_open"}, {"blockquote_close", "list_item_close"}
_NO_PLAIN_WORD = {"link_open": 1, "s_open": 1, "link_close": -1, "s_close": -1}
"""Around what is struck out, or is the name of a link."""


@lru_cache(maxsize=64)
def commands_in(text: str) -> Parsed:
    """Every command of a comment. Raises nothing, whatever the text. Takes a fraction of a second for the longest."""
    if len(text) > MOST_CHARACTERS or "/recovery" not in text:
        return Parsed(())
    lines = _LINE_END.split(text)
    found = {number: match for number, line in enumerate(lines) if (match := _COMMAND.fullmatch(line)) is not None}
    if not found:
        return Parsed(())
    seen: dict[tuple[str, tuple[str, ...], str], Command] = {}
    for number in _as_text(lines, found):
        command = _command(found[number], number + 1)
        seen.setdefault((command.verb, command.args, command.rest), command)
    commands = tuple(seen.values())
    if len(commands) > MOST_COMMANDS:
        return Parsed(commands, _TOO_MANY)
    return Parsed(commands, contradiction_of([(command.verb, command.args) for command in commands]))


_TOO_MANY = (
    f"This comment says more than {MOST_COMMANDS} things. None of its commands was carried out: say what you mean in "
    f"new comments, at most {MOST_COMMANDS} in each."
)


def _command(match: re.Match[str], line: int) -> Command:
    rest = (match["rest"] or "").strip(" \t")
    args = tuple(_BLANKS.split(rest)) if rest else ()
    return Command((match["verb"] or HELP).lower(), args, rest, line)


def _as_text(lines: list[str], found: dict[int, re.Match[str]]) -> list[int]:
    """Those of the lines with a command that a reader sees as text of whoever wrote the comment."""
    mark = _unused(lines)
    marked = list(lines)
    for number, match in found.items():
        marked[number] = f"{match['before']}/{mark}{number}e{lines[number][match.end('slash') :]}"
    pattern = re.compile(rf"/{mark}([0-9]+)e")
    tokens: list[Token] = []
    env: dict[str, object] = {}
    _MARKDOWN.block.parse("\n".join(marked).replace("\0", "\N{REPLACEMENT CHARACTER}"), _MARKDOWN, env, tokens)
    prose = {at for token in tokens if token.type in _PROSE and token.map for at in range(*token.map)}
    end = mail_tail(lines, prose)
    return [number for number in _shown(tokens, env, pattern) if number < end]


def _shown(tokens: list[Token], env: dict[str, object], pattern: re.Pattern[str]) -> Iterator[int]:
    """The numbers in marks that stand in text, outside of any HTML that quotes or hides it."""
    around, room = HtmlAround(), _ALL_PARAGRAPHS
    for token in tokens:
        if token.type == "html_block":
            around.html(token.content)
        elif token.type == "inline":
            content = token.content
            if not ("<" in content or "-->" in content or pattern.search(content)):
                continue
            if len(content) > LONGEST_PARAGRAPH or (room := room - len(content) ** 2) < 0:
                # Nothing in it counts, but what it may open does for what follows.
                around.html(content)
                around.text(content)
                continue
            yield from _in_paragraph(content, env, pattern, around)
        elif token.type in _BEGIN:
            around.enter()
        elif token.type in _END:
            around.leave()


def _in_paragraph(content: str, env: dict[str, object], pattern: re.Pattern[str], around: HtmlAround) -> Iterator[int]:
    children: list[Token] = []
    _MARKDOWN.inline.parse(content, _MARKDOWN, env, children)
    inside = 0
    for child in children:
        inside += _NO_PLAIN_WORD.get(child.type, 0)
        if child.type == "html_inline":
            around.html(child.content)
        elif child.type == "text":
            match = pattern.match(child.content)
            if match is not None and not inside and around.open:
                yield int(match[1])
            around.text(child.content)


def _unused(lines: list[str]) -> str:
    """A word that is in none of the lines, so that nobody can forge a mark."""
    text = "\n".join(lines)
    number = 0
    while f"recovery{number}x" in text:
        number += 1
    return f"recovery{number}x"
