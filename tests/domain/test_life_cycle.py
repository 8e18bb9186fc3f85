"""The life cycle table: what people do to Issue and PR, and what it makes of the ticket."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.domain.life_cycle import ended, ending
from app.domain.observation import Branch, Issue, Observation, Pull
from app.domain.record import Attempts, Drafting, Ended, Lease, Permit, Projections, Published, Record, Target, Work
from app.domain.returning import may_return, returned

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
HEAD, BASE, OTHER = "a" * 40, "b" * 40, "c" * 40
RECORD = Record(
    ticket=42,
    sequence=9,
    status="working",
    generation=3,
    lease=Lease(
        generation=3,
        nonce="n",
        holder="agent",
        login="ann",
        claim_id_hash="h",
        granted_at=NOW,
        expires_at=NOW + timedelta(minutes=15),
    ),
    work=Work(branch="ticket/42", trunk="release-1", base_sha=BASE),
    published=Published(sha=HEAD, generation=3, nonce="n"),
    projections=Projections(pr_number=50, comment_id=7, drafting=Drafting(by="ann")),
    attempts=Attempts(count=2),
    open=(Permit(id="p", kind="pr_create", target=Target(head="ticket/42", base="release-1"), author="x", round="r"),),
    burned_shas=(OTHER,),
    effect_keys={"0123456789abcdef": "confirmed:0"},
)
PULL = Pull(50, "PR_50", "OPEN", True, "t", "Ticket: #42", "ticket/42", HEAD, "release-1", "acme/shop")
ISSUE = Issue(42, "Ripen the apples", "", "OPEN", "ann")
SEEN = Observation(
    now=NOW,
    repository_id=1,
    owner="acme",
    name="shop",
    default_branch="main",
    policy_text=None,
    issue=ISSUE,
    branches=(Branch("ticket/42", HEAD),),
    trunk=Branch("release-1", BASE),
    pulls=(PULL,),
)

OPEN, CLOSED, MERGED = (replace(PULL, state=state) for state in ("OPEN", "CLOSED", "MERGED"))
BY_HAND = replace(MERGED, number=51)
"""A merged PR that the App does not know, of the very head that was published."""
ELDER = replace(MERGED, number=12, head_sha=OTHER)
"""The merged PR of an earlier life."""
OF_A_FORK = replace(BY_HAND, head_repository="mallory/shop")

COMPLETED = replace(ISSUE, state="CLOSED", state_reason="COMPLETED")
NOT_PLANNED = replace(ISSUE, state="CLOSED", state_reason="NOT_PLANNED")
UNSAID = replace(ISSUE, state="CLOSED")
REOPENED = replace(ISSUE, state_reason="REOPENED")

TABLE = [
    # Issue, PRs, what becomes of a ticket in progress
    ("open, PR open", ISSUE, (OPEN,), None),
    ("open, PR converted", ISSUE, (replace(OPEN, is_draft=False),), None),
    ("open, no PR", ISSUE, (), None),
    ("open, PR closed by a person or by GitHub", ISSUE, (CLOSED,), None),
    ("open, PR merged: finishing it is landing's", ISSUE, (MERGED,), None),
    ("reopened", REOPENED, (OPEN,), None),
    ("completed, PR merged", COMPLETED, (MERGED,), ("landed", "merged")),
    ("completed, merged by hand", COMPLETED, (replace(CLOSED), BY_HAND), ("landed", "merged")),
    ("completed, PR open", COMPLETED, (OPEN,), ("cancelled", "issue_closed")),
    ("completed, PR closed", COMPLETED, (CLOSED,), ("cancelled", "issue_closed")),
    ("completed, no PR", COMPLETED, (), ("cancelled", "issue_closed")),
    ("completed, only an elder life's PR merged", COMPLETED, (OPEN, ELDER), ("cancelled", "issue_closed")),
    ("completed, only a fork's PR merged", COMPLETED, (OPEN, OF_A_FORK), ("cancelled", "issue_closed")),
    ("not planned", NOT_PLANNED, (OPEN,), ("cancelled", "issue_closed")),
    ("a duplicate", replace(NOT_PLANNED, state_reason="DUPLICATE"), (OPEN,), ("cancelled", "issue_closed")),
    ("not planned, though merged", NOT_PLANNED, (MERGED,), ("landed", "merged")),
    ("closed without a reason", UNSAID, (CLOSED,), ("cancelled", "issue_closed")),
]


@pytest.mark.parametrize(("issue", "pulls", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_what_ends_a_ticket(issue: Issue, pulls: tuple[Pull, ...], expected: tuple[str, str] | None) -> None:
    found = ending(RECORD, replace(SEEN, issue=issue, pulls=pulls))
    assert (found and (found.status, found.because)) == expected


@pytest.mark.parametrize(
    ("whereabouts", "pulls", "expected"),
    [
        (None, (OPEN,), None),
        ("here", (OPEN,), None),
        ("issues_off", (OPEN,), None),
        ("deleted", (OPEN,), "cancelled"),
        ("transferred", (OPEN,), "cancelled"),
        ("hidden", (OPEN,), "cancelled"),
        ("deleted", (MERGED,), "landed"),
    ],
)
def test_an_issue_that_is_away_ends_its_ticket_only_by_githubs_own_word(
    whereabouts: str | None, pulls: tuple[Pull, ...], expected: str | None
) -> None:
    seen = replace(SEEN, issue=None, pulls=pulls, whereabouts=whereabouts)  # type: ignore[arg-type]
    found = ending(RECORD, seen)
    assert (found and found.status) == expected
    if expected == "cancelled":
        assert found is not None
        assert found.because == "issue_gone"
    assert ending(RECORD, replace(seen, is_pull_request=True)) is None


CANCELLED = ended(RECORD, ending(RECORD, replace(SEEN, issue=NOT_PLANNED)), now=NOW)  # type: ignore[arg-type]
LANDED = ended(RECORD, ending(RECORD, replace(SEEN, issue=COMPLETED, pulls=(MERGED,))), now=NOW)  # type: ignore[arg-type]
BY_COMMAND = CANCELLED.model_copy(update={"ended": Ended(because="command", at=NOW)})
UNTOLD = CANCELLED.model_copy(update={"ended": None})
ABANDONED = UNTOLD.model_copy(update={"status": "abandoned"})
LANDED_ELSEWHERE = LANDED.model_copy(update={"ended": None})


def test_at_the_end_nobody_holds_the_ticket_and_everything_else_stays() -> None:
    assert (CANCELLED.status, CANCELLED.lease, CANCELLED.generation) == ("cancelled", None, 3)
    assert CANCELLED.ended == Ended(because="issue_closed", at=NOW, nonce="n")
    assert CANCELLED.attempts == Attempts()
    assert CANCELLED.checkpoint.status == "cancelled"
    changed = {"status", "lease", "ended", "attempts", "checkpoint"}
    before, after = RECORD.model_dump(exclude=changed), CANCELLED.model_dump(exclude=changed)
    assert after == before


@pytest.mark.parametrize("pulls", [(OPEN,), (CLOSED,), (), (ELDER,)])
@pytest.mark.parametrize("record", [CANCELLED, LANDED, BY_COMMAND, ABANDONED])
def test_an_ended_ticket_stays_ended_whatever_its_issue_does(record: Record, pulls: tuple[Pull, ...]) -> None:
    for issue in (ISSUE, COMPLETED, NOT_PLANNED, REOPENED, None):
        assert ending(record, replace(SEEN, issue=issue, pulls=pulls, whereabouts="deleted")) is None


@pytest.mark.parametrize("record", [CANCELLED, BY_COMMAND])
def test_a_merge_after_the_cancel_is_recorded_with_the_first_end(record: Record) -> None:
    late = ending(record, replace(SEEN, issue=COMPLETED, pulls=(MERGED,)))
    assert late is not None
    landed = ended(record, late, now=NOW + timedelta(days=1))
    assert landed.status == "landed"
    assert landed.ended == Ended(because="merged", at=NOW, nonce=record.ended.nonce if record.ended else None)


@pytest.mark.parametrize(
    ("record", "comes_back"),
    [
        (CANCELLED, True),
        (LANDED, True),
        (LANDED_ELSEWHERE, True),
        (BY_COMMAND, False),
        (UNTOLD, False),
        (ABANDONED, False),
    ],
)
def test_what_an_open_issue_brings_back(record: Record, comes_back: bool) -> None:
    assert may_return(record) is comes_back


def test_a_cancelled_ticket_comes_back_with_its_work_and_its_open_pr() -> None:
    back = returned(CANCELLED, SEEN)
    assert (back.status, back.generation, back.ended, back.attempts) == ("unclaimed", 3, None, Attempts())
    assert (back.work, back.published, back.projections) == (RECORD.work, RECORD.published, RECORD.projections)
    assert (back.effect_keys, back.burned_shas, back.open) == (RECORD.effect_keys, RECORD.burned_shas, RECORD.open)


@pytest.mark.parametrize("pulls", [(CLOSED,), ()])
def test_a_pr_that_a_person_closed_is_not_the_next_lifes(pulls: tuple[Pull, ...]) -> None:
    back = returned(CANCELLED, replace(SEEN, pulls=pulls))
    assert (back.projections, back.published) == (Projections(), RECORD.published)


def test_a_landed_ticket_does_nothing_of_it_again() -> None:
    gone = returned(LANDED, replace(SEEN, pulls=(MERGED,), branches=()))
    assert (gone.published, gone.projections, gone.work) == (None, Projections(), RECORD.work)
    left = returned(LANDED, replace(SEEN, pulls=(MERGED,)))
    assert left.published == RECORD.published
    assert left.work is not None
    assert (left.work.base_sha, left.projections) == (HEAD, Projections())
    # The old merge is no merge of the new life.
    again = left.model_copy(update={"status": "working"})
    found = ending(again, replace(SEEN, issue=NOT_PLANNED, pulls=(MERGED,)))
    assert found is not None
    assert found.status == "cancelled"
