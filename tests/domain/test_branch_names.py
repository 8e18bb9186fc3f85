import re
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.branch_names import MAX_SLUG, in_the_way, ticket_branch
from app.domain.branches import ticket_of_branch


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Add a parser", "ticket/42-add-a-parser"),
        ("  Émile's  «Café»!! ", "ticket/42-emile-s-cafe"),
        ("修复解析器", "ticket/42"),
        ("", "ticket/42"),
        ("../../etc/passwd", "ticket/42-etc-passwd"),
        ("x.lock", "ticket/42-x-lock"),
        ("$(rm -rf /); `id`\n--force", "ticket/42-rm-rf-id-force"),
        ("@{upstream}~1^:?*[", "ticket/42-upstream-1"),
        ("a" * 90, "ticket/42-" + "a" * 40),
        ("word " * 30, "ticket/42-word-word-word-word-word-word-word-word"),
        ("\ud83d bad \x00 bytes", "ticket/42-bad-bytes"),
    ],
)
def test_names(title: str, expected: str) -> None:
    assert ticket_branch(42, title) == expected


@given(st.text())
def test_every_title_gives_a_name_of_the_grammar(title: str) -> None:
    name = ticket_branch(42, title)
    assert re.fullmatch(r"ticket/42(-[a-z0-9]+(-[a-z0-9]+)*)?", name)
    assert len(name) <= len("ticket/42-") + MAX_SLUG
    assert ticket_of_branch(name) == 42


def test_git_accepts_them() -> None:
    for title in ("x.lock", "../..", "@{-1}", "ends with dot."):
        subprocess.run(
            ["git", "check-ref-format", "--branch", ticket_branch(42, title)], check=True, capture_output=True
        )


@pytest.mark.parametrize(
    ("existing", "blocking"),
    [
        ([], None),
        (["ticket"], "ticket"),
        (["ticket/42-x/y", "main"], "ticket/42-x/y"),
        (["ticket/42", "ticket/42-xy", "tickets", "ticket/42-x"], None),
    ],
)
def test_a_branch_that_leaves_no_room(existing, blocking):
    assert in_the_way("ticket/42-x", existing) == blocking
