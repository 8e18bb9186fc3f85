"""What the check-run `Agent Recovery` says about a head.

Green only for a fenced head: one that the present holder published under its own fencing identity. Everything else is
unfinished or red, never neutral or skipped, because those pass a required check.
"""

from dataclasses import dataclass
from typing import Literal

from app.domain.drafts import NO_DRAFTS
from app.domain.external_id import parse
from app.domain.fencing import AtPublished, Foreign, Head, Unheld
from app.domain.landing_blocker import Blocker
from app.domain.landing_told import lines
from app.domain.observation import Observation
from app.domain.outcome import Blocked
from app.domain.record import FINISHED, TERMINAL, Record
from app.domain.the_end_told import after_the_end, why_it_ended
from app.domain.ticket_id import TicketId, by_number
from app.domain.told_commands import of
from app.domain.untrusted import inline
from app.domain.validation import present, shown


@dataclass(frozen=True)
class Verdict:
    """`conclusion` is None while the run is unfinished. `title` and `summary` are what a person reads."""

    conclusion: Literal["success", "action_required"] | None
    title: str
    summary: str


def verdict_on(
    record: Record,
    head: Head,
    observation: Observation,
    stuck: Blocked | None = None,
    blockers: tuple[Blocker, ...] = (),
) -> Verdict:
    """The verdict on the head that `head` speaks of. `stuck`: why the ticket waits for a person; `blockers`: what is in
    its landing's way, which is told and changes no verdict: this run says who pushed.
    """
    if record.status in TERMINAL:
        return _ended(record)
    if isinstance(head, Foreign):
        return Verdict(
            "action_required",
            "Not fenced: pushed by somebody who does not hold the ticket",
            f"Commit {head.head} is on the branch, but the holder of generation {record.generation} did not publish "
            "it, so it does not count.\n\nThe holder runs `agent-recovery push --rewind` to put the branch back, or "
            f"`agent-recovery adopt {head.head}` to take the commits over. {_accepting(record, head.head)}",
        )
    if isinstance(head, Unheld):
        return Verdict(
            "action_required",
            "Not fenced: nobody ever held the ticket",
            f"Commit {head.head} is on the ticket's branch. No agent claimed the ticket, so nobody published it under "
            "a lease, and the App does not land it.\n\nAn agent takes the work over with `agent-recovery recover "
            f"{record.ticket_id}` and then `agent-recovery adopt {head.head}`; from then on it counts. "
            f"{_accepting(record, head.head)}",
        )
    if not isinstance(head, AtPublished):
        return Verdict(None, "Waiting for a published head", "The ticket's branch has no published head at the moment.")
    others = sharing(record, observation, head.sha)
    if others:
        names = ", ".join(f"#{ticket}" for ticket in sorted((record.ticket_id, *others), key=by_number))
        return Verdict(
            "action_required",
            f"Several tickets share this commit: {names}",
            "A commit counts for one ticket. Push a commit of its own for each of them.",
        )
    if stuck is not None:
        return Verdict(
            "action_required",
            "Needs a person: the work stopped and nothing resumes it",
            f"Nobody holds the ticket: {stuck.reason}.\n\nThe way back: {stuck.remedy}.",
        )
    if record.status in FINISHED:
        return _finished(record, head)
    if head.fenced and record.lease is None:
        return Verdict(
            "success",
            "Accepted by a person",
            f"Commit {head.sha} counts at a person's word; nobody holds the ticket."
            + _validations(record, head.sha, observation),
        )
    if head.fenced:
        return Verdict(
            "success",
            f"Fenced: published by the holder of generation {record.generation}",
            f"Commit {head.sha} was published under the present lease. Status of the ticket: {record.status}."
            + _without_drafts(record)
            + _validations(record, head.sha, observation)
            + _before_it_lands(blockers),
        )
    if record.lease is None:
        return Verdict(None, "Handed off; waiting for the next agent", "Nobody holds the ticket at the moment.")
    return Verdict(
        None,
        f"Generation {record.generation} is taking over",
        "A new agent holds the ticket and has not yet shown that its workspace is at this commit.",
    )


def _without_drafts(record: Record) -> str:
    said = record.projections.drafting.unsupported and record.status != "ready"
    return f"\n\nThis is work in progress: {NO_DRAFTS}." if said else ""


def _accepting(record: Record, sha: str) -> str:
    return (
        "Or a person accepts the commit with this command in a comment: "
        f"`/recovery accept{of(record.ticket_id)} {sha}`."
    )


def _validations(record: Record, sha: str, observation: Observation) -> str:
    """What is known of this very commit: a result of another one is shown as not run."""
    told = [
        f"- {inline(v.profile, 120)} {inline(v.version, 120)}: {v.state}"
        + (f" ({inline(v.because, 200)})" if v.because else "")
        for v in shown(record, present(record, sha, observation.around))
    ]
    return "\n\nValidations of this commit:\n\n" + "\n".join(told) if told else ""


def _before_it_lands(blockers: tuple[Blocker, ...]) -> str:
    told = lines(blockers)
    return "\n\nBefore it lands:\n\n" + "\n".join(f"- {line}" for line in told) if told else ""


def _ended(record: Record) -> Verdict:
    way_back = after_the_end(record)
    if record.status == "landed":
        return Verdict("success", "Landed", f"The ticket's work is merged.\n\n{way_back}")
    title = f"{record.status.capitalize()}: nobody works on the ticket any more"
    return Verdict("action_required", title, f"{why_it_ended(record)}.\n\n{way_back}")


def _finished(record: Record, head: AtPublished) -> Verdict:
    result = record.result
    if result is not None and result.outcome == "completed" and result.head_sha == head.sha:
        return Verdict(
            "success",
            f"Completed by generation {result.generation}",
            f"Commit {head.sha} is the child's result. The holder of #{record.ticket} merges it.",
        )
    return Verdict(
        "action_required",
        "The child gave no result at this commit",
        f"The holder of #{record.ticket} asks for the work anew, or cancels the child: `agent-recovery child list`.",
    )


def sharing(record: Record, observation: Observation, sha: str) -> tuple[TicketId, ...]:
    """Other tickets that have a check-run of ours on the same commit."""
    shown = (p.ticket for run in observation.check_runs if run.sha == sha for p in parse(run.external_id)[:1])
    return tuple(sorted({ticket for ticket in shown if ticket != record.ticket_id}, key=by_number))
