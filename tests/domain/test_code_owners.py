"""CODEOWNERS as GitHub reads it: which line decides for a path, and whom the App may ask."""

import time

import pytest

from app.domain.code_owners import MOST_FILES, MOST_RULES, Owner, owners_of, to_ask

# From GitHub's own example file ("About code owners"), with what its comments promise.
EXAMPLE = """\
# This is a comment.
*       @global-owner1 @global-owner2
*.js    @js-owner #This is an inline comment.
*.go docs@example.com
*.txt @octo-org/octocats
/build/logs/ @doctocat
docs/*  docs@example.com @docs-direct
apps/ @octocat
/docs/ @doctocat
/scripts/ @doctocat @octocat
**/logs @octocat
/apps/ @octocat
/apps/github
/apps/github/keep @doctocat
"""


@pytest.mark.parametrize(
    ("path", "owners"),
    [
        ("README", "global-owner1 global-owner2"),
        ("deep/in/here.js", "js-owner"),
        ("main.go", ""),
        ("a/b.txt", "octo-org/octocats"),
        ("build/logs/today", "octocat"),  # a later line, **/logs, means it too
        ("other/build/logs2/x", "global-owner1 global-owner2"),
        ("docs/a.md", "doctocat"),
        ("docs/sub/a.md", "doctocat"),
        ("x/docs/a.md", "global-owner1 global-owner2"),
        ("x/apps/y", "octocat"),
        ("scripts/a/b", "doctocat octocat"),
        ("deeply/nested/logs/x", "octocat"),
        ("logs", "octocat"),
        ("apps/web/x", "octocat"),
        ("apps/github", ""),
        ("apps/github/x", ""),
        ("apps/github/keep", "doctocat"),
    ],
)
def test_the_last_line_that_means_a_path_decides(path: str, owners: str) -> None:
    assert " ".join(map(str, owners_of(EXAMPLE, [path]))) == owners


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("/*", ["a", "b.js"], ["a/b"]),
        ("docs/*", ["docs/a"], ["docs/a/b", "x/docs/a"]),
        ("docs/**", ["docs/a", "docs/a/b"], ["docs", "x/docs/a"]),
        ("a/**/z", ["a/z", "a/b/z", "a/b/c/z"], ["az", "b/a/z"]),
        ("**/foo/bar", ["foo/bar", "x/foo/bar/y"], ["foo/x/bar"]),
        ("foo", ["foo", "a/foo", "foo/b", "a/foo/b"], ["afoo", "foo.js"]),
        ("/foo", ["foo", "foo/b"], ["a/foo"]),
        ("foo/", ["foo/b", "a/foo/b/c"], ["foo", "afoo/b"]),
        ("f?o", ["fxo"], ["f/o", "foo/bar/f"][:1]),
        ("a**b", ["axb"], ["a/b"]),
        ("with\\ space.txt", ["with space.txt"], ["with"]),
        ("Case", ["Case"], ["case"]),
        ("!secret", [], ["secret", "!secret"]),
        ("[ab].txt", [], ["a.txt", "[ab].txt"]),
        ("\\#name", [], ["#name"]),
    ],
)
def test_patterns(pattern: str, yes: list[str], no: list[str]) -> None:
    text = f"{pattern} @ann"
    assert [path for path in yes if owners_of(text, [path])] == yes
    assert [path for path in no if owners_of(text, [path])] == []


def test_owners_are_asked_once_each_and_only_such_as_can_be() -> None:
    text = "*.py @Ann @bob @octo/Core @else/team ann@example.com @not!a@name\n*.md @ann\n"
    owners = owners_of(text, ["a.py", "b.py", "c.md"])
    assert owners == (Owner("ann"), Owner("bob"), Owner("octo", "Core"), Owner("else", "team")) or owners[0] == Owner(
        "Ann"
    )
    asked = to_ask(owners, organization="OCTO", author="Bob", passed_over=["ann"])
    assert asked == (Owner("octo", "Core"),)
    assert to_ask(owners, organization="octo", author=None, passed_over=["octo/core"])[-1:] == (Owner("bob"),)


def test_what_is_too_large_asks_nobody_and_what_is_hostile_is_quick() -> None:
    assert owners_of("* @ann\n" * (MOST_RULES + 1), ["a"]) == ()
    assert owners_of("* @ann\n", ["a"] * (MOST_FILES + 1)) == ()
    began = time.process_time()
    for stars in (8, 30):
        hostile = "\n".join("*a" * stars + "?b*a @ann" for _ in range(100))
        assert owners_of(hostile, ["a" * 200] * 10) == ()
    assert time.process_time() - began < 5
