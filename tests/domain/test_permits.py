"""The ownership protocol, R4 and R6: who may take over an open permit, when, and what that leaves in the record."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain import permits
from app.domain.permits import Adoptable, NoneOpen, NotDue
from app.domain.record import Permit, Record, Round, Target

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def _permit(id_: str = "p1", marker: str = "m", **fields: object) -> Permit:
    return Permit.model_validate(
        {
            "id": id_,
            "kind": "comment_create",
            "target": Target(marker=marker),
            "author": "dead",
            "round": "r",
            **fields,
        }
    )


def _record(*open_: Permit, tries: int = 0, at: datetime = NOW, has_round: bool = True) -> Record:
    round_ = Round(id="r", author="dead", tries=tries, ttl_s=60, opened_at=at) if has_round else None
    return Record(ticket=42, sequence=5, status="working", round=round_, open=open_)


def _standing(record: Record, now: datetime, *dead: str) -> Adoptable | NotDue | NoneOpen:
    return permits.standing(record, author_is_dead=lambda author: author in dead, now=now)


@pytest.mark.parametrize(("tries", "minutes"), [(0, 1), (1, 2), (2, 4), (3, 8), (10, 1024), (11, 1024), (999, 1024)])
def test_the_time_of_a_permit_doubles_with_every_adoption(tries: int, minutes: int) -> None:
    record, due = _record(_permit(), tries=tries), NOW + timedelta(minutes=minutes)
    assert _standing(record, NOW) == NotDue(due)
    assert _standing(record, due) == NotDue(due)
    assert _standing(record, due + SECOND) == Adoptable((_permit(),))


@pytest.mark.parametrize(
    ("authors", "dead", "adoptable"),
    [
        (("dead",), ("dead",), True),
        (("dead",), (), False),
        (("dead", "alive"), ("dead",), False),
        (("dead", "gone"), ("dead", "gone"), True),
    ],
)
def test_only_when_every_author_is_known_dead_is_a_round_adopted_early(
    authors: tuple[str, ...], dead: tuple[str, ...], adoptable: bool
) -> None:
    record = _record(*(_permit(author, author=author) for author in authors))
    assert isinstance(_standing(record, NOW, *dead), Adoptable) is adoptable


def test_a_dispatch_of_a_dead_author_is_looked_for_once_its_run_can_be_listed() -> None:
    started = _permit(kind="dispatch", target=Target(marker="workflow_dispatch", generation=3))
    record = _record(started)
    assert _standing(record, NOW, "dead") == NotDue(NOW + timedelta(seconds=60))
    assert _standing(record, NOW + timedelta(seconds=61), "dead") == Adoptable((started,))


def test_a_round_that_is_missing_makes_its_permits_due_at_once() -> None:
    assert _standing(_record(_permit(), has_round=False), NOW) == Adoptable((_permit(),))


def test_a_refused_permit_holds_nobody_up() -> None:
    assert _standing(_record(), NOW) == NoneOpen()
    assert _standing(_record(_permit(state="blocked")), NOW) == NoneOpen()
    mixed = _record(_permit(), _permit("p2", "n", state="blocked"))
    assert _standing(mixed, NOW, "dead") == Adoptable((_permit(),))


def test_an_adopted_permit_is_unanswered_from_then_on() -> None:
    blocked = _permit("p2", "n", state="blocked")
    record = _record(_permit(), blocked, tries=2)
    after = permits.adopted(record, (_permit(),), author="me", now=NOW + SECOND)
    assert after.round == Round(id="r", author="me", tries=3, ttl_s=permits.TTL_S, opened_at=NOW + SECOND)
    assert after.open == (_permit(author="me", unanswered=True), blocked)


def test_what_is_open_already_is_carried_when_a_round_opens() -> None:
    record = _record(_permit())
    assert permits.opened(record, (), round_id="r2", author="me", now=NOW) == record
    new = _permit("p2", "n", author="me", round="r2")
    after = permits.opened(record, (new,), round_id="r2", author="me", now=NOW)
    assert after.open == (_permit(), new)
    assert after.round == Round(id="r2", author="me", tries=0, ttl_s=permits.TTL_S, opened_at=NOW)


@pytest.mark.parametrize(("marker", "refusals"), [("m", 3), ("another", 0)])
def test_refusals_are_counted_on_for_the_very_same_write_only(marker: str, refusals: int) -> None:
    record = _record(_permit(state="blocked", refusals=2, refused_at=NOW))
    after = permits.opened(record, (_permit("p2", marker),), round_id="r2", author="me", now=NOW)
    assert [(p.id, p.refusals, p.state) for p in after.open] == [("p2", refusals, "fired")]


@pytest.mark.parametrize(
    ("refusals", "wait"),
    [
        (0, timedelta(minutes=2)),
        (1, timedelta(minutes=8)),
        (2, timedelta(minutes=32)),
        (5, timedelta(hours=24)),
        (9999, timedelta(hours=24)),
    ],
)
def test_a_refused_write_is_tried_ever_more_rarely(refusals: int, wait: timedelta) -> None:
    permit = _permit(state="blocked", refused_at=NOW, refusals=refusals)
    assert permits.retry_at(permit) == NOW + wait


@given(st.integers(0, 12), st.integers(-86_400, 86_400))
def test_an_adopter_never_adopts_its_own_round_right_again(tries: int, seconds: int) -> None:
    """Two that see the same record cannot play ping-pong: after an adoption there is always a wait."""
    now = NOW + timedelta(seconds=seconds)
    after = permits.adopted(_record(_permit(), tries=tries), (_permit(),), author="me", now=now)
    answer = _standing(after, now)
    assert isinstance(answer, NotDue)
    assert answer.until >= now + timedelta(seconds=120)


def test_a_refused_merge_waits_half_an_hour_at_most() -> None:
    permit = _permit(state="blocked", refused_at=NOW, refusals=9).model_copy(update={"kind": "merge"})
    assert permits.retry_at(permit) == NOW + timedelta(minutes=30)
