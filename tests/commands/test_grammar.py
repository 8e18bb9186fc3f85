"""What in a comment is a command: the public cases, and every rule of the grammar with what looks like it."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from app.commands.grammar import LONGEST_PARAGRAPH, MOST_COMMANDS, Command, commands_in
from app.commands.registry import find

CASES = json.loads((Path(__file__).parents[1] / "fixtures" / "commands_in_comments.json").read_text("utf-8"))
LAND = "/recovery land"
PLAYED = [
    (case["id"], one["name"], one["body"], case["expected"]["cases"][one["name"]])
    for case in CASES
    for one in case["input"]["cases"]
]


@pytest.mark.parametrize(("case", "name", "body", "expected"), PLAYED, ids=[f"{p[0]}-{p[1]}" for p in PLAYED])
def test_public_case(case: str, name: str, body: str, expected: dict[str, Any]) -> None:
    parsed = commands_in(body)
    known = [{"name": c.verb, "args": list(c.args)} for c in parsed.commands if find(c.verb) is not None]
    wanted: list[dict[str, Any]] = []
    for command in expected["commands"]:
        if command not in wanted:
            wanted.append(command)
    assert known == wanted
    assert (parsed.none_because is not None) == (expected.get("reply") == "contradiction")
    unknown = [f"unknown:/recovery {c.verb}" for c in parsed.commands if find(c.verb) is None]
    assert unknown == [expected["reply"]] if str(expected.get("reply", "")).startswith("unknown") else unknown == []


def verbs(text: str) -> list[str]:
    return [command.verb for command in commands_in(text).commands]


def test_a_command_keeps_its_words_its_text_and_its_line() -> None:
    parsed = commands_in("Hi\r\n  /Recovery hold\r\n\t\r\n/recovery HOLD  wait \t for QA  \r\n")
    assert parsed.commands == (Command("hold", ("wait", "for", "QA"), "wait \t for QA", 4),)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("\x0b/recovery land", id="vertical tab first"),
        pytest.param("hello\u2028/recovery land", id="line separator"),
        pytest.param("hello\u2029/recovery land", id="paragraph separator"),
        pytest.param("hello\x85/recovery land", id="next line"),
        pytest.param("hello\x0b/recovery land", id="vertical tab"),
        pytest.param("hello\x0c/recovery land", id="form feed"),
        pytest.param("hello\x1e/recovery land", id="record separator"),
        pytest.param("\u200b/recovery land", id="zero width space first"),
        pytest.param("\ufeff/recovery land", id="byte order mark first"),
        pytest.param("\u202e/recovery land", id="reversed"),
        pytest.param("\u2066/recovery land\u2069", id="isolated"),
        pytest.param("\u2060/recovery land", id="word joiner, as we quote"),
        pytest.param("/reco\u200dvery land", id="zero width joiner inside"),
        pytest.param("/recovery la\u00adnd", id="soft hyphen inside"),
        pytest.param("/recovery land\u200b", id="zero width space behind"),
        pytest.param("/recovery\u00a0land", id="no-break space"),
        pytest.param("\u3000/recovery land", id="ideographic space"),
        pytest.param("\uff0frecovery land", id="full-width slash"),
        pytest.param("\u2215recovery land", id="division slash"),
        pytest.param("/\uff52ecovery land", id="full-width letter"),
        pytest.param("/recovery \uff4cand", id="full-width verb"),
        pytest.param("/recovery l\u0430nd", id="Cyrillic a"),
        pytest.param("/recover\u0443 land", id="Cyrillic u"),
        pytest.param("/recovery \u212aand", id="Kelvin sign"),
        pytest.param("&#47;recovery land", id="entity"),
        pytest.param("\\/recovery land", id="escaped"),
        pytest.param("\t/recovery land", id="tab first"),
        pytest.param("a\n    /recovery land", id="four blanks in a paragraph"),
        pytest.param("- /recovery land", id="item of a list"),
        pytest.param("# /recovery land", id="heading"),
        pytest.param("**/recovery land**", id="bold"),
        pytest.param("| /recovery land |\n|---|", id="cell of a table"),
        pytest.param("\u200b`\n/recovery land\n`", id="span over lines"),
        pytest.param("a ``x\n/recovery land\n`` b", id="long span over lines"),
        pytest.param("- a\n\n      /recovery land", id="code in a list"),
        pytest.param("1. ~~~\n   /recovery land\n   ~~~", id="fence in a numbered list"),
        pytest.param("<pre>\n\n/recovery land\n\n</pre>", id="pre"),
        pytest.param("<details><summary>log</summary>\n\n/recovery land\n\n</details>", id="details"),
        pytest.param("<details>\n\n/recovery land", id="details never closed"),
        pytest.param("<blockquote>\n\n/recovery land\n\n</blockquote>", id="blockquote in HTML"),
        pytest.param("a <code>\n/recovery land\n</code>", id="code in HTML"),
        pytest.param("a <del>\n/recovery land\n</del>", id="struck in HTML"),
        pytest.param("~~a\n/recovery land\nb~~", id="struck"),
        pytest.param("[a\n/recovery land\nb](https://example.org)", id="name of a link"),
        pytest.param('[a](https://example.org "t\n/recovery land\nu")', id="title of a link"),
        pytest.param('[a]: https://example.org "t\n/recovery land\nu"', id="title of a reference"),
        pytest.param('<a href="\n/recovery land\n">', id="attribute"),
        pytest.param("a <!-- b\n/recovery land\n--> c", id="HTML comment in a paragraph"),
        pytest.param("a <!-- b\n\n/recovery land\n\nc -->", id="HTML comment that Markdown ends with the paragraph"),
        pytest.param("<!-- a\n\n/recovery land", id="HTML comment never closed"),
        pytest.param("<?php\n/recovery land\n?>", id="processing instruction"),
        pytest.param("<![CDATA[\n/recovery land\n]]>", id="CDATA"),
        pytest.param("<script>\n/recovery land\n</script>", id="script"),
        pytest.param("On Mon, 30 Nov 2026 at 12:00, Ann <ann@example.org> wrote:\n\n/recovery land", id="mail"),
        pytest.param(
            "On Mon, 30 Nov 2026 at 12:00,\nAnn <ann@example.org>\nwrote:\n/recovery land", id="mail, wrapped"
        ),
        pytest.param("Am 30.11.2026 um 12:00 schrieb Ann:\n\n/recovery land", id="mail in German"),
        pytest.param("ok\n\n-- \nAnn\n/recovery land", id="signature"),
        pytest.param("ok\n--\n/recovery land", id="signature whose blank was cut off"),
        pytest.param("ok\n\nFrom: Ann\nSent: Monday\n\n/recovery land", id="mail of Outlook"),
        pytest.param("ok\n\n-----Original Message-----\n/recovery land", id="original message"),
        pytest.param("Sent from my phone\n/recovery land", id="sent from"),
    ],
)
def test_no_command(text: str) -> None:
    assert verbs(text) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("- a\n/recovery land", id="line after a list"),
        pytest.param("| a |\n|---|\n/recovery land", id="line after a table"),
        pytest.param("> `\n/recovery land", id="line after a quote with a backtick"),
        pytest.param("> ```\n/recovery land", id="line after a quote with an open fence"),
        pytest.param("> <!--\n\n/recovery land", id="after a quote with an open HTML comment"),
        pytest.param("> <details>\n\n/recovery land", id="after a quote with open details"),
        pytest.param("```\na\n```\n/recovery land", id="after a fence"),
        pytest.param("<details>\n\na\n\n</details>\n\n/recovery land", id="after details"),
        pytest.param("<!-- <details> -->\n\n/recovery land", id="after details in a comment"),
        pytest.param("`<!--`\n\n/recovery land", id="after a comment's beginning in a span"),
        pytest.param("a <!-- b\n\nc -->\n\n/recovery land", id="after a comment over paragraphs"),
        pytest.param(
            "```\n-- \nOn 1 Jan Ann wrote:\nFrom: Ann\n```\n\n/recovery land", id="after a mail shown as code"
        ),
        pytest.param("/recovery land\n---", id="as a heading"),
        pytest.param("/recovery land\n\n-- \nAnn", id="before a signature"),
        pytest.param("/recovery land\n\nOn Mon, 30 Nov 2026, Ann wrote:\n> hi", id="before a mail"),
        pytest.param("On Monday somebody wrote that\n/recovery land", id="no mail"),
        pytest.param("*a\n/recovery land\nb*", id="inside emphasis"),
        pytest.param("a \x00\n/recovery land", id="after a NUL"),
        pytest.param("a \ud800\n/recovery land", id="after half a character"),
        pytest.param("/qrecovery0x0e land\n/recovery land", id="beside what looks like a mark of the parser"),
        pytest.param("/recovery0x0e land\n/recovery land", id="beside another"),
    ],
)
def test_one_command(text: str) -> None:
    assert verbs(text) == ["land"]


def test_what_is_no_verb_is_found_all_the_same_so_that_its_writer_is_answered() -> None:
    assert verbs("/recovery land.\n/recovery lnad\n/recovery") == ["land.", "lnad", "help"]


def test_a_paragraph_that_would_take_long_to_read_holds_no_command() -> None:
    assert verbs("[" * LONGEST_PARAGRAPH + "\n/recovery land") == []
    assert verbs("a" * 60_000 + "\n\n/recovery land") == ["land"]
    assert verbs("/recovery land\n" * 100_000) == []
    # What it opens is open for what follows, though nobody looked where its spans are.
    assert verbs("a <del> " + "b " * LONGEST_PARAGRAPH + "\n\n/recovery land") == []
    assert verbs("a <init> " + "b " * LONGEST_PARAGRAPH + "\n\n/recovery land") == ["land"]


HARD = ("![", "[a](", "[", "*a_", "~~a", "<a ", "<!--", "`a``", "<http://", "\\[*", "&a")


@pytest.mark.parametrize("piece", HARD)
@pytest.mark.parametrize("length", [1_000, 4_000, LONGEST_PARAGRAPH])
def test_the_worst_comment_is_read_soon(piece: str, length: int) -> None:
    paragraph = piece * ((length - 100) // len(piece)) + "\n/recovery hold {}\n\n"
    text = "".join(paragraph.format(number) for number in range(65_000 // length))
    begun = time.process_time()
    commands_in(text)
    assert time.process_time() - begun < 2


def test_a_comment_says_at_most_so_many_things() -> None:
    assert commands_in("\n".join(f"/recovery approve e{n}" for n in range(MOST_COMMANDS))).none_because is None
    for text in ("/recovery approve e{}", "/recovery lnad{}"):
        parsed = commands_in("\n\n".join(text.format(number) for number in range(2_500)))
        assert parsed.none_because is not None
        assert f"more than {MOST_COMMANDS} things" in parsed.none_because
    assert commands_in("/recovery status\n\n" * 2_500).none_because is None


OPPOSITES = [
    ("hold", "unhold"),
    ("hold", "land"),
    ("retarget", "land"),
    ("cancel", "recover"),
    ("takeover", "land"),
    ("cancel", "land"),
    ("approve deploy", "deny deploy"),
    ("resolve deploy done", "resolve deploy not-done"),
    ("retarget release-1", "retarget release-2"),
    (f"land {'a' * 40}", f"land {'b' * 40}"),
    (f"accept {'a' * 40}", f"accept {'b' * 40}"),
    (f"authorize-release {'a' * 40}", "revoke-release"),
    (f"authorize-release {'a' * 40}", f"authorize-release {'b' * 40}"),
    ("merge-release", "revoke-release"),
    ("hold 42.docs-1", "unhold 42.docs-1"),
]


@pytest.mark.parametrize(("one", "other"), OPPOSITES)
def test_nobody_can_mean_both(one: str, other: str) -> None:
    for first, second in ((one, other), (other, one)):
        parsed = commands_in(f"/recovery status\n\n/recovery {first}\nand\n/recovery {second}")
        assert parsed.none_because is not None
        assert f"`/recovery {first.split()[0]}`" in parsed.none_because
        assert commands_in(parsed.none_because).commands == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("recover", "land"),
        ("takeover", "hold"),
        ("approve deploy", "deny mail"),
        ("cancel 42.docs-1", "land"),
        ("hold 42.docs-1", "unhold 42.docs-2"),
        (f"authorize-release {'a' * 40}", "merge-release"),
        ("hold because of QA", "hold and of the press"),
    ],
)
def test_both_can_be_meant(one: str, other: str) -> None:
    parsed = commands_in(f"/recovery {one}\n/recovery {other}")
    assert parsed.none_because is None
    assert [command.verb for command in parsed.commands] == [one.split()[0], other.split()[0]]
