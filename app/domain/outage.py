"""When a wish to start an agent, or to give a ticket up, may be carried out: the rules of outages, for one repository.

Thirty holders that fell silent at once mostly say that the service was not there, and not that thirty agents died. So

1. nothing is carried out before a *reattach window* of two heartbeats is over, which opens when the service starts, or
   was not alive, or did not reach GitHub for longer than two heartbeats: who still lives shows it by then;
2. a wish *settles* for one heartbeat and some jitter, so that others like it are seen before the first is carried out;
3. more wishes than `mass_limit`, or than a fifth of the tickets in progress where that is more, counted together with
   those that passed within the last `lease.ttl`, are *held* until a person lets them go on or too few are left;
4. the rest starts agents under the caps, the most urgent first, then the one that waits longest.

What a person said about a single ticket passes 2 and 3 and counts for neither, but it waits for 1 and 4. Pure: where
wishes are kept, and how two processes are put in order, is not decided here. Clocks decide when something is tried,
never whether it is safe: that is the claim's compare-and-set.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from app.domain.lease import Dead, Liveness
from app.domain.model import instant_text
from app.domain.record import Record
from app.domain.ticket_id import by_number, ticket_id

GAP = timedelta(minutes=2)
"""Two heartbeats as they are by default. A shorter gap kills nobody, however short the policy's heartbeat: the shortest
lease and its grace are longer."""
BEATS = 2
JITTER = 0.5
"""Up to this part of a heartbeat is added to the time in which a wish settles."""
GRANTED_FOR = timedelta(minutes=2)
"""How long a place is kept for a wish that passed and whose commit nobody saw yet."""
HOUR = timedelta(hours=1)
IN_LINE_FOR = timedelta(hours=1)
"""A wish whose ticket nobody looked at for so long keeps no place in the line."""
FORGOTTEN_AFTER = timedelta(days=1)
LOOK_WHILE_HELD = timedelta(minutes=30)
LOOK_IN_LINE = timedelta(minutes=5)

Kind = Literal["dispatch", "abandon", "exhaust"]


@dataclass(frozen=True)
class Life:
    """The service's own life, over all its processes: when one of them last showed itself, when the latest reattach
    window opened, and since when GitHub does not answer.
    """

    alive_at: datetime
    opened_at: datetime
    failing_since: datetime | None = None


def lived(life: Life | None, *, now: datetime) -> Life:
    """After a sign of life. A gap, also one that a clock made by jumping, opens a window; so does a lost memory."""
    if life is None or abs(now - life.alive_at) > GAP:
        return Life(now, now)
    return replace(life, alive_at=max(now, life.alive_at))


def begun(life: Life | None, *, now: datetime) -> Life:
    """After the start of a process."""
    return replace(lived(life, now=now), opened_at=now)


def answered(life: Life, *, now: datetime) -> Life:
    """After an answer of GitHub's."""
    if life.failing_since is None:
        return life
    was_away = abs(now - life.failing_since) > GAP
    return replace(life, failing_since=None, opened_at=now if was_away else life.opened_at)


def unanswered(life: Life, *, now: datetime) -> Life:
    """After GitHub did not answer."""
    return life if life.failing_since is not None else replace(life, failing_since=now)


@dataclass(frozen=True)
class Wish:
    """What a ticket is to be carried out on. `subject` tells which one of its kind: another subject is another wish.
    `by_person`: a person said so about this very ticket since its last holder or agent began. The smaller `priority`
    goes first.
    """

    ticket: str
    kind: Kind
    subject: str
    title: str = ""
    priority: int = 0
    by_person: bool = False


@dataclass(frozen=True)
class Waiting:
    """A wish as it is kept. `released`: a person let it go on when it was held. `passed_at`: when it was let pass."""

    wish: Wish
    since: datetime
    due_at: datetime
    seen_at: datetime
    released: bool = False
    passed_at: datetime | None = None

    @property
    def may_pass_a_hold(self) -> bool:
        return self.released or self.wish.by_person


@dataclass(frozen=True)
class Started:
    """An agent that was started for a ticket. `attempt` is empty while only a place is kept for it."""

    ticket: str
    attempt: str
    at: datetime
    is_over: bool = False

    def counts(self, now: datetime) -> bool:
        """Whether it takes a place of `max_concurrent`."""
        return not self.is_over and (self.attempt != "" or now - self.at <= GRANTED_FOR)


@dataclass(frozen=True)
class Limits:
    """What the policy says, and how many tickets are in progress."""

    heartbeat: timedelta
    ttl: timedelta
    mass_limit: int
    max_concurrent: int
    max_per_hour: int
    in_progress: int = 0

    @property
    def mass(self) -> int:
        return max(self.mass_limit, self.in_progress // 5)


@dataclass(frozen=True)
class Passes:
    reason: str


@dataclass(frozen=True)
class Waits:
    """Not now. `held`: because of a hold. `until`: when to look again by itself."""

    reason: str
    until: datetime
    held: bool = False


Verdict = Passes | Waits


def window_until(life: Life, limits: Limits) -> datetime:
    """When the latest reattach window is over in a repository."""
    return life.opened_at + BEATS * limits.heartbeat


def registered(before: Waiting | None, wish: Wish, limits: Limits, *, now: datetime, jitter: float) -> Waiting:
    """The wish as it is kept from now on. `jitter`: from 0 to 1."""
    settled = now if wish.by_person else now + limits.heartbeat * (1 + JITTER * min(max(jitter, 0.0), 1.0))
    if before is None or (before.wish.kind, before.wish.subject) != (wish.kind, wish.subject):
        return Waiting(wish, since=now, due_at=settled, seen_at=now)
    # Never later than a new one would be: a clock that was ahead must not keep it waiting.
    return replace(
        before,
        wish=wish,
        seen_at=now,
        due_at=min(before.due_at, settled)
        if wish.by_person
        else min(before.due_at, now + limits.heartbeat * (1 + JITTER)),
    )


def stays(row: Waiting, limits: Limits, *, now: datetime) -> bool:
    """Whether a wish that its ticket does not have any more is still counted: it was let pass a while ago."""
    return row.passed_at is not None and row.passed_at > now - limits.ttl


def at_once(rows: Sequence[Waiting], limits: Limits, *, now: datetime) -> int:
    """How many tickets wish something at once: those that wait, and those that passed within the last `lease.ttl`."""
    counted = (row for row in rows if not row.may_pass_a_hold)
    return sum(row.passed_at is None or row.passed_at > now - limits.ttl for row in counted)


def holds(is_held: bool, rows: Sequence[Waiting], limits: Limits, life: Life, *, now: datetime) -> bool:
    """Whether there is a hold now. It neither begins nor ends while who lives may still show itself, and begins only
    when the first wish would be carried out.
    """
    if now < window_until(life, limits):
        return is_held
    too_many = at_once(rows, limits, now=now) > limits.mass
    return too_many and (is_held or any(row.due_at <= now and not row.may_pass_a_hold for row in rows))


def judged(
    mine: Waiting,
    rows: Sequence[Waiting],
    started: Sequence[Started],
    limits: Limits,
    life: Life,
    *,
    is_held: bool,
    now: datetime,
) -> Verdict:
    """Whether a wish may be carried out now. `rows`: all wishes of the repository, this one too."""
    opens = window_until(life, limits)
    if now < opens:
        return Waits(f"whoever is still at work can show itself until {instant_text(opens)}", opens)
    if now < mine.due_at:
        return Waits(f"it is looked at once more at {instant_text(mine.due_at)}", mine.due_at)
    if is_held and not mine.may_pass_a_hold:
        return Waits("too many tickets stopped at once: a person is asked", now + LOOK_WHILE_HELD, held=True)
    if mine.wish.kind != "dispatch":
        return Passes("it has settled")
    if any(s.ticket == mine.wish.ticket and s.attempt == "" and s.counts(now) for s in started):
        return Passes("a place is kept for it")
    room = places(started, limits, now=now)
    ahead = in_line(rows, started, is_held=is_held, now=now)
    if mine.wish.ticket in ahead[: max(room, 0)]:
        return Passes("it is its turn")
    return _in_line(started, limits, room, now)


def places(started: Sequence[Started], limits: Limits, *, now: datetime) -> int:
    """How many agents may be started now; below 0 where more are at work than the policy allows by now."""
    return min(
        limits.max_concurrent - sum(s.counts(now) for s in started),
        limits.max_per_hour - len(_lately(started, now)),
    )


def in_line(rows: Sequence[Waiting], started: Sequence[Started], *, is_held: bool, now: datetime) -> list[str]:
    """The tickets that wait for an agent and for nothing else, the first in line first."""
    granted = {s.ticket for s in started if s.attempt == "" and s.counts(now)}
    due = [
        row
        for row in rows
        if row.wish.kind == "dispatch"
        and row.due_at <= now
        and now - row.seen_at <= IN_LINE_FOR
        and row.wish.ticket not in granted
        and (row.may_pass_a_hold or not is_held)
        and not _was_carried_out(row, started)
    ]
    return [row.wish.ticket for row in sorted(due, key=turn)]


def turn(row: Waiting) -> tuple[int, datetime, tuple[int, str]]:
    """A key to sort by: the most urgent first, then the one that waits longest."""
    ticket = ticket_id(row.wish.ticket)
    return row.wish.priority, row.since, by_number(ticket) if ticket is not None else (0, row.wish.ticket)


def started_by(record: Record, holder: Liveness) -> Started | None:
    """The agent that a record says was started for its ticket; None where none was. It is over when it is not to be let
    in any more, or its lease is not the present one, or its holder is dead.
    """
    made = record.dispatched
    if made is None:
        return None
    lease = record.lease
    holds_it = lease is not None and lease.generation > made.generation and not isinstance(holder, Dead)
    is_open = made.state == "open" and made.generation == record.generation
    at_work = is_open or (made.state == "claimed" and holds_it)
    return Started(str(record.ticket_id), made.attempt, made.at, is_over=not at_work)


def noted(started: Sequence[Started], ticket: str, seen: Started | None, *, now: datetime) -> tuple[Started, ...]:
    """All agents that are known, after a look at one ticket's record. Another attempt of the same ticket is over, and
    the place that was kept is taken. What is over and older than an hour counts for nothing.
    """
    found = []
    for one in started:
        if one.ticket == ticket:
            if one.attempt == "" and (not one.counts(now) or (seen is not None and _is_of(seen, one))):
                continue
            if seen is not None and one.attempt == seen.attempt:
                continue
            one = replace(one, is_over=one.attempt != "")
        found.append(one)
    if seen is not None:
        found.append(seen)
    return tuple(s for s in found if not s.is_over or now - s.at <= HOUR)


def granted(started: Sequence[Started], wish: Wish, *, now: datetime) -> tuple[Started, ...]:
    """All agents that are known, with the place that is kept for a wish that passes."""
    if wish.kind != "dispatch" or any(s.ticket == wish.ticket and s.attempt == "" for s in started):
        return tuple(started)
    return (*started, Started(wish.ticket, "", now))


def _is_of(seen: Started, granted: Started) -> bool:
    # GitHub's seconds are whole: the commit may seem a moment older than the place that was kept for it.
    return seen.at >= granted.at - timedelta(seconds=2)


def _was_carried_out(row: Waiting, started: Sequence[Started]) -> bool:
    return row.passed_at is not None and any(
        s.ticket == row.wish.ticket and s.attempt != "" and s.at >= row.passed_at - timedelta(seconds=2)
        for s in started
    )


def _lately(started: Sequence[Started], now: datetime) -> list[Started]:
    return [s for s in started if now - s.at < HOUR and (s.attempt != "" or s.counts(now))]


def _in_line(started: Sequence[Started], limits: Limits, room: int, now: datetime) -> Waits:
    if room > 0:
        return Waits("others that are more urgent, or wait longer, go first", now + limits.heartbeat)
    lately = sorted(s.at for s in _lately(started, now))
    running = sum(s.counts(now) for s in started)
    if running >= limits.max_concurrent:
        reason = f"{running} started agents are at work (resume.max_concurrent: {limits.max_concurrent})"
        return Waits(reason, now + LOOK_IN_LINE)
    free_at = lately[-limits.max_per_hour] + HOUR
    reason = f"{len(lately)} agents were started within the last hour (resume.max_per_hour: {limits.max_per_hour})"
    return Waits(reason, free_at)
