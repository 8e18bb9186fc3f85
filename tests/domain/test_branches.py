"""The branch grammar, with the names that look like a ticket's and are not."""

import json
from pathlib import Path

import pytest

from app.domain.branches import ticket_of_branch

CASE = json.loads((Path(__file__).parents[1] / "fixtures" / "branch_names.json").read_text())


@pytest.mark.parametrize(
    ("name", "ticket"),
    [
        ("42", 42),
        ("42-fix-login", 42),
        ("ticket/42", 42),
        ("ticket/42-fix-login", 42),
        ("issue-42", 42),
        ("ticket/42-修正", 42),
        ("42-fix#3", 42),
        ("42-a.b", 42),
        ("42-1", 42),
        ("1234567890", 1234567890),
    ],
)
def test_a_tickets_branch(name, ticket):
    assert ticket_of_branch(name) == ticket


@pytest.mark.parametrize(
    "name",
    [
        "",
        "main",
        "release-1-2-0",
        "042",
        "0",
        "-42",
        "42-",
        "42/",
        "42/fix",
        "42.docs-1",
        "42_fix",
        "v42",
        "ticket/",
        "ticket/42/fix",
        "ticket/42#tmp",
        "ticket/42%2Ffix",
        "Ticket/42",
        "ticket/x42",
        "tickets/42",
        "feature/42",
        "ticket/issue-42",
        "issue-42-fix",
        "issue-",
        "issue/42",
        "12345678901",
        "\uff14\uff12",
        "\u0664\u0662",
        "42-a b",
        "42-a\n",
        "42\n",
        "42-a\x00",
        "42-a\u202eb",
        "42-a\u200b",
        "42-\ud800",
        "42-a..b",
        "42-a@{1}",
        "42-a.lock",
        "42-a.",
        "42-a~1",
        "42-a^",
        "42-a:b",
        "42-a?",
        "42-a*",
        "42-a[b",
        "42-a\\b",
        "42-" + "x" * 242,
        "refs/heads/42",
        "refs/heads/ticket/42",
        "gh-readonly-queue/main/pr-42-" + "a" * 40,
        "agent-recovery/active/42",
    ],
)
def test_nobodys_branch(name):
    assert ticket_of_branch(name) is None


def test_published_names_belong_to_the_ticket_they_name_exactly():
    names = {case["branch"] for case in CASE["input"]["cases"] if "branch" in case}
    assert {name: ticket_of_branch(name) for name in names if ticket_of_branch(name)} == {"ticket/42-修正": 42}
