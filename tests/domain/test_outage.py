"""The rules of outages: the window, the time to settle, the hold of a mass, the caps and the order."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain import outage
from app.domain.dispatched import Dispatched
from app.domain.lease import Dead, Live, Nobody
from app.domain.outage import Life, Limits, Passes, Started, Waiting, Waits, Wish
from app.domain.record import Lease, Record

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
BEAT = timedelta(minutes=1)
SECOND = timedelta(seconds=1)
LIMITS = Limits(BEAT, timedelta(minutes=15), mass_limit=5, max_concurrent=3, max_per_hour=10)
LONG_AGO = NOW - timedelta(hours=9)
WELL = Life(NOW, LONG_AGO)


def waiting(ticket: int, kind: outage.Kind = "dispatch", **fields: object) -> Waiting:
    wish = Wish(
        str(ticket), kind, "1.1", priority=int(fields.pop("priority", 0)), by_person=bool(fields.pop("by", False))
    )  # type: ignore[call-overload]
    row = Waiting(wish, since=NOW - BEAT, due_at=NOW, seen_at=NOW)
    return replace(row, **fields)  # type: ignore[arg-type]


def agents(number: int, *, over: bool = False, ago: timedelta = BEAT) -> list[Started]:
    return [Started(str(900 + n), f"{n:016x}", NOW - ago, over) for n in range(number)]


# --- the service's life -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gap", "opens"),
    [
        (timedelta(seconds=10), False),
        (2 * BEAT, False),
        (2 * BEAT + SECOND, True),
        (timedelta(hours=5), True),
        (-timedelta(hours=5), True),
        (-timedelta(seconds=10), False),
    ],
    ids=["a tick", "just two heartbeats", "more", "hours", "a clock set back", "a clock corrected"],
)
def test_a_gap_of_life_opens_a_window(gap: timedelta, opens: bool) -> None:
    life = outage.lived(Life(NOW - gap, LONG_AGO), now=NOW)
    assert life.opened_at == (NOW if opens else LONG_AGO)


def test_a_lost_memory_and_a_start_open_a_window() -> None:
    assert outage.lived(None, now=NOW).opened_at == NOW
    assert outage.begun(WELL, now=NOW).opened_at == NOW
    assert outage.window_until(outage.begun(None, now=NOW), LIMITS) == NOW + 2 * BEAT


@pytest.mark.parametrize(("away", "opens"), [(BEAT, False), (2 * BEAT, False), (3 * BEAT, True)])
def test_github_away_opens_a_window_when_it_answers_again(away: timedelta, opens: bool) -> None:
    failing = outage.unanswered(outage.unanswered(WELL, now=NOW - away), now=NOW - SECOND)
    assert failing.failing_since == NOW - away
    again = outage.answered(failing, now=NOW)
    assert (again.failing_since, again.opened_at) == (None, NOW if opens else LONG_AGO)


# --- one wish ---------------------------------------------------------------------------------------------------------


def test_a_wish_settles_for_a_heartbeat_and_some_jitter() -> None:
    wish = waiting(1).wish
    assert outage.registered(None, wish, LIMITS, now=NOW, jitter=0.0).due_at == NOW + BEAT
    assert outage.registered(None, wish, LIMITS, now=NOW, jitter=1.0).due_at == NOW + BEAT * 1.5
    assert outage.registered(None, replace(wish, by_person=True), LIMITS, now=NOW, jitter=1.0).due_at == NOW


def test_seen_again_it_keeps_its_place_and_another_wish_begins_anew() -> None:
    before = waiting(1, due_at=NOW, since=NOW - BEAT, released=True)
    again = outage.registered(before, before.wish, LIMITS, now=NOW + BEAT, jitter=1.0)
    assert (again.since, again.due_at, again.released) == (before.since, NOW, True)
    other = outage.registered(before, replace(before.wish, kind="abandon"), LIMITS, now=NOW, jitter=0.0)
    assert (other.since, other.due_at, other.released) == (NOW, NOW + BEAT, False)


def test_a_clock_that_was_ahead_keeps_no_wish_waiting() -> None:
    before = waiting(1, due_at=NOW + timedelta(days=365))
    assert outage.registered(before, before.wish, LIMITS, now=NOW, jitter=0.0).due_at <= NOW + BEAT * 1.5


CASES: dict[str, tuple[Waiting, list[Started], Life, bool, str]] = {
    "it passes": (waiting(1), [], WELL, False, "its turn"),
    "in the window": (waiting(1), [], Life(NOW, NOW - BEAT), False, "can show itself"),
    "in the window, though a person named it": (waiting(1, by=True), [], Life(NOW, NOW - BEAT), False, "can show"),
    "not settled": (waiting(1, due_at=NOW + SECOND), [], WELL, False, "once more"),
    "held": (waiting(1), [], WELL, True, "a person is asked"),
    "held, but named by a person": (waiting(1, by=True), [], WELL, True, "its turn"),
    "held, but released": (waiting(1, released=True), [], WELL, True, "its turn"),
    "given up": (waiting(1, "abandon"), agents(9), WELL, False, "settled"),
    "given up, held": (waiting(1, "abandon"), [], WELL, True, "a person is asked"),
    "exhausted, held": (waiting(1, "exhaust"), [], WELL, True, "a person is asked"),
    "three at work": (waiting(1), agents(3), WELL, False, "max_concurrent: 3"),
    "three ended": (waiting(1), agents(3, over=True), WELL, False, "its turn"),
    "ten within the hour": (waiting(1), agents(10, over=True), WELL, False, "max_per_hour: 10"),
    "ten an hour ago": (waiting(1), agents(10, over=True, ago=timedelta(hours=1)), WELL, False, "its turn"),
    "more at work than the policy allows by now": (waiting(1), agents(7), WELL, False, "max_concurrent: 3"),
    "a place is kept": (waiting(1), [*agents(2), Started("1", "", NOW - BEAT)], WELL, False, "is kept"),
    "a place was kept too long": (waiting(1), [*agents(3), Started("1", "", NOW - 3 * BEAT)], WELL, False, "max_conc"),
    "a place of another": (waiting(1), [*agents(2), Started("2", "", NOW - BEAT)], WELL, False, "max_concurrent"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_one_wish(case: tuple[Waiting, list[Started], Life, bool, str]) -> None:
    mine, started, life, is_held, says = case
    verdict = outage.judged(mine, [mine], started, LIMITS, life, is_held=is_held, now=NOW)
    assert says in verdict.reason
    assert isinstance(verdict, Waits) or verdict == Passes(verdict.reason)
    assert not isinstance(verdict, Waits) or verdict.until > NOW


def test_the_hourly_cap_says_when_there_is_room() -> None:
    started = [Started(str(n), f"{n:016x}", NOW - n * BEAT, True) for n in range(1, 13)]
    verdict = outage.judged(waiting(99), [waiting(99)], started, LIMITS, WELL, is_held=False, now=NOW)
    # The tenth of the newest leaves the hour: then nine are left.
    assert isinstance(verdict, Waits)
    assert verdict.until == NOW - 10 * BEAT + timedelta(hours=1)


# --- a mass -----------------------------------------------------------------------------------------------------------


def mass(number: int, **fields: object) -> list[Waiting]:
    return [waiting(n, **fields) for n in range(1, number + 1)]


HOLDS: dict[str, tuple[bool, list[Waiting], Limits, Life, bool]] = {
    "five are no mass": (False, mass(5), LIMITS, WELL, False),
    "six are": (False, mass(6), LIMITS, WELL, True),
    "nothing is due yet": (False, mass(6, due_at=NOW + BEAT), LIMITS, WELL, False),
    "who lives may still show it": (False, mass(6), LIMITS, Life(NOW, NOW), False),
    "a hold does not end in a window": (True, mass(1), LIMITS, Life(NOW, NOW), True),
    "few are left": (True, mass(5), LIMITS, WELL, False),
    "a hold goes on": (True, mass(6, due_at=NOW + BEAT), LIMITS, WELL, True),
    "released ones do not count": (False, [*mass(5), *mass(30, released=True)], LIMITS, WELL, False),
    "named ones do not count": (False, [*mass(5), *mass(30, by=True)], LIMITS, WELL, False),
    "lately carried out ones do": (False, [*mass(3), *mass(3, passed_at=NOW - 14 * BEAT)], LIMITS, WELL, True),
    "older ones do not": (False, [*mass(3), *mass(3, passed_at=NOW - 16 * BEAT)], LIMITS, WELL, False),
    "a fifth of many is more": (False, mass(20), replace(LIMITS, in_progress=100), WELL, False),
    "and one above": (False, mass(21), replace(LIMITS, in_progress=100), WELL, True),
}


@pytest.mark.parametrize("case", HOLDS.values(), ids=HOLDS.keys())
def test_when_a_mass_is_held(case: tuple[bool, list[Waiting], Limits, Life, bool]) -> None:
    before, rows, limits, life, expected = case
    assert outage.holds(before, rows, limits, life, now=NOW) is expected


# --- the line ---------------------------------------------------------------------------------------------------------


def test_the_most_urgent_goes_first_and_then_who_waits_longest() -> None:
    rows = [
        waiting(1, priority=2),
        waiting(2, priority=0),
        waiting(3, priority=2, since=NOW - timedelta(hours=1)),
        waiting(4, priority=0),
        waiting(5, "abandon"),
        waiting(6, due_at=NOW + SECOND),
        waiting(7, seen_at=NOW - timedelta(hours=2)),
        waiting(8, passed_at=NOW - BEAT),
    ]
    started = [Started("8", "a" * 16, NOW - BEAT)]
    assert outage.in_line(rows, started, is_held=False, now=NOW) == ["2", "4", "3", "1"]
    assert outage.in_line([*rows[:2], waiting(3, by=True)], [], is_held=True, now=NOW) == ["3"]


# --- what records tell ------------------------------------------------------------------------------------------------


def record(state: str, *, generation: int = 1, lease: int | None = None) -> Record:
    made = Dispatched(attempt="a" * 16, start="workflow_dispatch", generation=1, at=NOW, state=state)  # type: ignore[arg-type]
    held = (
        Lease(generation=lease, nonce="n", holder="h", login="l", claim_id_hash="c", granted_at=NOW, expires_at=NOW)
        if lease is not None
        else None
    )
    return Record(ticket=7, sequence=1, status="working", lease=held, generation=generation, dispatched=made)


@pytest.mark.parametrize(
    ("seen", "holder", "at_work"),
    [
        (record("open"), Nobody(""), True),
        (record("open", generation=2), Nobody(""), False),
        (record("claimed", generation=2, lease=2), Live(NOW), True),
        (record("claimed", generation=2, lease=2), Dead("", None), False),
        (record("claimed", generation=2), Nobody(""), False),
        (record("over"), Nobody(""), False),
        (record("burned"), Nobody(""), False),
    ],
    ids=["open", "somebody else claimed", "its holder works", "its holder died", "handed off", "over", "burned"],
)
def test_an_agent_takes_a_place_until_it_is_over(seen: Record, holder: outage.Liveness, at_work: bool) -> None:
    found = outage.started_by(seen, holder)
    assert found == Started("7", "a" * 16, NOW, is_over=not at_work)
    assert outage.started_by(seen.model_copy(update={"dispatched": None}), holder) is None


def test_the_commit_takes_the_place_that_was_kept() -> None:
    kept, older = Started("7", "", NOW), Started("7", "b" * 16, NOW - BEAT)
    seen = Started("7", "a" * 16, NOW)
    assert outage.noted([kept, older], "7", seen, now=NOW) == (replace(older, is_over=True), seen)
    assert outage.noted([kept], "7", None, now=NOW) == (kept,)
    assert outage.noted([kept], "7", replace(older, is_over=True), now=NOW) == (kept, replace(older, is_over=True))
    assert outage.noted([kept], "7", None, now=NOW + 3 * BEAT) == ()
    assert outage.noted([older, kept], "8", None, now=NOW) == (older, kept)


# --- whatever happens -------------------------------------------------------------------------------------------------

STEPS = st.lists(
    st.tuples(
        st.integers(1, 12),
        st.sampled_from(["look", "person", "over", "gone", "time", "away", "release"]),
        st.integers(1, 20),
    ),
    max_size=120,
)


@given(STEPS, st.integers(1, 3), st.integers(1, 4), st.integers(1, 6))
def test_no_cap_is_exceeded_and_no_mass_passes(
    steps: list[tuple[int, str, int]], concurrent: int, hourly: int, most: int
) -> None:
    limits = replace(LIMITS, max_concurrent=concurrent, max_per_hour=hourly, mass_limit=most)
    rows: dict[str, Waiting] = {}
    started: tuple[Started, ...] = ()
    life, now, is_held, attempts = outage.begun(None, now=NOW), NOW, False, 0
    begun: list[datetime] = []
    passed: dict[str, datetime] = {}
    for number, step, minutes in steps:
        ticket = str(number)
        if step == "time":
            for _ in range(minutes):
                now += BEAT
                life = outage.lived(life, now=now)
        elif step == "away":
            now += minutes * 3 * BEAT
        elif step == "over":
            started = tuple(replace(s, is_over=s.is_over or s.ticket == ticket) for s in started)
        elif step == "gone":
            if ticket in rows and not outage.stays(rows[ticket], limits, now=now):
                rows.pop(ticket)
        elif step == "release":
            rows = {t: replace(row, released=row.passed_at is None) for t, row in rows.items()}
            is_held = False
            passed = {t: moment for t, moment in passed.items() if not (t in rows and rows[t].released)}
        else:
            life = outage.lived(life, now=now)
            wish = Wish(ticket, "dispatch", str(attempts), by_person=step == "person")
            known = rows.get(ticket)
            if known is not None and known.passed_at is None:
                wish = replace(wish, subject=known.wish.subject)
            mine = rows[ticket] = outage.registered(known, wish, limits, now=now, jitter=0.5)
            if mine.may_pass_a_hold:
                passed.pop(ticket, None)
            is_held = outage.holds(is_held, list(rows.values()), limits, life, now=now)
            verdict = outage.judged(mine, list(rows.values()), started, limits, life, is_held=is_held, now=now)
            if isinstance(verdict, Passes):
                assert now >= outage.window_until(life, limits)
                rows[ticket] = replace(mine, passed_at=now)
                begun.append(now)
                passed |= {} if mine.may_pass_a_hold else {ticket: now}
                attempts += 1
                started = outage.noted(
                    outage.granted(started, wish, now=now), ticket, Started(ticket, f"{attempts:016x}", now), now=now
                )
            else:
                assert verdict.until > now
        assert sum(s.counts(now) for s in started) <= concurrent
        assert sum(now - moment < outage.HOUR for moment in begun) <= hourly
        # Nobody named these: more of them than the limit never go on within one term of a lease.
        assert sum(now - moment < limits.ttl for moment in passed.values()) <= limits.mass
