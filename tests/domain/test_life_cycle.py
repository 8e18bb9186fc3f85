"""The life cycle table: what people do to Issue and PR, and what it makes of the ticket."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.domain.dispatched import Dispatched, Stopped
from app.domain.life_cycle import Ending, ended, ending
from app.domain.observation import Branch, Issue, Observation, Pull
from app.domain.pull_acts import Act
from app.domain.record import (
    Attempts,
    Drafting,
    Ended,
    Fence,
    Intent,
    Lease,
    Permit,
    Projections,
    Published,
    Record,
    Target,
    Work,
)
from app.domain.returning import may_return, returned
from app.domain.the_end_told import why_it_ended

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


def closing(by: str | None, kind: str = "User", at: datetime = NOW, ours: bool = False) -> Act:
    return Act(f"C_{by}_{kind}", "closed", by, ours, at, by_person=kind == "User" and by is not None)


BY_A_BOT = closing("stale", "Bot", NOW - timedelta(hours=1))
BY_A_PERSON, BY_US, BY_NOBODY = closing("ann"), closing("recovery", "Bot", ours=True), closing(None)
LONG_GONE = Act("D", "head_gone", "ann", False, NOW - timedelta(minutes=5), by_person=True)
BRANCH_GONE = replace(LONG_GONE, at=NOW - timedelta(seconds=1))
REWRITTEN, BASE_GONE = replace(BRANCH_GONE, kind="head_rewritten"), replace(BRANCH_GONE, kind="base_gone")
FENCED = RECORD.model_copy(update={"fence": Fence(sha=OTHER, on=HEAD, because="on hold")})
LOST_BRANCH = RECORD.model_copy(update={"projections": Projections(pr_number=50, reopen_pr=50)})
ANOTHERS = RECORD.model_copy(update={"projections": Projections(pr_number=51)})


def at_head(sha: str) -> Observation:
    return replace(SEEN, branches=(Branch("ticket/42", sha),))


TABLE = [
    # Issue, PRs, what becomes of a ticket in progress
    ("open, PR open", ISSUE, (OPEN,), None),
    ("open, PR converted", ISSUE, (replace(OPEN, is_draft=False),), None),
    ("open, no PR", ISSUE, (), None),
    ("open, PR closed by nobody that is known", ISSUE, (CLOSED,), None),
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


PULL_TABLE = [
    # who closed the PR and what else its timeline tells, what becomes of the ticket
    ("a person", RECORD, SEEN, (BY_A_PERSON,), True),
    ("a person, after a bot did and somebody opened it again", RECORD, SEEN, (BY_A_BOT, BY_A_PERSON), True),
    ("a person, long after the branch was gone for a while", RECORD, SEEN, (LONG_GONE, BY_A_PERSON), True),
    ("a person, on hold", RECORD.model_copy(update={"status": "held"}), SEEN, (BY_A_PERSON,), True),
    ("a person, and nobody holds it", RECORD.model_copy(update={"lease": None}), SEEN, (BY_A_PERSON,), True),
    ("a person, at the fence commit", FENCED, at_head(OTHER), (BY_A_PERSON,), True),
    ("a bot", RECORD, SEEN, (BY_A_BOT,), False),
    ("the App itself", RECORD, SEEN, (BY_US,), False),
    ("an account that is gone", RECORD, SEEN, (BY_NOBODY,), False),
    ("nobody that the timeline tells of", RECORD, SEEN, (), False),
    ("GitHub, because the branch was deleted", RECORD, SEEN, (BRANCH_GONE, BY_A_PERSON), False),
    ("GitHub, because the branch was rewritten", RECORD, SEEN, (REWRITTEN, BY_A_PERSON), False),
    ("GitHub, because the base went", RECORD, SEEN, (BASE_GONE, BY_A_PERSON), False),
    ("GitHub, as the record says", LOST_BRANCH, SEEN, (BY_A_PERSON,), False),
    ("the trunk is away", RECORD, replace(SEEN, trunk=None), (BY_A_PERSON,), False),
    ("the branch is away", RECORD, replace(SEEN, branches=()), (BY_A_PERSON,), False),
    ("the branch stands elsewhere", RECORD, at_head(OTHER), (BY_A_PERSON,), False),
    ("nothing was published", RECORD.model_copy(update={"published": None}), SEEN, (BY_A_PERSON,), False),
    ("of a child", RECORD.model_copy(update={"child": "docs"}), SEEN, (BY_A_PERSON,), False),
    ("of a ticket whose PR is another", ANOTHERS, SEEN, (BY_A_PERSON,), False),
]


@pytest.mark.parametrize(
    ("record", "seen", "acts", "ends"), [row[1:] for row in PULL_TABLE], ids=[row[0] for row in PULL_TABLE]
)
def test_a_pr_that_a_person_closed_ends_its_ticket(
    record: Record, seen: Observation, acts: tuple[Act, ...], ends: bool
) -> None:
    observed = replace(seen, pulls=(replace(CLOSED, acts=acts),))
    found = ending(record, observed)
    expected = Ending("cancelled", "pull_closed", "ann closed PR #50", by="ann") if ends else None
    assert found == expected
    if found is not None:
        over = ended(record, found, now=NOW)
        assert (over.status, over.lease, over.ended and over.ended.by) == ("cancelled", None, "ann")
        assert why_it_ended(over).startswith("ann closed its PR")
        assert not may_return(over)
        # A merge, an open PR and a closed Issue say something else.
        merged = replace(MERGED, acts=acts)
        assert ending(record, replace(seen, pulls=(merged,))) is None
        assert ending(record, replace(seen, pulls=(replace(OPEN, acts=acts),))) is None


def test_whoever_was_started_for_a_ticket_is_let_in_no_more_after_its_end() -> None:
    started = Dispatched(attempt="a" * 16, start="workflow_dispatch", generation=3, at=NOW)
    stopped = Stopped(because="attempts", edge="stuck-g3", reason="three claims", at=NOW)
    over = ended(
        RECORD.model_copy(update={"dispatched": started, "stopped": stopped}),
        Ending("cancelled", "command", "no"),
        now=NOW,
    )
    assert over.dispatched is not None
    assert (over.dispatched.state, over.dispatched.attempt, over.stopped) == ("over", "a" * 16, None)
    assert over.open == RECORD.open


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
BY_ITS_PULL = CANCELLED.model_copy(update={"ended": Ended(because="pull_closed", at=NOW, by="ann")})
ABANDONED_WITH_WORDS = ABANDONED.model_copy(update={"ended": Ended(because="too_old", at=NOW)})
LANDED_ELSEWHERE = LANDED.model_copy(update={"ended": None})


def recalled(record: Record) -> Record:
    """A person's recover was said of the ended ticket."""
    assert record.ended is not None
    word = record.ended.model_copy(update={"recalled": Intent(by="ann", at=NOW)})
    return record.model_copy(update={"ended": word})


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
        (LANDED, True),
        (LANDED_ELSEWHERE, True),
        (CANCELLED, False),
        (BY_COMMAND, False),
        (BY_ITS_PULL, False),
        (UNTOLD, False),
        (ABANDONED, False),
        *((recalled(r), True) for r in (CANCELLED, BY_COMMAND, BY_ITS_PULL, ABANDONED_WITH_WORDS)),
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
