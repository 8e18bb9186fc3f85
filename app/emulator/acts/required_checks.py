"""Required checks: what a commit's check-runs and statuses make of the contexts a branch requires.

Passing are success, neutral and skipped. Where check-runs and a status share a name all of them must pass. A check
with an expected App counts only when that App set it. The sentences are those live answers carried; states that a
plural sentence does not break down (in progress, queued) are left out of its list, as GitHub leaves them out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.emulator.state import CheckRun, CommitStatus, Repository

_PASSING = ("success", "neutral", "skipped")
_LISTED = ("expected", "pending", "failing")


@dataclass(frozen=True)
class Required:
    """A context and the App that must set it; None lets anybody."""

    context: str
    app_id: int | None = None


def check_sentence(repo: Repository, shas: Sequence[str], required: Iterable[Required]) -> str | None:
    """GitHub's sentence about required checks that did not pass, or None.

    ``shas`` are looked at in order; the first that has anything of a context's name decides about it (the test
    merge before the head).
    """
    wanted = list(dict.fromkeys(required))
    states = [(check, check_state(repo, shas, check)) for check in wanted]
    return sentence([(c.context, s) for c, s in states if s != "passing"], len(wanted))


def sentence(open_checks: Sequence[tuple[str, str]], total: int) -> str | None:
    """The one sentence about all required checks that are not passing."""
    if not open_checks:
        return None
    if len(open_checks) == 1:
        context, state = open_checks[0]
        if state == "wrong app":
            return f'Required status check "{context}" was not set by the expected GitHub app.'
        return f'Required status check "{context}" is {state}.'
    states = Counter("expected" if state == "wrong app" else state for _, state in open_checks)
    head = f"{len(open_checks)} of {total} required status checks"
    if len(states) == 1:
        return f"{head} are {next(iter(states))}."
    listed = [f"{states[name]} {name}" for name in _LISTED if states[name]]
    if not listed:
        return f"{head} have not succeeded."
    text = listed[0] if len(listed) == 1 else ", ".join(listed[:-1]) + f" and {listed[-1]}"
    return f"{head} have not succeeded: {text}."


def check_state(repo: Repository, shas: Sequence[str], check: Required) -> str:
    """``passing``, ``failing``, ``pending``, ``in progress``, ``queued``, ``expected`` or ``wrong app``."""
    for sha in shas:
        found = _results(repo, sha, check.context)
        if found:
            mine = [r for r in found if check.app_id is None or _app_id(repo, r) == check.app_id]
            return _worst([_state(r) for r in mine]) if mine else "wrong app"
    return "expected"


def is_required(required: Iterable[Required], context: str) -> bool:
    """Is a context of this name among the required?"""
    return any(check.context == context for check in required)


def latest_runs(repo: Repository, sha: str) -> list[CheckRun]:
    """The newest check-run of each name and suite on a commit."""
    newest: dict[tuple[int, str], CheckRun] = {}
    for suite in repo.suites:
        if suite.head_sha == sha:
            newest |= {(suite.id, run.name): run for run in suite.runs}
    return list(newest.values())


def latest_statuses(repo: Repository, sha: str) -> list[CommitStatus]:
    """The newest status of each context on a commit, newest first."""
    newest = {s.context: s for s in repo.statuses if s.sha == sha}
    return sorted(newest.values(), key=lambda s: -s.id)


def any_unsuccessful(repo: Repository, sha: str) -> bool:
    """Is any check-run or status of the commit, required or not, failing or unfinished?"""
    results: list[CheckRun | CommitStatus] = [*latest_runs(repo, sha), *latest_statuses(repo, sha)]
    return any(_state(r) != "passing" for r in results)


def _results(repo: Repository, sha: str, context: str) -> list[CheckRun | CommitStatus]:
    runs = [r for r in latest_runs(repo, sha) if r.name == context]
    return [*runs, *(s for s in latest_statuses(repo, sha) if s.context == context)]


def _app_id(repo: Repository, result: CheckRun | CommitStatus) -> int | None:
    if isinstance(result, CheckRun):
        return result.suite.app.id
    return result.app.id if result.app is not None else None


def _state(result: CheckRun | CommitStatus) -> str:
    if isinstance(result, CommitStatus):
        return {"success": "passing", "pending": "pending"}.get(result.state, "failing")
    if result.status != "completed":
        return {"in_progress": "in progress"}.get(result.status, result.status)
    return "passing" if result.conclusion in _PASSING else "failing"


def _worst(states: list[str]) -> str:
    order = ("failing", "pending", "in progress", "queued")
    return next((s for s in order if s in states), next((s for s in states if s != "passing"), "passing"))
