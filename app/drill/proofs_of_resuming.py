"""Proofs of automatic resumption: who was started, when, how often, and what a person was told instead.

As all proofs they read GitHub alone: the ledgers by git, the workflow runs and comments by REST.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from github.IssueComment import IssueComment
from github.WorkflowRun import WorkflowRun

from app.drill.git_reader import LedgerCommit
from app.drill.observer import Observer
from app.drill.proof import NotProved, Proved, Unproved
from app.drill.proofs_of_work import Place, looks, no_step_redone, ready, require

WAY_ON = "/recovery recover"


def runs_of(observer: Observer, ticket: int) -> list[WorkflowRun]:
    """The workflow runs that were started for a ticket, oldest first: their names say for which."""
    wanted = f"Ticket {ticket}, "
    return sorted(
        (run for run in observer.repository.get_workflow_runs() if run.display_title.startswith(wanted)),
        key=lambda run: run.id,
    )


@looks
def crashed(observer: Observer, place: Place, *, exit_code: int, generation: int) -> Proved:
    """An agent died by SIGKILL while it held the ticket, and had published a part of the work."""
    require(exit_code == -9, f"the agent's exit code is {exit_code}, not that of SIGKILL")
    newest = observer.ledger(place.ticket)[0]
    lease = newest.record["lease"]
    require(lease and newest.generation == generation, f"generation {generation} does not hold #{place.ticket}")
    head = observer.branch(place.branch)
    require(newest.counts and newest.published["sha"] == head, "the ledger does not call the branch's head published")
    return Proved(
        f"the agent of generation {generation} died by SIGKILL with {head[:12]} published",
        {"exit_code": exit_code, "head": head, "ledger_commit": newest.sha, "expires_at": lease["expires_at"]},
    )


@looks
def nothing_started(observer: Observer, place: Place, *, after: datetime) -> Proved:
    """The lease is over, and nobody was started: a service that was away does not decide at once."""
    newest = observer.ledger(place.ticket)[0]
    lease = newest.record["lease"]
    require(lease is not None, "nobody holds a lease that could be over")
    require(_moment(lease["expires_at"]) < after, "the lease is not over yet")
    runs = runs_of(observer, place.ticket)
    require(not runs, f"{len(runs)} run(s) were started already")
    return Proved(
        f"the lease of generation {newest.generation} is over and nothing was started yet",
        {"expired_at": lease["expires_at"], "looked_at": after.isoformat(), "ledger_commit": newest.sha},
    )


@looks
def dispatched(observer: Observer, place: Place, *, runs: int, attempts: int) -> Proved:
    """One run was started by the App for this attempt; the ledger had it and counted it before GitHub was asked."""
    found = runs_of(observer, place.ticket)
    require(len(found) == runs, f"{len(found)} runs were started for #{place.ticket}, not {runs}")
    run = found[-1]
    require(run.event == "workflow_dispatch", f"run {run.id} is of a {run.event}")
    require(run.actor.login == place.app.login, f"run {run.id} was started by {run.actor.login}, not by the App")
    opened = _opening(observer.ledger_anywhere(place.ticket), run)
    attempt = opened.record["dispatched"]["attempt"]
    counted = opened.record["attempts"]["count"]
    require(counted == attempts, f"the commit that opened it counts {counted} attempts, not {attempts}")
    permits = [permit for permit in opened.record["open"] if permit["id"] == attempt]
    require(permits and permits[0]["kind"] == "dispatch", "the commit that opened it holds no permit of that attempt")
    created = run.created_at.astimezone(UTC)
    require(_moment(opened.commit.at) <= created, "GitHub was asked before the ledger had counted the attempt")
    named = [other.id for other in found if attempt in other.display_title]
    require(named == [run.id], f"attempt {attempt} is in the names of {len(named)} runs")
    return Proved(
        f"run {run.id} was started by the App as attempt {counted}, counted in the ledger before that",
        {
            "run": run.id,
            "url": run.html_url,
            "attempt": attempt,
            "ledger_commit": opened.sha,
            "attempts": counted,
            "created_at": created.isoformat(),
        },
    )


@looks
def claimed_by_run(observer: Observer, place: Place, *, generation: int, attempts: int) -> Proved:
    """The run claimed: its lease names it, the attempt is counted once, and generation is one more than before."""
    run = _last(runs_of(observer, place.ticket))
    entries = observer.ledger_anywhere(place.ticket)
    claim = next((e for e in reversed(entries) if e.record.get("lease") and e.generation == generation), None)
    if claim is None:
        raise Unproved(f"no lease of generation {generation}")
    lease = claim.record["lease"]
    require(lease.get("run"), "the lease names no workflow run")
    require(lease["run"]["id"] == run.id, f"the lease is of run {lease['run']['id']}, not of {run.id}")
    counted = claim.record["attempts"]["count"]
    require(counted == attempts, f"the claim's commit counts {counted} attempts, not {attempts}")
    return Proved(
        f"run {run.id} holds generation {generation}; GitHub vouched for it, its attempt is counted once",
        {
            "run": run.id,
            "generation": generation,
            "nonce": lease["nonce"],
            "login": lease["login"],
            "attempts": counted,
        },
    )


@looks
def finished_by_run(
    observer: Observer, place: Place, *, generation: int, steps: Sequence[str], done_before: Sequence[str]
) -> Proved:
    """The run brought the ticket to its end: it is ready, no step was done twice, and the run succeeded."""
    run = _last(runs_of(observer, place.ticket))
    seen = ready(observer, place, generation=generation, steps=steps)
    if isinstance(seen, NotProved):
        raise Unproved(seen.why)
    once = no_step_redone(observer, place, steps=steps, done_before=done_before)
    if isinstance(once, NotProved):
        raise Unproved(once.why)
    require(run.status == "completed", f"run {run.id} is {run.status}")
    require(run.conclusion == "success", f"run {run.id} ended as {run.conclusion}")
    return Proved(f"{seen.line}; {once.line}; run {run.id} succeeded", {"run": run.id, **seen.evidence})


@looks
def without_credential(observer: Observer, place: Place, *, asked: Sequence[str]) -> Proved:
    """What GitHub served under the token of Actions while the run worked: nothing. The lease was enough."""
    run = _last(runs_of(observer, place.ticket))
    require(run.status == "completed", f"run {run.id} is {run.status}")
    require(not asked, f"requests under the token of Actions: {', '.join(asked[:3])}")
    return Proved(f"run {run.id} used no credential of GitHub's", {"run": run.id, "requests": list(asked)})


@looks
def abandoned(observer: Observer, place: Place, *, person: str, runs: int) -> Proved:
    """The ticket ended because it was too old: its ledger is among the ended ones, nothing was started, one comment
    tells a person how it goes on, and the check is not green.
    """
    refs = observer.ledger_refs(place.ticket)
    require(list(refs) == [f"refs/agent-recovery/done/{place.ticket}"], f"its ledgers are {sorted(refs)}")
    newest = observer.ledger_anywhere(place.ticket)[0]
    record = newest.record
    require(record["status"] == "abandoned", f"the ledger says {record['status']}, not abandoned")
    require(record["ended"]["because"] == "too_old", f"it ended because {record['ended']['because']}")
    require(record["lease"] is None, "somebody still has a lease")
    events = [
        e.sha for e in observer.ledger_anywhere(place.ticket) if " · abandoned: " in e.commit.message.splitlines()[0]
    ]
    require(events, "no ledger commit tells it as its event")
    started = runs_of(observer, place.ticket)
    require(len(started) == runs, f"{len(started)} runs were started for it, not {runs}")
    told = _only_report(observer, place, person)
    check = _check(observer, place)
    return Proved(
        f"#{place.ticket} is abandoned, not run; one comment tells @{person} how it goes on",
        {"ledger_commit": newest.sha, "events": events, "comment": told.html_url, "check": check},
    )


@dataclass(frozen=True)
class Word:
    """What a person said, and where."""

    number: int
    comment: int
    login: str


@looks
def recovered_by_word(observer: Observer, place: Place, word: Word, *, before: int) -> Proved:
    """After a person's word the ledger is in progress again, one generation on, and starts counting anew."""
    require(place.ticket in _active(observer), f"#{place.ticket} is not in progress")
    entries = observer.ledger(place.ticket)
    back = next((e for e in reversed(entries) if e.generation == before + 1), None)
    if back is None:
        raise Unproved(f"the ledger is at generation {entries[0].generation}, not past {before}")
    intents = [e.record["intent"] for e in entries if e.record.get("intent")]
    require(intents and intents[0]["by"] == word.login, f"no intent of {word.login} stands in the ledger")
    comments = observer.comments(word.number, place.app)
    answers = [c for c in comments if c.body.startswith(f"<!-- agent-recovery:answer {word.comment} ")]
    require(len(answers) == 1, f"{len(answers)} answers to {word.login}'s comment, not one")
    return Proved(
        f"{word.login} said {WAY_ON}: #{place.ticket} is in progress again, in generation {before + 1}",
        {"ledger_commit": back.sha, "intent": intents[0], "answer": answers[0].html_url},
    )


@looks
def exhausted(observer: Observer, place: Place, *, person: str, attempts: int, runs: int) -> Proved:
    """The attempts are used up: the ticket stays in progress, one comment tells a person, nothing more is started."""
    require(
        list(observer.ledger_refs(place.ticket)) == [f"refs/agent-recovery/active/{place.ticket}"], "not in progress"
    )
    newest = observer.ledger(place.ticket)[0]
    record = newest.record
    require(record["status"] == "exhausted", f"the ledger says {record['status']}, not exhausted")
    counted = record["attempts"]["count"]
    require(counted == attempts, f"{counted} attempts are counted, not {attempts}")
    started = runs_of(observer, place.ticket)
    require(len(started) == runs, f"{len(started)} runs were started for it, not {runs}")
    told = _only_report(observer, place, person)
    return Proved(
        f"#{place.ticket} is exhausted after {counted} attempts; one comment tells @{person}",
        {"ledger_commit": newest.sha, "attempts": counted, "runs": [r.id for r in started], "comment": told.html_url},
    )


@looks
def still_the_same(observer: Observer, place: Place, *, before: dict[str, Any], since: datetime) -> Proved:
    """Hours later nothing more was started and nothing more was said."""
    now = standing(observer, place)
    require(now == before, f"it changed: {now} instead of {before}")
    return Proved(f"hours later #{place.ticket} is as it was", {"since": since.isoformat(), **now})


def standing(observer: Observer, place: Place) -> dict[str, Any]:
    """What may not change while a ticket waits for a person."""
    newest = observer.ledger_anywhere(place.ticket)[0]
    return {
        "status": newest.record["status"],
        "generation": newest.generation,
        "attempts": newest.record["attempts"]["count"],
        "runs": [run.id for run in runs_of(observer, place.ticket)],
        "comments": [c.id for n in _places(observer, place) for c in observer.comments(n, place.app)],
    }


def _opening(entries: Sequence[LedgerCommit], run: WorkflowRun) -> LedgerCommit:
    """The first ledger commit with the attempt that is in the run's name. Raises `Unproved`."""
    for entry in reversed(entries):
        known = entry.record.get("dispatched")
        if known and known["attempt"] in run.display_title:
            return entry
    raise Unproved(f"the ledger knows no attempt that is in the name of run {run.id}: {run.display_title!r}")


def _last(runs: Sequence[WorkflowRun]) -> WorkflowRun:
    if not runs:
        raise Unproved("no run was started")
    return runs[-1]


def _only_report(observer: Observer, place: Place, person: str) -> IssueComment:
    """The one comment that mentions the person and says how it goes on. Raises `Unproved`."""
    told = [
        comment
        for number in _places(observer, place)
        for comment in observer.comments(number, place.app)
        if f"@{person}" in comment.body and WAY_ON in comment.body
    ]
    require(len(told) == 1, f"{len(told)} comments tell @{person} of {WAY_ON}, not one")
    return told[0]


def _check(observer: Observer, place: Place) -> str:
    """The newest check-run of the branch's head, which must not be green. Raises `Unproved`."""
    head = observer.branch(place.branch)
    runs = observer.check_runs(head, place.app)
    require(runs, f"no check-run on {head[:12]}")
    newest = max(runs, key=lambda run: run.id)
    require(newest.conclusion != "success", "the check of an abandoned ticket is green")
    return f"{newest.html_url} {newest.conclusion or newest.status}"


def _places(observer: Observer, place: Place) -> list[int]:
    return [place.ticket, *(pull.number for pull in observer.pulls(place.branch))]


def _active(observer: Observer) -> list[int]:
    found = observer.repository.get_git_matching_refs("agent-recovery/active/")
    return [int(name) for ref in found if (name := ref.ref.rpartition("/")[2]).isdigit()]


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(UTC)
