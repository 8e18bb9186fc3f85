import html
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.embedded_json import embedded_json
from app.domain.untrusted import inline, neutralise, quote

J = "\N{WORD JOINER}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain words, 1.5 times (well-known!)", "plain words, 1.5 times (well-known!)"),
        ("ask @octo-org/leads and a@b.de", f"ask @{J}octo-org/leads and a@{J}b.de"),
        ("x --> y <!-- z", "x --&gt; y &lt;!-- z"),
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("```\ncode", r"\`\`\` code"),
        ("/recovery land", f"{J}/recovery land"),
        ("a\n/recovery land", "a /recovery land"),
        ("> /recovery land", "&gt; /recovery land"),
        ("fixes #7 and octo/demo#8", rf"fixes \#{J}7 and octo/demo\#{J}8"),
        ("see GH-7", f"see GH{J}-7"),
        ("![x](https://e.example/p.png)", rf"!\[x\](https:/{J}/e.example/p.png)"),
        ("www.example.com", f"www{J}.example.com"),
        ("a|b", r"a\|b"),
        ("# title", r"\# title"),
        ("- item", r"\- item"),
        ("---", r"\---"),
        ("1. first", f"1{J}. first"),
        ("&lt;b&gt;", "&amp;lt;b&amp;gt;"),
        ("\u202egnp.exe\u2066", "gnp.exe"),
        ("$x^2$", r"\$x^2\$"),
    ],
)
def test_neutralised(text: str, expected: str) -> None:
    assert neutralise(text) == expected


def test_inline_is_cut_before_it_is_escaped() -> None:
    assert inline("<" * 10, 5) == "&lt;&lt;…"


def test_a_quote_cannot_be_left() -> None:
    text = "a\n```\n@all\n````\n/recovery land\n --> <!-- x"
    result = quote(text, 1000)
    lines = result.split("\n")
    assert lines[0] == "`````text"
    assert lines[-1] == "`````"
    assert not any(line.startswith("`````") for line in lines[1:-1])
    assert not re.search(r"(?m)^\s*/recovery", result)
    assert "-->" not in result
    assert "<!--" not in result


PARTS = st.sampled_from(
    ["@", "a", "/recovery", "<!--", "-->", "`", "```", "~~~", "\n", "\r", " ", "#1", "://", ">", "\u2028"]
)


@given(st.lists(PARTS | st.text(max_size=3), max_size=12).map("".join), st.integers(4, 80))
def test_nothing_in_either_form_acts(text: str, limit: int) -> None:
    line = inline(text, limit)
    assert not re.search(r"[<>\n\r\u2028]", line)
    assert not re.search(r"(?<!\\)[`#|]", line)
    assert not re.search(r"@[\w-]", line)
    assert not line.startswith("/recovery")
    block = quote(text, limit)
    fence = block.split("text\n", 1)[0]
    assert set(fence) == {"`"}
    inside = block[len(fence) + 5 : -len(fence) - 1]
    assert fence not in inside
    assert "-->" not in inside
    assert not re.search(r"(?m)^[ \t>]*/recovery", inside)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_embedded_json_is_inert_and_reads_back(text: str) -> None:
    written = embedded_json({"a": text})
    assert json.loads(written) == {"a": text}
    assert written.isascii()
    assert not set(written) & set("<>&`@\n")
    assert html.unescape(written) == written
