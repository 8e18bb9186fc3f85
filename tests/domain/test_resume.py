"""What a workspace does before it goes on: the public case of a session that overwrote newer work, and the table."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.observation import Issue, Observation
from app.domain.progress import recovered
from app.domain.record import Lease, Published, Record
from app.domain.resume import (
    Apart,
    Comparison,
    FastForward,
    ForeignHead,
    GoOn,
    Heads,
    RemoteGone,
    compare,
    results_count,
)

CASE = json.loads((Path(__file__).parents[1] / "fixtures" / "resumed_sessions.json").read_text())
INPUTS: dict[str, dict[str, Any]] = {case["name"]: case for case in CASE["input"]["cases"]}
EXPECTED: dict[str, dict[str, Any]] = CASE["expected"]["cases"]
L, P, R = "1" * 40, "a" * 40, "b" * 40
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
LEASE = Lease(generation=1, nonce="n", holder="a", login="ann", claim_id_hash="h", granted_at=NOW, expires_at=NOW)
OBSERVATION = Observation(NOW, 1, "acme", "shop", "main", None, Issue(42, "Ripen", "", "OPEN", "ann"))


def heads_of(case: dict[str, Any]) -> Heads:
    """The case as its workspace and the remote stand to each other. What the remote has, this ledger published."""
    checkpoint, remote, own = case["checkpoint_head"], case["remote_head"], case.get("local_commits", 0)
    local = L if own else checkpoint
    ahead = bool(case.get("a_is_ancestor")) and not own
    return Heads(
        local=local,
        published=remote or checkpoint,
        remote=remote,
        local_has_remote=local == remote,
        remote_has_local=ahead or local == remote,
        remote_has_published=remote is not None,
    )


@pytest.mark.parametrize(
    ("name", "kind"),
    [("equal", GoOn), ("remote_ahead", FastForward), ("diverged", Apart), ("remote_gone", RemoteGone)],
)
def test_the_public_case(name: str, kind: type[Comparison]) -> None:
    found = compare(heads_of(INPUTS[name]))
    assert isinstance(found, kind)
    if isinstance(found, RemoteGone):
        assert found.restore == EXPECTED[name]["restore_sha"]
    if isinstance(found, FastForward):
        assert found.to == INPUTS[name]["remote_head"]


def test_evidence_about_another_tree_is_no_evidence() -> None:
    case = INPUTS["evidence_for_other_tree"]
    record = Record(
        ticket=42,
        sequence=1,
        status="recovering",
        lease=LEASE,
        published=Published(sha=case["head"], generation=1, nonce="n"),
    )
    shown = case["checkpoint"]["tests_passed_at"]
    assert isinstance(recovered(record, LEASE, shown, OBSERVATION), Record) is EXPECTED[case["name"]]["evidence_valid"]
    assert isinstance(recovered(record, LEASE, case["head"], OBSERVATION), Record)


def test_results_on_an_old_base_say_nothing_about_the_trunk() -> None:
    assert results_count(INPUTS["base_old"]["base_sha_age_commits"]) is EXPECTED["base_old"]["tests_count"]
    assert results_count(0)
    assert EXPECTED["base_old"]["then"] == "update base first"


TABLE: list[tuple[str, Heads, Comparison]] = [
    ("nothing published", Heads(L, None, None), GoOn("nothing is published yet")),
    ("all agree", Heads(P, P, P, True, True, True), GoOn("this workspace, the remote and the ledger agree")),
    (
        "unpublished work",
        Heads(L, P, P, True, False, True),
        GoOn("this workspace has commits that are not published yet", ahead=True),
    ),
    (
        "behind",
        Heads(L, P, P, False, True, True),
        FastForward(P, "the remote is ahead, and nothing here is missing there"),
    ),
    (
        "rebased here",
        Heads(L, P, P, False, False, True),
        Apart(L, P, "this workspace and the published branch both have commits of their own"),
    ),
    (
        "foreign on top",
        Heads(P, P, R, False, True, True),
        ForeignHead(R, f"the remote is at {R}, which nobody published under this ledger"),
    ),
    (
        "foreign on top, own work too",
        Heads(L, P, R, False, False, True),
        Apart(L, R, "this workspace and the remote branch both have commits of their own"),
    ),
    (
        "overwritten",
        Heads(P, P, R, False, False, False),
        Apart(P, R, f"the remote branch does not contain the published commit {P} any more", overwritten=True),
    ),
    (
        "rewound",
        Heads(P, P, R, True, False, False),
        Apart(P, R, f"the remote branch does not contain the published commit {P} any more", overwritten=True),
    ),
    (
        "a branch that nobody published",
        Heads(L, None, R, False, True, False),
        ForeignHead(R, f"the remote is at {R}, which nobody published under this ledger"),
    ),
    ("gone", Heads(L, P, None), RemoteGone(P, f"the branch is gone from the remote; {P} was published")),
]


@pytest.mark.parametrize(("heads", "found"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_every_standing_has_one_answer(heads: Heads, found: Comparison) -> None:
    assert compare(heads) == found


@given(st.data())
def test_whatever_stands_nothing_is_lost_by_going_on(data: st.DataObject) -> None:
    """Histories as sets of commits: who contains whom is all that the rule sees."""
    commits = st.frozensets(st.integers(0, 3), max_size=4)
    base = data.draw(commits, "published")
    was_published = data.draw(st.booleans(), "was anything published")
    local = data.draw(commits, "local")
    remote = data.draw(st.one_of(st.none(), commits, st.just(base)), "remote")

    def name(history: frozenset[int]) -> str:
        return "".join(map(str, sorted(history))).ljust(40, "f")

    published = base if was_published else None
    found = compare(
        Heads(
            local=name(local),
            published=None if published is None else name(published),
            remote=None if remote is None else name(remote),
            local_has_remote=remote is not None and remote <= local,
            remote_has_local=remote is not None and local <= remote,
            remote_has_published=remote is not None and published is not None and published <= remote,
        )
    )
    match found:
        case GoOn():
            assert remote is None or remote <= local
            assert remote == published
        case FastForward():
            assert remote is not None
            assert local < remote
            assert remote == published
        case RemoteGone():
            assert (remote, found.restore) == (None, name(base))
        case ForeignHead():
            assert remote is not None
            assert remote != published
            assert remote <= local or local <= remote
        case Apart():
            assert remote is not None
            assert found.overwritten == (published is not None and not published <= remote)
            assert found.overwritten or not (remote <= local or local <= remote)
