"""The linked Issue: the first line and nothing else."""

import pytest

from app.domain.linked_issue import linked_issue_of


@pytest.mark.parametrize(
    ("body", "ticket"),
    [
        ("Ticket: #42", 42),
        ("Ticket: #42\nmore", 42),
        ("Ticket: #42\r\nmore", 42),
        ("Ticket:#42  ", 42),
        ("", None),
        ("What this does\nTicket: #42", None),
        ("\nTicket: #42", None),
        ("> Ticket: #42", None),
        ("Ticket: 42", None),
        ("Ticket: #042", None),
        ("Ticket: #42 and #43", None),
        ("Ticket: other/repo#42", None),
        ("ticket: #42", None),
        ("Ticket: #42\u2028Ticket: #43", None),
        ("Ticket: #" + "9" * 40, None),
    ],
)
def test_first_line(body, ticket):
    assert linked_issue_of(body) == ticket
