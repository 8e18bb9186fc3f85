"""Whether the checks on one head pass: what is required, by whom, and what was reported for exactly this SHA.

Success, neutral and skipped pass. What is absent or unfinished is pending, and so is an empty set: nothing red is not
green while nothing has run. Every other word, known or new, does not pass. A check-run and a commit status of one name
are two sources and both have to pass; so do two suites. Within one suite the latest run replaces those before it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

PASSES = frozenset({"success", "neutral", "skipped"})


class Outcome(StrEnum):
    """Of one check or of all."""

    PASS = "pass"
    PENDING = "pending"
    FAIL = "fail"


@dataclass(frozen=True)
class Required:
    """A check that has to pass. `app_id`: only a check-run of this App counts."""

    name: str
    app_id: int | None = None


@dataclass(frozen=True)
class RunSeen:
    """A check-run of the head. `suite` and `id` tell a repeated run from another source."""

    name: str
    status: str
    conclusion: str | None
    app_id: int | None = None
    suite: int | None = None
    id: int = 0
    started_at: str = ""


@dataclass(frozen=True)
class StatusSeen:
    """A commit status of the head, the latest of its context."""

    context: str
    state: str


@dataclass(frozen=True)
class Checks:
    """What was reported for one SHA. `head_after`: the branch's head, read again after the reports."""

    sha: str
    head_after: str
    runs: tuple[RunSeen, ...] = ()
    statuses: tuple[StatusSeen, ...] = ()


@dataclass(frozen=True)
class Moved:
    """The head moved while its checks were read: what was read counts for nothing, read again."""

    head: str


@dataclass(frozen=True)
class Judged:
    """The verdict and, for a person, the checks it rests on by outcome."""

    outcome: Outcome
    waiting: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()


def judge(required: Sequence[Required], checks: Checks) -> Judged | Moved:
    """Whether the head may count as green. With nothing required everything that was reported has to pass."""
    if checks.sha != checks.head_after:
        return Moved(checks.head_after)
    wanted = required or tuple(Required(name) for name in dict.fromkeys(_names(checks)))
    if not wanted:
        return Judged(Outcome.PENDING)
    found = {one: _outcome(one, checks) for one in wanted}
    waiting = tuple(one.name for one, outcome in found.items() if outcome is Outcome.PENDING)
    failing = tuple(one.name for one, outcome in found.items() if outcome is Outcome.FAIL)
    outcome = Outcome.FAIL if failing else Outcome.PENDING if waiting else Outcome.PASS
    return Judged(outcome, waiting, failing)


def _names(checks: Checks) -> Iterable[str]:
    yield from (run.name for run in checks.runs)
    yield from (status.context for status in checks.statuses)


def _outcome(one: Required, checks: Checks) -> Outcome:
    runs = [r for r in checks.runs if r.name == one.name and one.app_id in (None, r.app_id)]
    outcomes = [_of_run(run) for run in _latest_of_each_source(runs)]
    if one.app_id is None:
        outcomes += [_of_status(s) for s in checks.statuses if s.context == one.name]
    if Outcome.FAIL in outcomes:
        return Outcome.FAIL
    return Outcome.PENDING if not outcomes or Outcome.PENDING in outcomes else Outcome.PASS


def _latest_of_each_source(runs: Iterable[RunSeen]) -> list[RunSeen]:
    latest: dict[tuple[int | None, str, int], RunSeen] = {}
    for run in sorted(runs, key=lambda r: (r.started_at, r.id)):
        # A run that names no suite replaces none.
        source = ("run", run.id) if run.suite is None else ("suite", run.suite)
        latest[(run.app_id, *source)] = run
    return list(latest.values())


def _of_run(run: RunSeen) -> Outcome:
    if run.status != "completed":
        return Outcome.PENDING
    return Outcome.PASS if run.conclusion in PASSES else Outcome.FAIL


def _of_status(status: StatusSeen) -> Outcome:
    return {"success": Outcome.PASS, "pending": Outcome.PENDING}.get(status.state, Outcome.FAIL)
