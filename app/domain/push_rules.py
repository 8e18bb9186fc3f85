"""What a holder's plain `git push` may move, judged before anything of it is forwarded.

The rule is that of the ownership protocol, R14 and R19: the ticket's own branch from where it was published, the
ticket's own ledger from where it stands, a head that is set aside under its own name, and with its ledger a child's
result. Everything else is refused by name. Who pushes is settled before (`domain.fence`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.domain.model import ZERO_SHA
from app.domain.outcome import Blocked, Code
from app.domain.record import Record
from app.domain.refs import LedgerRefs
from app.domain.ticket_id import Child, TicketId

_BRANCHES = "refs/heads/"
_TAGS = "refs/tags/"


@dataclass(frozen=True)
class Command:
    """One wish of a push: `ref` from `old` to `new`. All zeros: there is none before, or none afterwards."""

    ref: str
    old: str
    new: str


@dataclass(frozen=True)
class Grounds:
    """What a push is judged against: the ledger as it stands, and where the ticket branch is now (None: nowhere).
    `ledger_past`: commits that the ledger is known to have gone through.
    """

    ticket: TicketId
    refs: LedgerRefs
    record: Record
    ledger_head: str
    branch_head: str | None
    ledger_past: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Passes:
    """All of it may be forwarded. `published`: what the ticket branch becomes, None where it is not moved.
    `writes_ledger`: the push brings a ledger commit that its holder wrote and sealed; where not, it needs one of ours.
    """

    published: str | None
    writes_ledger: bool


@dataclass(frozen=True)
class Stopped:
    """Nothing of it is forwarded: for each ref that may not move the reason."""

    refusals: Mapping[str, Blocked]


def judge(commands: Sequence[Command], grounds: Grounds) -> Passes | Stopped:
    """Whether all commands of one push may be forwarded."""
    own_ledger = grounds.refs.active(grounds.ticket)
    writes_ledger = any(command.ref == own_ledger for command in commands)
    refusals = {
        command.ref: refusal
        for command in commands
        if (refusal := _refusal(command, grounds, writes_ledger=writes_ledger)) is not None
    }
    if refusals:
        return Stopped(refusals)
    branch = _own_branch(grounds)
    published = next((command.new for command in commands if command.ref == branch), None)
    return Passes(published, writes_ledger)


def _refusal(command: Command, grounds: Grounds, *, writes_ledger: bool) -> Blocked | None:
    ref, refs = command.ref, grounds.refs
    if command.new == ZERO_SHA:
        return _forbidden(f"a lease deletes nothing, and not {ref}", grounds)
    if ref == _own_branch(grounds):
        return _branch_refusal(command, grounds, writes_ledger=writes_ledger)
    if ref == refs.active(grounds.ticket):
        return _ledger_refusal(command, grounds)
    if command.old == ZERO_SHA and ref == refs.recovered(grounds.ticket, command.new):
        return None
    if writes_ledger and command.old == ZERO_SHA and ref == _own_result(grounds):
        return None
    return _forbidden(_whose(ref, grounds), grounds)


def _ledger_refusal(command: Command, grounds: Grounds) -> Blocked | None:
    if command.old != grounds.ledger_head:
        return _moved_on(command, grounds)
    if command.new == grounds.ledger_head or command.new in grounds.ledger_past:
        # A ledger that stays fences nothing, and one that goes back is a ledger that nobody may use any more.
        reason = f"{command.new[:12]} takes {command.ref} no further than it is"
        return Blocked(Code.FORBIDDEN, reason, "push a ledger commit on top of the one that stands, or none")
    return None


def _branch_refusal(command: Command, grounds: Grounds, *, writes_ledger: bool) -> Blocked | None:
    record, head = grounds.record, grounds.branch_head
    if command.new in record.burned_shas:
        return Blocked(Code.FORBIDDEN, f"{command.new[:12]} was withdrawn and is never published again", "commit anew")
    if command.old == ZERO_SHA and head is not None:
        reason = f"the push does not say where {command.ref} stands now"
        return Blocked(Code.USAGE, reason, "fetch, and push from a git that saw the branch")
    if writes_ledger:
        # With a ledger commit of its own the holder has said what the push does: it adopts, or puts back.
        return None
    published = record.published.sha if record.published else None
    if head is not None and head != published:
        return Blocked(
            Code.FOREIGN_COMMITS,
            f"{command.ref} stands at {head[:12]}, which was not pushed under this lease",
            f"`agent-recovery adopt {head}` takes it over, `agent-recovery push --rewind` puts the branch back",
        )
    if command.old != (head or ZERO_SHA):
        return Blocked(Code.LOST_RACE, f"{command.ref} is elsewhere by now", "fetch, then push again", retryable=True)
    return None


def _own_result(grounds: Grounds) -> str | None:
    """The ref that holds what a child came to in its present generation."""
    ticket = grounds.ticket
    return grounds.refs.result(ticket, grounds.record.generation) if isinstance(ticket, Child) else None


def _own_branch(grounds: Grounds) -> str | None:
    branch = grounds.record.branch
    return None if branch is None else f"{_BRANCHES}{branch}"


def _whose(ref: str, grounds: Grounds) -> str:
    """What a ref is that this lease does not move, in words."""
    record, refs = grounds.record, grounds.refs
    if refs.ticket_of(ref) is not None:
        return f"{ref} is a ledger, and not the one this lease writes"
    if refs.result_of(ref) is not None:
        return f"{ref} is the result of a child, made by its own lease once and together with its ledger"
    if ref.startswith(f"{refs.namespace}/"):
        return f"{ref} belongs to the ledgers"
    if ref == f"{_BRANCHES}{record.trunk}":
        if isinstance(grounds.ticket, Child):
            return f"{ref} is the parent's branch, into which its holder takes what a child came to"
        return f"{ref} is the trunk, which moves only when a ticket lands"
    if ref.startswith(_BRANCHES):
        return f"{ref} is not this ticket's branch"
    if ref.startswith(_TAGS):
        return f"{ref} is a tag"
    return f"{ref} is no branch"


def _moved_on(command: Command, grounds: Grounds) -> Blocked:
    reason = f"{command.ref} stands at {grounds.ledger_head[:12]} and not where this push saw it"
    return Blocked(Code.LOST_RACE, reason, "fetch the ledger, build on it, push again", retryable=True)


def _forbidden(reason: str, grounds: Grounds) -> Blocked:
    branch = grounds.record.branch
    return Blocked(Code.FORBIDDEN, reason, f"this lease pushes to {branch} and nothing else")
