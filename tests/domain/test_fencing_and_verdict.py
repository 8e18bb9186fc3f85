"""How a head stands to what was published, and that green is shown for a fenced head only, and never neutral."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from app.domain.external_id import Projected, parse
from app.domain.fencing import (
    AtPublished,
    Foreign,
    Head,
    NothingPublished,
    Relation,
    Tampered,
    head_of,
    needs_relation,
)
from app.domain.observation import Branch, CheckRun, Observation
from app.domain.record import Lease, Published, Record, Work
from app.domain.verdict import sharing, verdict_on

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
P, X, BASE = "a" * 40, "d" * 40, "b" * 40
LEASE = Lease(
    generation=3,
    nonce="n",
    holder="agent",
    login="ann",
    claim_id_hash="h",
    granted_at=NOW,
    expires_at=NOW + timedelta(minutes=15),
)
RECORD = Record(
    ticket=42,
    sequence=9,
    status="working",
    generation=3,
    lease=LEASE,
    work=Work(branch="ticket/42", trunk="release-1", base_sha=BASE),
    published=Published(sha=P, generation=3, nonce="n"),
)
SEEN = Observation(NOW, 1, "acme", "shop", "main", None, None)


def _seen(sha: str | None, *external_ids: str) -> Observation:
    branches = (Branch("ticket/421", X), *([Branch("ticket/42", sha)] if sha else []))
    runs = tuple(CheckRun(i, sha or P, "completed", "success", e) for i, e in enumerate(external_ids))
    return replace(SEEN, branches=branches, check_runs=runs)


@pytest.mark.parametrize(
    ("published", "head", "relation", "expected"),
    [
        (None, None, None, NothingPublished(None)),
        (None, X, None, NothingPublished(X)),
        (P, None, None, Tampered(P, None)),
        (P, P, None, AtPublished(P, True)),
        (P, X, Relation.ON_TOP, Foreign(P, X)),
        (P, X, Relation.ELSEWHERE, Tampered(P, X)),
    ],
)
def test_how_a_head_stands_to_what_was_published(
    published: str | None, head: str | None, relation: Relation | None, expected: Head
) -> None:
    record = RECORD if published else RECORD.model_copy(update={"published": None})
    assert head_of(record, _seen(head), relation) == expected
    compared = needs_relation(record, _seen(head))
    assert compared == ((P, X) if relation is not None else None)


@pytest.mark.parametrize(
    ("update", "fenced"),
    [
        ({}, True),
        ({"published": Published(sha=P, generation=2, nonce="n")}, False),
        ({"published": Published(sha=P, generation=3, nonce="other")}, False),
        ({"lease": None}, False),
        ({"burned_shas": (P,)}, False),
        ({"burned_shas": (X,)}, True),
    ],
    ids=["own", "older generation", "other nonce", "nobody holds it", "burned", "another burned"],
)
def test_what_is_fenced(update: dict[str, object], fenced: bool) -> None:
    record = RECORD.model_copy(update=update)
    assert head_of(record, _seen(P), None) == AtPublished(P, fenced)


def test_nothing_to_compare_without_a_branch_of_its_own() -> None:
    assert head_of(RECORD.model_copy(update={"work": None, "published": None}), _seen(P), None) == NothingPublished(
        None
    )


HEADS: list[Head] = [
    NothingPublished(None),
    NothingPublished(X),
    AtPublished(P, True),
    AtPublished(P, False),
    Foreign(P, X),
    Tampered(P, None),
    Tampered(P, X),
]
STATUSES = ["unclaimed", "recovering", "working", "waiting", "ready", "held", "exhausted"]


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize(("head", "status"), list(product(HEADS, STATUSES)))
def test_green_is_fenced_and_alone_and_nothing_is_neutral(head: Head, status: str, held: bool, shared: bool) -> None:
    record = RECORD.model_copy(update={"status": status, "lease": LEASE if held else None})
    seen = _seen(P, "42:3:9:0123456789ab", *(["41:1:2:0123456789ab"] if shared else []))
    verdict = verdict_on(record, head, seen)
    assert verdict.conclusion in ("success", "action_required", None)
    assert verdict.title
    assert verdict.summary
    green = isinstance(head, AtPublished) and head.fenced and not shared
    assert (verdict.conclusion == "success") is green
    red = isinstance(head, Foreign) or (isinstance(head, AtPublished) and shared)
    assert (verdict.conclusion == "action_required") is red


def test_foreign_commits_are_answered_with_both_ways_out() -> None:
    summary = verdict_on(RECORD, Foreign(P, X), _seen(X)).summary
    assert "push --rewind" in summary
    assert f"adopt {X}" in summary


def test_tickets_that_share_a_commit_are_all_named() -> None:
    seen = _seen(P, "42:3:9:0123456789ab", "41:1:2:0123456789ab", "7:1:2:0123456789ab", "nonsense", "")
    assert sharing(RECORD, seen, P) == (7, 41)
    assert sharing(RECORD, seen, X) == ()
    assert "#7, #41, #42" in verdict_on(RECORD, AtPublished(P, True), seen).title


def test_an_external_id_reads_back_and_nonsense_is_passed_over() -> None:
    one, two = Projected(42, 3, 17, "0123456789ab"), Projected(7, 0, 0, "f" * 12)
    assert parse(f"{one} x:y {two} 0:1:1:{'f' * 12} 1:1:1:{'F' * 12} 1:-1:1:{'f' * 12}") == (one, two)
    assert parse("") == ()
