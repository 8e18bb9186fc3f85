"""Tickets and children by name: read back to exactly what was written, and nothing else let in."""

import pytest
from pydantic import BaseModel, ValidationError

from app.domain.branches import child_branch, owner_of_branch, ticket_of_branch
from app.domain.external_id import Projected, parse
from app.domain.handoff_marker import marker_of, report_marker, ticket_of_comment
from app.domain.keys import TicketKey, parse_key
from app.domain.record import Record
from app.domain.ticket_id import Child, TicketField, child_name_of, number_of, ticket_id
from app.domain.token import Claims, issue, verify

CHILD = Child(42, "docs-1")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("42", 42),
        ("42.docs-1", CHILD),
        ("42.0", Child(42, "0")),
        ("42." + "a" * 31, Child(42, "a" * 31)),
        ("7.locks", Child(7, "locks")),
        ("42." + "a" * 32, None),
        ("42.lock", None),
        ("42.-a", None),
        ("42.Docs", None),
        ("42.a.b", None),
        ("42.", None),
        (".a", None),
        ("042", None),
        ("42\n", None),
        ("42.a\n", None),
        ("42.lock\n", None),
        (str(2**31), None),
        ("٤٢", None),
    ],
)
def test_what_a_text_names(text: str, found: int | Child | None) -> None:
    assert ticket_id(text) == found
    assert found is None or str(found) == text


@pytest.mark.parametrize("name", ["", "lock", "-a", "A", "a b", "a/b", "a" * 32, "ä"])
def test_no_child_is_called_that(name: str) -> None:
    with pytest.raises(ValueError, match="a child's name"):
        Child(42, name)
    with pytest.raises(ValidationError):
        Record(ticket=42, child=name, sequence=1, status="unclaimed")


def test_a_child_belongs_to_its_parents_issue() -> None:
    assert (number_of(CHILD), child_name_of(CHILD)) == (42, "docs-1")
    assert (number_of(42), child_name_of(42)) == (42, None)
    assert Record(ticket=42, child="docs-1", sequence=1, status="unclaimed").ticket_id == CHILD


class _Told(BaseModel):
    ticket: TicketField


@pytest.mark.parametrize(("ticket", "json"), [(42, '{"ticket":42}'), (CHILD, '{"ticket":"42.docs-1"}')])
def test_in_json_a_ticket_is_a_number_and_a_child_a_text(ticket: int | Child, json: str) -> None:
    assert _Told(ticket=ticket).model_dump_json() == json
    assert _Told.model_validate_json(json).ticket == ticket


@pytest.mark.parametrize("json", ["true", '"42"', "0", "-1", "1.5", "null", '"42.lock"', "[]", str(2**31)])
def test_nothing_else_is_a_ticket(json: str) -> None:
    with pytest.raises(ValidationError):
        _Told.model_validate_json(f'{{"ticket":{json}}}')


def test_a_childs_branch_is_nobody_elses() -> None:
    assert child_branch(CHILD) == "ticket/42.docs-1"
    assert owner_of_branch(child_branch(CHILD)) == CHILD
    assert ticket_of_branch(child_branch(CHILD)) is None
    assert owner_of_branch("ticket/42-docs.1") == 42
    for other in ("42.docs-1", "ticket/42.lock", "ticket/42.Docs", "ticket/042.a", "ticket/42.a/b"):
        assert owner_of_branch(other) is None


def test_a_childs_key_marker_and_external_id_are_read_back() -> None:
    assert parse_key("o/r#42.docs-1") == TicketKey("o/r", CHILD)
    assert ticket_of_comment(marker_of(CHILD)) == CHILD
    assert ticket_of_comment(report_marker(CHILD, "stuck-g1")) == CHILD
    assert ticket_of_comment(marker_of(42)) == 42
    shown = Projected(CHILD, 2, 9, "0123456789ab")
    assert parse(f"{shown} 42:1:2:0123456789ab") == (shown, Projected(42, 1, 2, "0123456789ab"))
    assert parse("42.lock:2:9:0123456789ab 042:2:9:0123456789ab") == ()


@pytest.mark.parametrize("text", ["o/r#42.", "o/r#42.lock", "o/r#42.a.b", "o/r#.a"])
def test_no_key_of_a_child(text: str) -> None:
    with pytest.raises(ValueError, match="not a key"):
        parse_key(text)


def test_a_childs_token_opens_neither_its_parent_nor_a_sibling() -> None:
    keys = {"k1": b"a" * 32}
    own = Claims(7, CHILD, 1, "n")
    token = issue("k1", keys["k1"], own)
    assert verify(token, keys) == own
    secret = token.rpartition(".")[2]
    for other in (Claims(7, 42, 1, "n"), Claims(7, Child(42, "docs-2"), 1, "n")):
        assert not isinstance(verify(f"arl_k1.{other.payload()}.{secret}", keys), Claims)
