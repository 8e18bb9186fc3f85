"""Where a ticket's work is and where it goes: one table of what GitHub may show, and the one answer to each."""

from dataclasses import dataclass, field

import pytest

from app.domain.branch_clues import (
    Clues,
    Compared,
    NoCommonHistory,
    Pair,
    PullClue,
    Recorded,
    Release,
    TicketBranch,
    Waited,
)
from app.domain.missing_pull import rebuild
from app.domain.observation import Branch
from app.domain.pull_evidence import Gap, LeftAlone, NoTicket, NotStarted, Rebuilt, Source, ToCompare, Uncertain
from app.domain.ticket_trailers import tickets_named_by

ONE, TWO, TRUNK_OF_TWO = "1" * 40, "2" * 40, "3" * 40
WORK, OTHER, CUT = "a" * 40, "b" * 40, "c" * 40
PRED, PRED_NOW, SECOND = "d" * 40, "e" * 40, "f" * 40
R1, R2 = Branch("release-1", ONE), Branch("release-2", TRUNK_OF_TWO)
NAMED = TicketBranch("ticket/42-apples", WORK)
LINKED = TicketBranch("apples", WORK, linked=True)


def ahead(*names: int, by: int = 2, behind: int = 1, base: str = CUT, read_all: bool = True) -> Compared:
    return Compared(by, behind, base, names, read_all)


NOTHING_OWN = Compared(0, 3, WORK)
HAS_WORK: dict[Pair, Compared | NoCommonHistory] = {(ONE, WORK): ahead(), (TRUNK_OF_TWO, WORK): ahead()}
WAITS = (Waited(40, (Branch("ticket/40-pears", PRED),)),)
STACKED: dict[Pair, Compared | NoCommonHistory] = {
    (ONE, WORK): ahead(by=4),
    (PRED, WORK): ahead(by=2, behind=0, base=PRED),
    (ONE, PRED): ahead(by=2),
}


def clues(**fields: object) -> Clues:
    given: dict[str, object] = {"ticket": 42, "trunks": (R1,), "branches": (NAMED,), "compared": HAS_WORK, **fields}
    return Clues(**given)  # type: ignore[arg-type]


def pull(number: int = 57, base: str = "release-1", **fields: object) -> PullClue:
    return PullClue(number, **{"state": "OPEN", "head_sha": WORK, "base": base, **fields})  # type: ignore[arg-type]


def with_pulls(*pulls: PullClue) -> TicketBranch:
    return TicketBranch(NAMED.name, WORK, pulls=pulls)


@dataclass(frozen=True)
class Opened:
    """Expected: a PR from `branch` onto `base`, because of these sources, in their order."""

    branch: str = "ticket/42-apples"
    base: str = "release-1"
    sources: tuple[Source, ...] = (Source.BRANCH_NAME, Source.POLICY)
    trunk: str = "release-1"
    predecessor: int | None = None
    pull: int | None = None


@dataclass(frozen=True)
class Blocked:
    """Expected: this gap, with these words in its reason."""

    gap: Gap
    words: tuple[str, ...] = field(default=())


BY_NAME, BY_LINK = Source.BRANCH_NAME, Source.LINKED_BRANCH
FIELD = Release(3, "Target release", "2")

TABLE: list[tuple[str, Clues, object]] = [
    ("by its name, onto the only trunk", clues(), Opened()),
    ("by its link, whatever its name", clues(branches=(LINKED,)), Opened("apples", sources=(BY_LINK, Source.POLICY))),
    (
        "link and name agree",
        clues(branches=(TicketBranch("42-apples", WORK, linked=True),)),
        Opened("42-apples", sources=(BY_LINK, BY_NAME, Source.POLICY)),
    ),
    (
        "the trailers of its commits agree",
        clues(compared={(ONE, WORK): ahead(42)}),
        Opened(sources=(BY_NAME, Source.TRAILERS, Source.POLICY)),
    ),
    (
        "the record says it, and other branches say nothing",
        clues(recorded=Recorded(NAMED.name, "release-1"), branches=(NAMED, TicketBranch("42-old", OTHER))),
        Opened(sources=(Source.RECORD, Source.RECORD)),
    ),
    (
        "the Project's field decides among trunks",
        clues(trunks=(R1, R2), release=FIELD),
        Opened(base="release-2", trunk="release-2", sources=(BY_NAME, Source.PROJECT)),
    ),
    (
        "the record and the Project agree",
        clues(trunks=(R1, R2), recorded=Recorded(NAMED.name, "release-2"), release=FIELD),
        Opened(base="release-2", trunk="release-2", sources=(Source.RECORD, Source.RECORD)),
    ),
    (
        "the open PR's own base decides among trunks",
        clues(trunks=(R1, R2), branches=(with_pulls(pull(base="release-2")),)),
        Opened(base="release-2", trunk="release-2", sources=(BY_NAME, Source.PULL), pull=57),
    ),
    (
        "there is a PR, and it is right",
        clues(branches=(with_pulls(pull(names=42)),)),
        Opened(sources=(BY_NAME, Source.PULL), pull=57),
    ),
    (
        "a fork's PR of the same branch name is nobody's",
        clues(branches=(with_pulls(pull(base="main", own_repository=False)),)),
        Opened(),
    ),
    (
        "a closed PR of older commits: the work went on",
        clues(branches=(with_pulls(pull(state="CLOSED", head_sha=OTHER)),)),
        Opened(),
    ),
    (
        "a merged PR of older commits: more work came",
        clues(branches=(with_pulls(pull(state="MERGED", head_sha=OTHER)),)),
        Opened(),
    ),
    (
        "stacked on the branch of what it waits for",
        clues(waits_for=WAITS, compared=STACKED),
        Opened(base="ticket/40-pears", sources=(BY_NAME, Source.POLICY, Source.DEPENDENCIES), predecessor=40),
    ),
    (
        "stacked, and the predecessor moved on since",
        clues(
            waits_for=(Waited(40, (Branch("ticket/40-pears", PRED_NOW),)),),
            compared={
                (ONE, WORK): ahead(by=4),
                (PRED_NOW, WORK): ahead(by=2, behind=3, base=PRED),
                (ONE, PRED): ahead(by=2),
            },
        ),
        Opened(base="ticket/40-pears", sources=(BY_NAME, Source.POLICY, Source.DEPENDENCIES), predecessor=40),
    ),
    (
        "stacked, and the predecessor's commits name the predecessor",
        clues(waits_for=WAITS, compared={**STACKED, (PRED, WORK): ahead(42, 40, behind=0, base=PRED)}),
        Opened(
            base="ticket/40-pears",
            sources=(BY_NAME, Source.TRAILERS, Source.POLICY, Source.DEPENDENCIES),
            predecessor=40,
        ),
    ),
    (
        "waits for an Issue whose work it does not contain: not stacked",
        clues(waits_for=WAITS, compared={(ONE, WORK): ahead(), (PRED, WORK): ahead(), (ONE, CUT): NOTHING_OWN}),
        Opened(),
    ),
    (
        "a chain: the topmost of two that build on each other",
        clues(
            waits_for=(*WAITS, Waited(41, (Branch("ticket/41-plums", SECOND),))),
            compared={
                **STACKED,
                (SECOND, WORK): ahead(by=1, behind=0, base=SECOND),
                (ONE, SECOND): ahead(by=3),
                (PRED, SECOND): ahead(by=1, behind=0, base=PRED),
                (SECOND, PRED): Compared(0, 1, PRED),
            },
        ),
        Opened(base="ticket/41-plums", sources=(BY_NAME, Source.POLICY, Source.DEPENDENCIES), predecessor=41),
    ),
    (
        "a PR that a person opened onto the predecessor's branch",
        clues(branches=(with_pulls(pull(base="ticket/40-pears")),), waits_for=WAITS, compared=STACKED),
        Opened(base="ticket/40-pears", sources=(BY_NAME, Source.POLICY, Source.DEPENDENCIES), predecessor=40, pull=57),
    ),
    (
        "one of two branches has no work",
        clues(branches=(NAMED, TicketBranch("42", OTHER)), compared={**HAS_WORK, (ONE, OTHER): NOTHING_OWN}),
        Opened(),
    ),
    (
        "one of two branches was merged",
        clues(
            branches=(NAMED, TicketBranch("42", OTHER, pulls=(pull(state="MERGED", head_sha=OTHER),))),
            compared={**HAS_WORK, (ONE, OTHER): ahead()},
        ),
        Opened(),
    ),
    # ---- nothing to do
    ("no branch", clues(branches=()), NotStarted),
    ("a branch without a commit of its own", clues(compared={(ONE, WORK): NOTHING_OWN}), NotStarted),
    (
        "not started on either trunk: it need not be clear which",
        clues(trunks=(R1, R2), compared={(ONE, WORK): NOTHING_OWN, (TRUNK_OF_TWO, WORK): ahead()}),
        NotStarted,
    ),
    (
        "at one of many trunks' heads",
        clues(trunks=(*(Branch(f"release-{n}", OTHER) for n in range(3, 20)), Branch("release-2", WORK)), compared={}),
        NotStarted,
    ),
    ("the recorded branch is gone", clues(recorded=Recorded("42-gone", "release-1")), NotStarted),
    ("a branch that only looks alike", clues(branches=(TicketBranch("ticket/42#tmp", WORK),)), NotStarted),
    ("a child's branch", clues(branches=(TicketBranch("ticket/42.docs-1", WORK),)), NotStarted),
    ("another ticket's branch", clues(branches=(TicketBranch("ticket/421-x", WORK),)), NotStarted),
    (
        "the default branch, linked to the Issue and ahead of the trunk",
        clues(branches=(TicketBranch("main", WORK, linked=True),), shared=frozenset({"main"})),
        NotStarted,
    ),
    (
        "a base of releases that is named like the ticket's branch",
        clues(branches=(TicketBranch("42-stable", WORK),), shared=frozenset({"main", "42-stable"})),
        NotStarted,
    ),
    ("a trunk that is linked to the Issue", clues(branches=(TicketBranch("release-1", ONE, linked=True),)), NotStarted),
    (
        "its only branch was merged as it is",
        clues(branches=(with_pulls(pull(state="MERGED")),)),
        NotStarted,
    ),
    (
        "stacked without a commit over its predecessor",
        clues(waits_for=WAITS, compared={**STACKED, (PRED, WORK): Compared(0, 0, PRED)}),
        NotStarted,
    ),
    ("the number is a pull request's", clues(subject="pull request"), NoTicket),
    ("the Issue is closed", clues(subject="closed issue"), NoTicket),
    ("nothing has the number", clues(subject="nothing"), NoTicket),
    ("a person closed its PR", clues(branches=(with_pulls(pull(state="CLOSED")),)), LeftAlone),
    # ---- blockers
    (
        "several branches with work",
        clues(branches=(NAMED, TicketBranch("issue-42", OTHER)), compared={**HAS_WORK, (ONE, OTHER): ahead()}),
        Blocked(Gap.SEVERAL_BRANCHES, ("ticket/42-apples", "issue-42")),
    ),
    (
        "a linked branch and a named one with work",
        clues(
            branches=(TicketBranch("apples", OTHER, linked=True), NAMED), compared={**HAS_WORK, (ONE, OTHER): ahead()}
        ),
        Blocked(Gap.SEVERAL_BRANCHES, ("'apples'", "ticket/42-apples")),
    ),
    (
        "more branches than are looked at",
        clues(branches=tuple(TicketBranch(f"42-{n}", OTHER) for n in range(9)), compared={}),
        Blocked(Gap.SEVERAL_BRANCHES),
    ),
    (
        "linked to the ticket, named after another",
        clues(branches=(TicketBranch("43-apples", WORK, linked=True),)),
        Blocked(Gap.CONTRADICTION, ("linked branch", "branch's name", "#43")),
    ),
    (
        "its commits are for another ticket",
        clues(compared={(ONE, WORK): ahead(43)}),
        Blocked(Gap.CONTRADICTION, ("branch's name", "commit trailers", "#43")),
    ),
    (
        "its commits are for two tickets, and no dependency says why",
        clues(compared={(ONE, WORK): ahead(40, 42)}),
        Blocked(Gap.CONTRADICTION, ("#40",)),
    ),
    (
        "its open PR is for another ticket",
        clues(branches=(with_pulls(pull(names=43)),)),
        Blocked(Gap.CONTRADICTION, ("open pull request", "#43")),
    ),
    (
        "linked in another repository alone",
        clues(branches=(), elsewhere=("octo/fork:42-x",)),
        Blocked(Gap.BRANCH_ELSEWHERE, ("octo/fork",)),
    ),
    (
        "two open PRs",
        clues(branches=(with_pulls(pull(57), pull(58, "release-2")),)),
        Blocked(Gap.SEVERAL_PULLS, ("#57", "#58")),
    ),
    (
        "several trunks and nobody says which",
        clues(trunks=(R1, R2)),
        Blocked(Gap.TRUNK_UNCLEAR, ("release-1", "release-2")),
    ),
    (
        "many trunks and nobody says which",
        clues(trunks=tuple(Branch(f"release-{n}", OTHER) for n in range(3, 20)), compared={}),
        Blocked(Gap.TRUNK_UNCLEAR, ("release-3",)),
    ),
    ("no trunk", clues(trunks=()), Blocked(Gap.NO_TRUNK, ("no existing branch",))),
    (
        "the Project names a release without a trunk",
        clues(trunks=(R1,), release=FIELD),
        Blocked(Gap.NO_TRUNK, ("Target release", "'2'")),
    ),
    (
        "the Project names two trunks at once",
        clues(
            trunks=(R1, Branch("release/1", TWO)),
            release=Release(3, "Target release", "v1"),
            compared={**HAS_WORK, (TWO, WORK): ahead()},
        ),
        Blocked(Gap.TRUNK_UNCLEAR, ("release/1",)),
    ),
    (
        "the record and the Project contradict",
        clues(trunks=(R1, R2), recorded=Recorded(NAMED.name, "release-1"), release=FIELD),
        Blocked(Gap.CONTRADICTION, ("the record", "Project field", "release-2")),
    ),
    (
        "the open PR and the Project contradict",
        clues(trunks=(R1, R2), branches=(with_pulls(pull()),), release=FIELD),
        Blocked(Gap.CONTRADICTION, ("open pull request", "Project field")),
    ),
    (
        "the recorded trunk is gone",
        clues(recorded=Recorded(NAMED.name, "release-9")),
        Blocked(Gap.NO_TRUNK, ("release-9",)),
    ),
    (
        "the open PR goes past every trunk",
        clues(branches=(with_pulls(pull(base="main")),)),
        Blocked(Gap.BASE_IS_NO_TRUNK, ("'main'",)),
    ),
    (
        "a PR onto a predecessor's branch whose work it does not hold",
        clues(
            branches=(with_pulls(pull(base="ticket/40-pears")),),
            waits_for=WAITS,
            compared={**HAS_WORK, (PRED, WORK): ahead(), (ONE, CUT): NOTHING_OWN},
        ),
        Blocked(Gap.CONTRADICTION, ("#40",)),
    ),
    (
        "the checkpoint and the dependencies name different predecessors",
        clues(recorded=Recorded(NAMED.name, "release-1", predecessor=39), waits_for=WAITS, compared=STACKED),
        Blocked(Gap.CONTRADICTION, ("#39", "#40")),
    ),
    (
        "builds on two tickets side by side",
        clues(
            waits_for=(*WAITS, Waited(41, (Branch("ticket/41-plums", SECOND),))),
            compared={
                **STACKED,
                (SECOND, WORK): ahead(by=1, behind=0, base=SECOND),
                (ONE, SECOND): ahead(by=3),
                (PRED, SECOND): ahead(),
                (SECOND, PRED): ahead(),
            },
        ),
        Blocked(Gap.BRANCHING_DEPENDENCIES, ("#40", "#41")),
    ),
    ("a history of its own", clues(compared={(ONE, WORK): NoCommonHistory()}), Blocked(Gap.UNRELATED)),
]


@pytest.mark.parametrize(("given", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_what_the_evidence_says_together(given: Clues, expected: object) -> None:
    found = rebuild(given)
    if isinstance(expected, Opened):
        assert isinstance(found, Rebuilt), found
        shown = Opened(
            found.branch,
            found.base,
            tuple(said.source for said in found.because),
            found.trunk,
            found.predecessor.number if found.predecessor else None,
            found.pull,
        )
        assert shown == expected
    elif isinstance(expected, Blocked):
        assert isinstance(found, Uncertain), found
        assert found.gap is expected.gap
        assert all(words in found.reason for words in expected.words), found.reason
        assert found.remedy
    else:
        assert isinstance(expected, type)
        assert isinstance(found, expected), found


def test_the_table_is_long_enough() -> None:
    assert len(TABLE) >= 30


@pytest.mark.parametrize(("given", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_only_what_decides_is_compared_and_the_answer_comes_after_few_questions(given: Clues, expected: object) -> None:
    """From no comparison at all: each question asks for what is in the table's row, and three or four are enough."""
    known: dict[Pair, Compared | NoCommonHistory] = {}
    for _ in range(8):
        found = rebuild(Clues(**{**given.__dict__, "compared": known}))
        if not isinstance(found, ToCompare):
            break
        assert not set(found.pairs) & set(known)
        known |= {pair: given.compared[pair] for pair in found.pairs}
    assert found == rebuild(given)


@pytest.mark.parametrize(
    ("message", "named"),
    [
        ("Ripen\n\nTicket: #42\n", (42,)),
        ("Ripen\n\nMore.\n\nRecovery-Ticket: 42\nSigned-off-by: w <w@example.org>\n", (42,)),
        ("Ripen\n\nticket: #42\nTicket: #43\n", (42, 43)),
        ("Ripen\r\n\r\nTicket: #42\r\n", (42,)),
        ("Ticket: #42", ()),
        ("Ripen\n\nTicket: #42 was about this\n", ()),
        ("Ripen\n\nThis reverts\nTicket: #42\n", ()),
        ("Ripen\n\nTicket: #42\n\nand some words after it\n", ()),
        ("Ripen\n\nTicket: #042\n", ()),
        ("Ripen\n\nTicket: #99999999999\n", ()),
        ("Ripen\n\n> Ticket: #42\n", ()),
        ("", ()),
    ],
)
def test_only_trailers_name_a_ticket(message: str, named: tuple[int, ...]) -> None:
    assert tickets_named_by(message) == named


def test_a_long_message_is_read_in_no_time() -> None:
    assert tickets_named_by("a: " * 2_000_000 + "\n\nTicket: #42") == (42,)
