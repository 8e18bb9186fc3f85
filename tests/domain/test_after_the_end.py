"""Which PR is one that the App asked for while the ticket lived, and that only came after its end."""

import pytest

from app.domain.after_the_end import LatePull, awaited_pulls, late_pull
from app.domain.observation import Pull
from app.domain.pull_text import pull_body
from app.domain.record import Permit, Projections, Record, Target

PERMIT = Permit(id="p", kind="pr_create", target=Target(head="ticket/7", base="release-1"), author="a", round="r")
COMMENT = PERMIT.model_copy(update={"id": "c", "kind": "comment_create"})
REFUSED = PERMIT.model_copy(update={"id": "b", "state": "blocked", "unanswered": True})


def _record(**fields: object) -> Record:
    return Record.model_validate({"ticket": 7, "sequence": 9, "status": "cancelled", "generation": 1, **fields})


def _pull(number: int = 50, state: str = "OPEN", body: str | None = None) -> Pull:
    words = pull_body(7) if body is None else body
    return Pull(number, f"PR_{number}", state, True, "t", words, "ticket/7", "a" * 40, "release-1", "acme/shop")


@pytest.mark.parametrize("status", ["landed", "cancelled", "abandoned"])
def test_an_ended_ticket_awaits_the_prs_it_asked_for(status: str) -> None:
    record = _record(status=status, open=(PERMIT, COMMENT, REFUSED))
    assert awaited_pulls(record) == (PERMIT, REFUSED)


def test_a_living_ticket_awaits_none_here() -> None:
    assert awaited_pulls(_record(status="working", open=(PERMIT,))) == ()


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([], None),
        ([_pull()], LatePull(PERMIT, 50, to_close=True)),
        ([_pull(state="CLOSED")], LatePull(PERMIT, 50, to_close=False)),
        ([_pull(state="MERGED")], LatePull(PERMIT, 50, to_close=False)),
        ([_pull(body="Ticket: #7\r\n")], LatePull(PERMIT, 50, to_close=True)),
        ([_pull(body="Ticket: #7\n\nI open this by hand, please keep it.")], None),
        ([_pull(40)], None),
        ([_pull(), _pull(40)], LatePull(PERMIT, 50, to_close=True)),
    ],
    ids=["nothing", "open", "closed already", "merged", "web line ends", "a person's", "known", "newest of two"],
)
def test_the_late_pr_is_the_apps_own_and_new(found: list[Pull], expected: LatePull | None) -> None:
    record = _record(open=(PERMIT,), projections=Projections(pr_number=40).model_dump())
    assert late_pull(record, PERMIT, found) == expected
