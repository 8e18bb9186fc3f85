"""The handoff comment: one per ticket PR, edited in place, readable by a person who never heard of us."""

from app.domain.checkpoint import Step
from app.domain.checkpoint_gap import Overdue
from app.domain.child_states import told
from app.domain.effect_findings import shown
from app.domain.fencing import AtPublished, Foreign, Head, Tampered, Unheld
from app.domain.handoff_marker import marker_of
from app.domain.hold import why_held
from app.domain.landing_blocker import Blocker
from app.domain.landing_told import lines
from app.domain.model import instant_text
from app.domain.outcome import Blocked
from app.domain.plain_text import cut
from app.domain.record import TERMINAL, PermitKind, Record
from app.domain.sealed_body import block
from app.domain.the_end_told import after_the_end, why_it_ended
from app.domain.told_commands import of
from app.domain.untrusted import inline

MAX_BYTES = 60_000
"""Below GitHub's limit of 65,536 characters, in bytes, so that it always fits."""
_LIST = 10
_LINE_BYTES = 300
_WRITES: dict[PermitKind, str] = {
    "pr_create": "the PR",
    "comment_create": "this comment",
    "check_run_create": "the check-run",
    "merge": "the merge of the PR",
    "enqueue": "the PR's place in the merge queue",
    "branch_update": "the update of the branch",
    "base_edit": "the change of a PR's base",
    "issue_close": "the closing of the Issue",
    "dispatch": "the start of a fresh agent",
    "report_create": "the comment that tells why the ticket stopped",
}

_STATE = {
    "unclaimed": "Waiting for an agent",
    "recovering": "An agent is taking over",
    "working": "Being worked on",
    "waiting": "Waiting for an answer",
    "ready": "Ready",
    "held": "On hold",
    "exhausted": "Needs a person: several attempts made no progress",
    "completed": "Completed: waits to be merged into its ticket's branch",
    "failed": "Failed: waits for the holder of its ticket",
    "landed": "Landed",
    "cancelled": "Cancelled",
    "abandoned": "Abandoned",
}


def render(
    record: Record,
    head: Head,
    *,
    payload: str,
    seal: str,
    stuck: Blocked | None = None,
    late: Overdue | None = None,
    blockers: tuple[Blocker, ...] = (),
    known: tuple[str, ...] = (),
) -> str:
    """The comment's text. Prose is cut first where it grows too long, the checkpoint never. `stuck`: why the ticket
    waits for a person; `late`: that its holder works on without saving; `blockers`: what is in its landing's way;
    `known`: what its PR's readers should know besides.
    """
    machine = block(payload, seal)
    gap = (
        [f"**Not saved for too long**: {late.reason}. What was done since is lost if the agent stops."] if late else []
    )
    told = ["**Worth knowing**\n" + _bullets(list(known))] if known else []
    parts = (_state(record, stuck), *gap, _table(record, head), *_landing(blockers), *told, *_lists(record))
    prose = "\n\n".join(part for part in parts if part)
    room = MAX_BYTES - len(machine.encode()) - len(marker_of(record.ticket_id)) - 8
    return f"{marker_of(record.ticket_id)}\n{cut(prose, room)}\n\n{machine}\n"


def _state(record: Record, stuck: Blocked | None) -> str:
    lease = record.lease
    if stuck is not None:
        return (
            f"**Needs a person** · generation {record.generation}\n\n"
            f"Nobody holds the ticket: {stuck.reason}. The way back: {stuck.remedy}."
        )
    state = _STATE[record.status]
    if record.status in TERMINAL:
        return f"**{state}** · generation {record.generation}\n\n{why_it_ended(record)}. {after_the_end(record)}"
    if record.status == "held" and record.held is not None:
        return (
            f"**{state}** · generation {record.generation}\n\n"
            f"{inline(why_held(record), _LINE_BYTES)}. Nothing is claimed, written or landed until somebody takes "
            f"it off hold with this command in a comment: `/recovery unhold{of(record.ticket_id)}`."
        )
    if lease is None:
        return f"**{state}** · generation {record.generation}"
    holder = inline(lease.holder, 80)
    return (
        f"**{state}** · generation {record.generation} · held by {holder} until {instant_text(lease.expires_at)}\n\n"
        "This comment is kept up to date by Agent Recovery. If the agent stops, another one can go on from here: "
        f"`agent-recovery recover {record.ticket_id}`."
    )


def _table(record: Record, head: Head) -> str:
    c, work = record.checkpoint, record.work
    rows = [
        # Git allows backticks, bars, tags and mentions in a branch's name.
        ("Branch", f"{inline(work.branch, 250)} → {inline(work.trunk, 250)}" if work else "none yet"),
        ("Published", _head(head)),
        ("Steps", f"{len(c.completed_steps)} completed, {len(c.next_steps)} to go"),
    ]
    if record.projections.replaced_pr is not None:
        rows.append(("Replaces", f"#{record.projections.replaced_pr}, which GitHub could not reopen"))
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)])


def _landing(blockers: tuple[Blocker, ...]) -> list[str]:
    told = lines(blockers)
    return ["**Before it lands**\n" + "\n".join(f"- {line}" for line in told)] if told else []


def _head(head: Head) -> str:
    if isinstance(head, AtPublished):
        return f"{head.sha}" if head.fenced else f"{head.sha} (by the previous holder)"
    if isinstance(head, Foreign):
        return f"{head.published}; the branch has unpublished commits of somebody else on top ({head.head})"
    if isinstance(head, Tampered):
        return f"{head.published}; the branch does not contain it and is being put back"
    if isinstance(head, Unheld):
        return f"nothing yet; on the branch stands {head.head}, which nobody published under a lease"
    return "nothing yet"


def _lists(record: Record) -> list[str]:
    c = record.checkpoint
    parts = []
    if c.next_steps:
        parts.append("**Next**\n" + _bullets([_step(s) for s in c.next_steps]))
    refused = [f"{_WRITES[p.kind]}: {p.reason or 'no reason given'}" for p in record.open if p.state == "blocked"]
    if refused:
        parts.append("**GitHub refused, and it will be tried again**\n" + _bullets(refused))
    if effects := shown(record):
        parts.append("**Effects outside Git that are not settled**\n" + _bullets(effects))
    if children := told(record):
        parts.append("**Children**\n" + _bullets(children))
    if c.blockers:
        parts.append("**Blocked by**\n" + _bullets(list(c.blockers)))
    return parts


def _step(step: Step) -> str:
    return f"{step.id}: {step.text}" if step.id else step.text


def _bullets(texts: list[str]) -> str:
    more = [f"- and {len(texts) - _LIST} more"] if len(texts) > _LIST else []
    return "\n".join([*(f"- {inline(text, _LINE_BYTES)}" for text in texts[:_LIST]), *more])
