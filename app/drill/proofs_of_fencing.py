"""Proofs that a zombie changes nothing that counts: what it tried, what GitHub answered, what GitHub shows after."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from app.drill.git_reader import LedgerCommit
from app.drill.observer import Observer
from app.drill.proof import Attempt, NotProved, Proof, Proved, Unproved
from app.drill.proofs_of_work import Place, looks, require

FENCED_OUT, GATE_CLOSED, CONFLICT = 3, 4, 5
"""Exit codes of the command line, as docs/cli.md publishes them."""


@dataclass(frozen=True)
class Standing:
    """What counted on GitHub before somebody tried something."""

    ledger: LedgerCommit
    head: str


def standing(observer: Observer, place: Place) -> Standing:
    """What counts on GitHub now. Raises `Unproved` where the branch is not what the ledger calls published."""
    ledger = observer.ledger(place.ticket)[0]
    head = observer.branch(place.branch)
    require(ledger.counts and ledger.published["sha"] == head, "the branch is not what the ledger calls published")
    return Standing(ledger, head)


def shown(observer: Observer, place: Place) -> str:
    """What GitHub shows of the ticket now, in a few words: its branch, its ledger, its pull requests."""
    heads = observer.heads(place.branch)
    branch = f"{place.branch} at {heads[place.branch][:12]}" if place.branch in heads else f"no {place.branch}"
    pulls = ", ".join(f"#{p.number} {p.state}" for p in observer.pulls(place.branch)) or "no pull request"
    try:
        newest = observer.ledger(place.ticket)[0]
    except Unproved as missing:
        return f"{branch}; {missing.why}; {pulls}"
    return f"{branch}; ledger at {newest.sha[:12]}: generation {newest.generation}, {newest.record['status']}; {pulls}"


@looks
def zombie_checkpoint(observer: Observer, place: Place, attempt: Attempt, before: Standing, *, mark: str) -> Proved:
    """A checkpoint under the old lease is refused, and nothing of it stands anywhere."""
    _fenced_out(observer, place, attempt, before, mark)
    return Proved("the zombie's checkpoint was refused", _told(attempt, before))


@looks
def zombie_push(observer: Observer, place: Place, attempt: Attempt, before: Standing, *, mark: str) -> Proved:
    """A fenced push under the old lease moves neither the branch nor the ledger."""
    _fenced_out(observer, place, attempt, before, mark)
    return Proved("the zombie's fenced push was refused", _told(attempt, before) | {"branch_head": before.head})


def refused_by_git_too(proof: Proof, by_hand: Attempt) -> Proof:
    """The proof of a refused push, if plain git, past the program's own look at the lease, was refused as well."""
    if isinstance(proof, NotProved):
        return proof
    if by_hand.exit_code == 0:
        return NotProved(f"git took what the agent's program refused to send: {by_hand.command}")
    if not re.search(r"refs/agent-recovery/active/\d+ \((?:stale info|remote rejected|fetch first)", by_hand.said):
        return NotProved(f"git did not refuse it for the ledger's sake: {by_hand.answer}")
    return Proved(proof.line, proof.evidence | {"past_the_program": by_hand.answer})


@looks
def zombie_ready(observer: Observer, place: Place, attempt: Attempt, before: Standing, *, mark: str) -> Proved:
    """ "Ready" under the old lease is refused; the ticket's status stays the holder's."""
    _fenced_out(observer, place, attempt, before, mark)
    status = observer.ledger(place.ticket)[0].record["status"]
    require(status == before.ledger.record["status"], f"the status is {status} now")
    return Proved("the zombie's ready was refused", _told(attempt, before) | {"status": status})


@dataclass(frozen=True)
class PlainPush:
    """A zombie's plain push, which GitHub takes, and how the holder met it."""

    push: Attempt
    pushed: str
    holder_push: Attempt
    rewind: Attempt


@looks
def plain_push_shown(observer: Observer, place: Place, pushed: str, before: Standing) -> Proved:
    """A foreign head on the branch is shown as unfenced on that very commit, and the ledger does not count it."""
    head = observer.branch(place.branch)
    require(head == pushed, f"the branch stands at {head[:12]}, not at the foreign commit")
    runs = observer.check_runs(pushed, place.app)
    require(runs, f"no check-run of the App on the foreign head {pushed[:12]}")
    run = max(runs, key=lambda r: r.id)
    require(run.conclusion not in ("success", "neutral", "skipped"), f"the foreign head's check is {run.conclusion}")
    words = f"{run.output.title} {run.output.summary} {run.output.text}".lower()
    require("not fenced" in words or "unfenced" in words, "the check-run does not call the head unfenced")
    _not_counted(observer, place, before)
    return Proved(
        f"the foreign head {pushed[:12]} is shown as unfenced",
        {"check_run_id": run.id, "conclusion": run.conclusion, "title": run.output.title, "url": run.html_url},
    )


@looks
def plain_push(observer: Observer, place: Place, told: PlainPush, before: Standing) -> Proved:
    """After a foreign head: the holder's push is refused and names it, and the rewind puts the holder's work back."""
    require(told.push.exit_code == 0, f"GitHub refused the plain push: {told.push.answer}")
    shown = [r for r in observer.check_runs(told.pushed, place.app) if r.conclusion]
    passing = [r for r in shown if r.conclusion in ("success", "neutral", "skipped")]
    require(shown and not passing, f"the foreign head {told.pushed[:12]} is not shown as unfenced")
    refused = told.holder_push
    require(refused.exit_code == CONFLICT, f"the holder's push ended with {refused.exit_code}, not {CONFLICT}")
    require(told.pushed[:7] in refused.said, "the holder's refused push does not name the foreign commit")
    require(told.rewind.exit_code == 0, f"the rewind failed: {told.rewind.answer}")
    now = standing(observer, place)
    require(observer.git.is_ancestor(before.head, now.head), "commits of the holder are gone from the branch")
    require(not observer.git.is_ancestor(told.pushed, now.head), "the foreign commit is in the published work")
    require(now.ledger.generation == before.ledger.generation, "the generation changed")
    kept = _kept(observer, place, told.pushed)
    return Proved(
        "the plain push was shown as unfenced; the holder was told and put the branch back",
        {
            "github_answered": told.push.answer,
            "foreign_head": told.pushed,
            "check_run_id": shown[0].id,
            "conclusion": shown[0].conclusion,
            "holder_was_told": refused.answer,
            "branch_head": now.head,
            "kept": kept,
        },
    )


@looks
def force_push(observer: Observer, place: Place, attempt: Attempt, pushed: str, before: Standing) -> Proved:
    """A forced push is undone by the App, and the foreign head is kept aside."""
    require(attempt.exit_code == 0, f"GitHub refused the forced push: {attempt.answer}")
    kept = _kept(observer, place, pushed)
    now = standing(observer, place)
    require(now.head == before.head, f"the branch stands at {now.head[:12]}")
    _still_open(observer, place)
    return Proved(
        f"the forced push was undone: {place.branch} is at {now.head[:12]} again",
        {"github_answered": attempt.answer, "foreign_head": pushed, "kept": kept, "branch_head": now.head},
    )


@looks
def branch_deleted(observer: Observer, place: Place, attempt: Attempt, before: Standing, *, number: int) -> Proved:
    """A deleted branch is put back by the App, and its pull request is open again: the same one."""
    require(attempt.exit_code == 0, f"GitHub refused the deletion: {attempt.answer}")
    events = [e.event for e in observer.repository.get_issue(number).get_timeline()]
    require("head_ref_deleted" in events, "GitHub has not seen the branch deleted")
    now = standing(observer, place)
    require(now.head == before.head, f"the branch stands at {now.head[:12]}")
    reopened = _still_open(observer, place)
    require(reopened == number, f"the open pull request is #{reopened}, not #{number}")
    return Proved(
        f"the deleted branch is back at {now.head[:12]} and #{number} is open again",
        {"github_answered": attempt.answer, "branch_head": now.head, "pr_number": number, "events": events},
    )


@dataclass(frozen=True)
class MovedLedger:
    """A ledger ref moved back: to where, who then asked for the ticket, and which comments stood before.

    `old_holder` is a write of the agent whose lease stands at the commit that the ref was moved to.
    """

    push: Attempt
    moved_to: str
    claim: Attempt
    old_holder: Attempt
    comments_before: frozenset[int]


@looks
def ledger_moved_back(observer: Observer, place: Place, moved: MovedLedger, before: Standing) -> Proved:
    """A ledger that went backwards is reported once and frozen: granted to nobody, and not moved by the App."""
    require(moved.push.exit_code == 0, f"GitHub refused to move the ledger: {moved.push.answer}")
    require(moved.moved_to != before.ledger.sha, "the ledger was not moved")
    for tried in (moved.claim, moved.old_holder):
        require(tried.exit_code == GATE_CLOSED, f"{tried.command} ended with {tried.exit_code}, not {GATE_CLOSED}")
        require("frozen" in tried.said, f"{tried.command} was not told that the ticket is frozen: {tried.answer}")
    now = observer.ledger_ref(place.ticket)
    require(now == moved.moved_to, f"the ledger ref was moved again, to {now[:12]}")
    number = observer.only_pull(place.branch).number
    comments = [*observer.comments(number, place.app), *observer.comments(place.ticket, place.app)]
    reports = [c for c in comments if c.id not in moved.comments_before]
    require(len(reports) == 1, f"{len(reports)} reports, not one")
    require(observer.branch(place.branch) == before.head, "the branch moved")
    return Proved(
        f"#{place.ticket} is frozen, reported once, granted to nobody; the ledger was left as it is for a person",
        {
            "github_answered": moved.push.answer,
            "claim_was_told": moved.claim.answer,
            "old_holder_was_told": moved.old_holder.answer,
            "ledger_ref": now,
            "was": before.ledger.sha,
            "report": reports[0].html_url,
        },
    )


def _fenced_out(observer: Observer, place: Place, attempt: Attempt, before: Standing, mark: str) -> None:
    """Refused with exit code 3, and `mark`, which the zombie wrote into its checkpoint, stands nowhere."""
    require(
        attempt.exit_code == FENCED_OUT, f"it was not fenced out, it ended with {attempt.exit_code}: {attempt.answer}"
    )
    since = _not_counted(observer, place, before)
    require(observer.branch(place.branch) == before.head, "the branch moved")
    texts = [str(entry.record) for entry in since]
    number = observer.only_pull(place.branch).number
    texts += [c.body for c in observer.comments(number, place.app)]
    texts += [str(r.output.text) for r in observer.check_runs(before.head, place.app)]
    require(not any(mark in text for text in texts), "something of the zombie's checkpoint stands on GitHub")


def _not_counted(observer: Observer, place: Place, before: Standing) -> Sequence[LedgerCommit]:
    """The ledger commits since; all of the same lease, none of which publishes anything else."""
    entries = observer.ledger(place.ticket)
    position = next((i for i, e in enumerate(entries) if e.sha == before.ledger.sha), None)
    if position is None:
        raise Unproved("the ledger does not descend from where it stood")
    since = entries[:position]
    identity = (before.ledger.generation, before.ledger.nonce)
    require(all((e.generation, e.nonce) == identity for e in since), "the lease changed hands")
    newest = entries[0]
    require(newest.counts and newest.published["sha"] == before.head, "the ledger counts another head")
    return since


def _kept(observer: Observer, place: Place, sha: str) -> str:
    for ref, target in observer.kept(place.ticket).items():
        if target == sha:
            return ref
    raise Unproved(f"the foreign head {sha[:12]} is not kept under recovered/{place.ticket}/")


def _still_open(observer: Observer, place: Place) -> int:
    pull = observer.only_pull(place.branch)
    require(pull.state == "open", f"pull request #{pull.number} is {pull.state}")
    return pull.number


def _told(attempt: Attempt, before: Standing) -> dict[str, object]:
    return {
        "command": attempt.command,
        "exit_code": attempt.exit_code,
        "answered": attempt.answer,
        "ledger_commit": before.ledger.sha,
    }
