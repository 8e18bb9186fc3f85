"""The small texts: reports that are calm and short, PR words without effect, ref names, codes, derived fields."""

from datetime import UTC, datetime

import pytest

from app.domain.checkpoint import Checkpoint
from app.domain.derived import derived, merged
from app.domain.observation import Comment, Issue, Observation, Pull
from app.domain.outcome import Code, Exit, exit_code, http_status
from app.domain.plan import RestoreBranch
from app.domain.pull_text import TITLE_BYTES, pull_body, pull_title
from app.domain.record import Projections, Record, Work
from app.domain.refs import BRANCH_NAMESPACE, LedgerRefs
from app.domain.report import Frozen, frozen_report, is_told_further, unrestored_report, where_told
from app.domain.situation import own_pulls
from app.domain.ticket_id import Child

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
P, BASE = "a" * 40, "b" * 40
FROZEN = Frozen("moved-from-9", "Its ledger is not where it was: it moved back.", P, BASE)
ISSUE = Issue(42, "Ripen the apples", "", "OPEN", "ann")


@pytest.mark.parametrize(
    ("issue", "mention"),
    [
        (ISSUE, "@ann "),
        (Issue(42, "t", "", "OPEN", "ann", ("bob", "eve")), "@bob "),
        (Issue(42, "t", "", "OPEN", None), ""),
        (None, ""),
    ],
)
def test_a_report_mentions_one_person_at_most_and_stays_short(issue: Issue | None, mention: str) -> None:
    restore = RestoreBranch("ticket/42-`@x`", P, None, None, "the ticket branch was deleted by somebody")
    for text in (
        frozen_report(42, FROZEN, issue),
        unrestored_report(42, "e", restore, "no @octocat --> <!-- x", issue),
    ):
        first, second = text.split("\n")[:2]
        assert first.startswith("<!-- agent-recovery:report:42:")
        assert second.startswith(f"{mention}**")
        assert text.count("<!--") == 1
        assert "@octocat" not in text
        assert "@x" not in text
        assert len(text) < 1500


def test_a_report_is_found_again_by_its_edge_wherever_it_stands() -> None:
    told = Comment(5, frozen_report(42, FROZEN, ISSUE), NOW)
    other = Comment(4, frozen_report(42, Frozen("another", "r", P, BASE), ISSUE), NOW)
    pull = Pull(50, "n", "OPEN", True, "t", "b", "ticket/42", P, "r", "acme/shop", comments=(other, told))
    again = Comment(3, told.body, NOW)
    seen = Observation(NOW, 1, "acme", "shop", "main", None, ISSUE, issue_comments=(again,))
    assert where_told(42, FROZEN, seen, pull) == (again, told)
    assert where_told(43, FROZEN, seen, None) == ()


@pytest.mark.parametrize(
    ("stands", "told"),
    [("moved-from-8", False), ("moved-from-9", False), ("moved-from-10", True), ("damaged-after-10", False)],
)
def test_a_report_that_knew_of_more_tells_of_this_too(stands: str, told: bool) -> None:
    comment = Comment(5, frozen_report(42, Frozen(stands, "r", P, BASE), ISSUE), NOW)
    seen = Observation(NOW, 1, "acme", "shop", "main", None, ISSUE, issue_comments=(comment,))
    assert is_told_further(42, FROZEN, seen) is told
    assert not is_told_further(4, FROZEN, seen)
    assert not is_told_further(42, Frozen("another", "r", P, BASE), seen)


def test_a_pull_request_of_a_fork_is_not_the_tickets() -> None:
    forks = [Pull(n, "n", "OPEN", True, "t", "b", "ticket/42", P, "r", repo) for n, repo in ((1, "x/shop"), (2, None))]
    own = Pull(3, "n", "OPEN", True, "t", "b", "ticket/42", P, "r", "Acme/shop")
    assert own_pulls(Observation(NOW, 1, "acme", "shop", "main", None, ISSUE, pulls=(*forks, own))) == [own]


@pytest.mark.parametrize("title", ["", " \u200b ", "a\n/recovery x", "é" * 400])
def test_a_title_is_one_short_line_and_never_empty(title: str) -> None:
    shown = pull_title(Issue(42, title, "", "OPEN", None))
    assert shown
    assert "\n" not in shown
    assert len(shown.encode()) <= TITLE_BYTES
    assert pull_body(42).splitlines() == ["Ticket: #42"]


@pytest.mark.parametrize("namespace", ["refs/agent-recovery", BRANCH_NAMESPACE])
def test_refs_are_read_back_to_their_ticket_only(namespace: str) -> None:
    refs = LedgerRefs(namespace)
    assert [refs.ticket_of(refs.at(place, 42)) for place in ("active", "done")] == [42, 42]
    child = Child(42, "docs-1")
    assert [refs.ticket_of(refs.at(place, child)) for place in ("active", "done")] == [child, child]
    assert refs.result_of(refs.result(child, 2)) == (child, 2)
    assert refs.recovered(child, "a" * 40) == f"{namespace}/recovered/42/{'a' * 40}"
    for other in ("results/42.g1", "results/42.docs-1.g0", "results/42.docs-1.gx", "results/42.docs-1", "active/42.g1"):
        assert refs.result_of(f"{namespace}/{other}") is None
    for other in (
        "active/042",
        "active/0",
        "active/42.",
        "active/42.lock",
        "active/42.Docs",
        "active/42/x",
        "recovered/42/x",
        "active/",
        "done/x",
    ):
        assert refs.ticket_of(f"{namespace}/{other}") is None


def test_a_refusal_never_ends_with_success() -> None:
    assert all(exit_code(code) != Exit.OK and http_status(code) >= 400 for code in Code)
    assert exit_code(Code.FROZEN) == Exit.GATE_CLOSED


def test_what_the_service_knows_better_replaces_what_the_agent_said() -> None:
    record = Record(
        ticket=42,
        sequence=1,
        status="working",
        generation=3,
        work=Work(branch="ticket/42", trunk="release-1", base_sha=BASE),
        projections=Projections(pr_number=50),
    )
    lies = Checkpoint(issue_id=1, target_release="main", execution_generation=9, status="landed", objective="o")
    told = derived(record, lies, now=NOW)
    assert (told.issue_id, told.target_release, told.execution_generation) == (42, "release-1", 3)
    assert (told.status, told.pr_number, told.objective, told.updated_at) == ("working", 50, "o", NOW)


def test_a_field_that_was_not_sent_stays_as_it_was() -> None:
    before = Checkpoint(objective="o", blockers=("b",))
    assert merged(before, Checkpoint(blockers=())) == Checkpoint(objective="o")
