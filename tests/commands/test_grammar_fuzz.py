"""Whatever somebody writes: never an exception, never a command out of code, a quote or an HTML comment, and none lost.

Two judges that know nothing of the grammar: whoever composes a document knows what is a command in it; and the page
that a reader would see, made by the renderer and read by Python's own HTML parser.
"""

import random
import re
from collections.abc import Callable
from html.parser import HTMLParser

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from app.commands.grammar import commands_in

DOCUMENTS = 5_000
VERBS = ("land", "status", "recover", "takeover", "hold", "cancel", "help", "unhold", "lnad")
WORDS = (
    "ready",
    "a*b",
    "`x`",
    "[1](u)",
    "see #4",
    "<b>",
    "&amp;",
    "é",
    "“so”",
    "https://example.org/recovery",
    "1.",
    "_",
)

Block = tuple[str, list[str]]
"""Lines of a document, and the commands that are in them."""


def _line(r: random.Random) -> str:
    return " ".join(r.choice(WORDS) for _ in range(r.randint(1, 5)))


def _said(r: random.Random) -> tuple[str, str]:
    verb, number = r.choice(VERBS), r.randint(0, 10**9)
    typed = "".join(r.choice((c, c.upper())) for c in verb)
    return f"/recovery {typed} {number}", f"{verb} {number}"


def _command(r: random.Random) -> Block:
    line, command = _said(r)
    before = f"{_plain(r)}\n" if r.random() < 0.3 else ""
    after = f"\n{_plain(r)}" if r.random() < 0.3 else ""
    return f"{before}{' ' * r.randint(0, 3)}{line}{' ' * r.randint(0, 3)}{after}", [command]


def _plain(r: random.Random) -> str:
    return " ".join(r.choice(("please", "now", "it is green", "thanks", "so")) for _ in range(r.randint(1, 4)))


def _prose(r: random.Random) -> Block:
    line, _ = _said(r)
    return r.choice(
        (f"please {line}", f"a{line}", f"/{line}", f"- {line}", f"# {line}", f"x\u2028{line}", f"({line})")
    ), []


def _fence(r: random.Random) -> Block:
    mark = r.choice("`~") * r.randint(3, 6)
    inner = [_said(r)[0], _line(r), mark[:-1] if len(mark) > 3 else "", "<!--", "> x", r.choice("`~") * 2]
    r.shuffle(inner)
    before = " " * r.randint(0, 3)
    return "\n".join((f"{before}{mark}{r.choice(('', 'sh', ' text'))}", *inner, f"{before}{mark}")), []


def _indented(r: random.Random) -> Block:
    return f"    {_said(r)[0]}\n    {_line(r)}", []


def _quote(r: random.Random) -> Block:
    lines = [_said(r)[0], _line(r), "```", "<!--", _said(r)[0]]
    r.shuffle(lines)
    return "\n".join(f"{' ' * r.randint(0, 3)}{'>' * r.randint(1, 3)}{r.choice(('', ' '))}{line}" for line in lines), []


def _comment(r: random.Random) -> Block:
    return f"<!--{r.choice(('', ' x'))}\n{_said(r)[0]}\n{r.choice(('', '```', '> x'))}\n\n{_said(r)[0]}\n-->", []


def _span(r: random.Random) -> Block:
    mark = "`" * r.randint(1, 3)
    return f"see {mark}x\n{_said(r)[0]}\ny{mark} there", []


def _listed(r: random.Random) -> Block:
    return f"- {_plain(r)}\n\n  ```\n  {_said(r)[0]}\n  ```", []


def _folded(r: random.Random) -> Block:
    return f"<details><summary>log</summary>\n\n{_said(r)[0]}\n\n</details>", []


BLOCKS: tuple[Callable[[random.Random], Block], ...] = (
    *(_command, _command, _command, _prose, _fence, _indented, _quote, _comment, _span, _listed, _folded),
)
LAST: tuple[Callable[[random.Random], str], ...] = (
    lambda r: f"```\n{_said(r)[0]}",
    lambda r: f"~~~~\n~~~\n{_said(r)[0]}",
    lambda r: f"<!--\n\n{_said(r)[0]}",
    lambda r: f"-- \n{_said(r)[0]}",
    lambda r: f"On 3 Dec 2026 Ann <a@example.org> wrote:\n\n{_said(r)[0]}",
    lambda r: _plain(r),
)


def test_of_composed_documents_exactly_the_commands_are_found() -> None:
    r = random.Random(6)
    for _ in range(DOCUMENTS):
        blocks = [r.choice(BLOCKS)(r) for _ in range(r.randint(1, 5))]
        end = r.choice(("\n", "\r\n", "\r"))
        # Text between two blocks, so that none is taken for the next one's (a list goes on below it).
        text = "\n\nso\n\n".join(text for text, _ in blocks) + f"\n\nso\n\n{r.choice(LAST)(r)}"
        text = text.replace("\n", end)
        found = [f"{command.verb} {command.rest}" for command in commands_in(text).commands]
        assert found == list(dict.fromkeys(command for _, commands in blocks for command in commands)), repr(text)


PIECES = st.sampled_from(
    [
        *(
            "/recovery land",
            "/recovery hold x",
            "  /recovery status",
            "\n",
            "\n",
            "\n\n",
            "\r\n",
            "\r",
            " ",
            "    ",
            "\t",
        ),
        *(
            "`",
            "``",
            "```",
            "~~~",
            "````",
            "> ",
            ">",
            "- ",
            "1. ",
            "* ",
            "#",
            "=",
            "---",
            "<!--",
            "-->",
            "<",
            ">",
            "<b>",
        ),
        *("</b>", "<code>", "</code>", "<details>", "</details>", "<pre>", "</pre>", "[", "](", ")", "![", "]: ", "\\"),
        *(
            "**",
            "_",
            "~~",
            "|",
            "|---|",
            "a",
            "é",
            "\u2028",
            "\u200b",
            "\u202e",
            "\x00",
            "\x0b",
            "&#47;",
            "-- ",
            "On 1 ",
        ),
        *("wrote:", "From: ", '"', "'", "<a href=", "<?", "?>", "<![CDATA[", "]]>", "<!X", "\ud800"),
    ]
)


class _Seen(HTMLParser):
    """What a reader sees as text: no code, no comment, no attribute."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._code: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in ("code", "pre"):
            self._code.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._code:
            del self._code[self._code.index(tag) :]

    def handle_data(self, data: str) -> None:
        if not self._code:
            self.text += data


_RENDERER = MarkdownIt("commonmark")


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(PIECES, max_size=40).map("".join))
def test_a_command_is_its_own_unquoted_line_and_stands_in_what_a_reader_sees(text: str) -> None:
    lines = re.split("\r\n|\r|\n", text)
    for command in commands_in(text).commands:
        line = lines[command.line - 1]
        assert re.match(" {0,3}/recovery(?:[ \t]|$)", line)
        marked = [*lines[: command.line - 1], line.replace("/recovery", "/SEENHERE", 1), *lines[command.line :]]
        seen = _Seen()
        seen.feed(_RENDERER.render("\n".join(marked)))
        seen.close()
        assert "/SEENHERE" in seen.text


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200))
def test_nothing_in_no_text_is_an_exception(text: str) -> None:
    assert commands_in(text).none_because is None
    commands_in(f"/recovery land\n{text}\n/recovery hold {text}")
