"""What a holder's word about a child makes of the two records: its parent's and its own (the ownership protocol, R19).

Spawning, asking anew and cancelling change both in one update, so that no child stands unlisted and none is listed that
does not stand. A result ends the child's lease: a child that gave one is claimed by nobody. Wherever a lease of a child
ends here, effects whose end nobody wrote down are unknown from then on.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from app.domain import gates
from app.domain.branches import child_branch
from app.domain.checkpoint import Checkpoint, Step
from app.domain.child_api import ResultRequest, Task
from app.domain.child_contract import (
    MAX_CHILDREN,
    Acceptance,
    Budget,
    ListedChild,
    ResultContract,
    SealedResult,
    SpawnContract,
    listing,
)
from app.domain.children import Seen, Unseen, active_names, listed, result_of, snapshot_of
from app.domain.derived import derived
from app.domain.effect_journal import interrupted
from app.domain.fence import not_ready
from app.domain.fencing import AtPublished, Head, NothingPublished
from app.domain.lease import Live, Suspect
from app.domain.model import Instant, instant_text
from app.domain.outcome import Blocked, Code
from app.domain.record import Attempts, Lease, Projections, Record, Work
from app.domain.ticket_id import Child


@dataclass(frozen=True)
class Both:
    """The parent's record and the child's as they will be. `starts_over`: the child's branch has to go, because its
    next holder begins at another commit.
    """

    parent: Record
    child: Record
    starts_over: bool = False


def spawned(
    parent: Record, name: str, task: Task, seen: Mapping[str, Seen | Unseen], *, now: Instant
) -> Both | Blocked:
    """A new child of a ticket, at the ticket's present snapshot."""
    entries = listed(parent)
    if parent.child is not None:
        return Blocked(Code.USAGE, "a child has no children of its own", "its parent's holder spawns them")
    if any(entry.name == name for entry in entries):
        return Blocked(
            Code.USAGE, f"there is a child {name} already", f"`agent-recovery child respawn {name}`, or another name"
        )
    if name in seen:
        return Blocked(
            Code.USAGE, f"an orphan named {name} stands", f"`agent-recovery child adopt {name}`, or another name"
        )
    if len(entries) >= MAX_CHILDREN:
        return Blocked(Code.USAGE, f"a ticket has at most {MAX_CHILDREN} children", "give the work to those it has")
    contract = _contract(parent, task, after_generation=0, now=now)
    if isinstance(contract, Blocked):
        return contract
    child = Record(ticket=parent.ticket, child=name, sequence=1, status="unclaimed")
    return Both(_listing(parent, name, contract), _under(child, contract, parent, now))


def respawned(
    parent: Record, name: str, task: Task | None, seen: Mapping[str, Seen | Unseen], *, now: Instant
) -> Both | Blocked:
    """A child's work asked for once more, at the ticket's present snapshot; it is integrated after all others. Where
    that is the one it had, its next holder goes on from what was published, else from the snapshot.
    """
    entry = next((e for e in listed(parent) if e.name == name), None)
    if entry is None or entry.cancelled:
        why = "was cancelled" if entry else "is not listed"
        return Blocked(Code.NOT_FOUND, f"the child {name} {why}", "spawn another one")
    ledger = seen.get(name, Unseen("its ledger is gone"))
    if isinstance(ledger, Unseen):
        return Blocked(Code.FROZEN, f"{name}: {ledger.reason}", "spawn another child under another name")
    if entry.result is not None and entry.result.merged is not None:
        return Blocked(Code.ENDED, f"{name} is integrated already", "spawn another child for what is missing")
    if isinstance(ledger.holder, Live | Suspect):
        until = instant_text(ledger.holder.until)
        return Blocked(
            Code.LEASE_LIVE,
            f"{name} is being worked on, until {until} at least",
            f"wait, or end it: `agent-recovery child cancel {name}`",
            retryable=True,
            holder=ledger.record.lease.holder if ledger.record.lease else None,
            generation=ledger.record.generation,
        )
    before = ledger.record
    asked = task or _task_of(before.spawn)
    if asked is None:
        return Blocked(Code.USAGE, f"what {name} was to do is not known any more", "say it again: --objective …")
    contract = _contract(parent, asked, after_generation=before.generation, now=now)
    if isinstance(contract, Blocked):
        return contract
    same = (entry.base_sha, entry.predecessor_sha) == (contract.base_sha, contract.predecessor_sha)
    fresh = interrupted(before, now=now).model_copy(
        update={
            "lease": None,
            "status": "unclaimed",
            "result": None,
            "attempts": Attempts(),
            "intent": None,
            "ended": None,
        }
    )
    if not same:
        fresh = fresh.model_copy(update={"published": None, "projections": Projections(), "open": ()})
    child = _under(fresh, contract, parent, now)
    return Both(_listing(_without(parent, name), name, contract), child, starts_over=not same)


def adopted(parent: Record, name: str, seen: Mapping[str, Seen | Unseen]) -> Record | Blocked:
    """The parent's record with an orphan on its list. It keeps the snapshot that it was spawned at, by its own sealed
    contract; whether its result holds is judged as every child's.
    """
    if any(entry.name == name for entry in listed(parent)):
        return Blocked(Code.USAGE, f"{name} is listed already", "look at `agent-recovery child list`")
    ledger = seen.get(name)
    if ledger is None:
        return Blocked(Code.NOT_FOUND, f"no ledger of a child {name} stands", "look at `agent-recovery child list`")
    if isinstance(ledger, Unseen):
        return Blocked(Code.FROZEN, f"{name}: {ledger.reason}", "spawn another child under another name")
    if ledger.record.spawn is None:
        return Blocked(Code.USAGE, f"{name} has no contract", "spawn another child under another name")
    if len(listed(parent)) >= MAX_CHILDREN:
        return Blocked(Code.USAGE, f"a ticket has at most {MAX_CHILDREN} children", "give the work to those it has")
    return _listing(parent, name, ledger.record.spawn)


def cancelled(parent: Record, name: str, seen: Mapping[str, Seen | Unseen], *, now: Instant) -> Both | Blocked:
    """A child ended by its parent's holder: whoever holds it is fenced out. What it published stays on its branch."""
    entry = next((e for e in listed(parent) if e.name == name), None)
    ledger = seen.get(name, Unseen("its ledger is gone"))
    if entry is None:
        return Blocked(Code.NOT_FOUND, f"the child {name} is not listed", "look at `agent-recovery child list`")
    if entry.cancelled or (entry.result is not None and entry.result.merged is not None):
        return Blocked(Code.ENDED, f"{name} has ended already", "look at `agent-recovery child list`")
    if isinstance(ledger, Unseen):
        return Blocked(Code.FROZEN, f"{name}: {ledger.reason}", "a person has to look at its ledger")
    over = interrupted(ledger.record, now=now)
    ended = over.model_copy(update={"lease": None, "status": "cancelled", "attempts": gates.after_handoff()})
    child = ended.model_copy(update={"checkpoint": derived(ended, ended.checkpoint, now=now)})
    return Both(_replaced(parent, entry.model_copy(update={"cancelled": True})), child)


def finished(
    record: Record, lease: Lease, head: Head | None, request: ResultRequest, *, now: Instant
) -> Record | Blocked:
    """A child's record with its result. Completed is only what it published under its own lease; who has no commit of
    its own gives a report alone.
    """
    contract = record.spawn
    if record.child is None:
        return Blocked(Code.USAGE, "only a child gives a result", "a ticket is `agent-recovery ready` when it is done")
    if contract is None:
        respawn = f"`agent-recovery child respawn {record.child} --objective …`"
        ask = f"the holder of #{record.ticket} asks for it anew: {respawn}"
        return Blocked(Code.USAGE, "what this child was asked for is not known any more", ask)
    nothing = isinstance(head, NothingPublished) and head.head is None
    if request.outcome == "completed" and not nothing and (blocked := not_ready(head)) is not None:
        return blocked
    result = ResultContract(
        outcome=request.outcome,
        summary=request.summary,
        acceptance=tuple(Acceptance(text=told.text, met=told.met) for told in request.acceptance),
        artifacts=request.artifacts,
        head_sha=head.sha if isinstance(head, AtPublished) and head.fenced else None,
        base_sha=contract.base_sha,
        predecessor_sha=contract.predecessor_sha,
        generation=lease.generation,
        at=now,
    )
    ended = interrupted(record, now=now).model_copy(
        update={"status": request.outcome, "result": result, "lease": None, "attempts": gates.after_handoff()}
    )
    return ended.model_copy(update={"checkpoint": derived(ended, ended.checkpoint, now=now)})


def with_results(parent: Record, seen: Mapping[str, Seen | Unseen]) -> Record:
    """The parent's record with the results that its children gave since, each by the commit that holds it: from then on
    a result that is moved or exchanged is noticed. The same record where there is nothing new.
    """
    for entry in listed(parent):
        ledger = seen.get(entry.name)
        if entry.result is None and not entry.cancelled and isinstance(ledger, Seen):
            result = result_of(entry, ledger)
            if isinstance(result, SealedResult):
                parent = _replaced(parent, entry.model_copy(update={"result": result}))
    return parent


def _contract(parent: Record, task: Task, *, after_generation: int, now: Instant) -> SpawnContract | Blocked:
    base = snapshot_of(parent)
    if base is None:
        return Blocked(Code.NOT_PUBLISHED, "the ticket has no base yet", "claim the ticket first")
    return SpawnContract(
        objective=task.objective,
        acceptance=task.acceptance,
        expected_result=task.expected_result,
        role=task.role,
        budget=Budget(minutes=task.budget.minutes, tokens=task.budget.tokens),
        base_sha=base,
        predecessor_sha=parent.checkpoint.predecessor_sha,
        parent_generation=parent.generation,
        after_generation=after_generation,
        spawned_at=now,
    )


def _under(child: Record, contract: SpawnContract, parent: Record, now: Instant) -> Record:
    """A child's record under a contract: its first checkpoint says what is to be done, as everybody's does."""
    name = child.child or ""
    work = Work(branch=child_branch(Child(parent.ticket, name)), trunk=parent.branch or "", base_sha=contract.base_sha)
    steps = tuple(Step(id=f"a{number}", text=text) for number, text in enumerate(contract.acceptance, start=1))
    told = Checkpoint(
        objective=contract.objective,
        next_steps=steps or (Step(text=contract.objective),),
        predecessor_issue_or_pr=parent.checkpoint.predecessor_issue_or_pr,
        predecessor_sha=contract.predecessor_sha,
    )
    begun = child.model_copy(update={"spawn": contract, "work": work})
    return begun.model_copy(update={"checkpoint": derived(begun, told, now=now)})


def _task_of(contract: SpawnContract | None) -> Task | None:
    if contract is None:
        return None
    fields = contract.model_dump(include={"objective", "acceptance", "expected_result", "role", "budget"})
    return Task.model_validate(fields)


def _listing(parent: Record, name: str, contract: SpawnContract) -> Record:
    entry = listing(name, contract).model_dump(mode="json")
    return _told(parent.model_copy(update={"children": (*parent.children, entry)}))


def _without(parent: Record, name: str) -> Record:
    return parent.model_copy(update={"children": tuple(c for c in parent.children if c.get("name") != name)})


def _replaced(parent: Record, entry: ListedChild) -> Record:
    new = entry.model_dump(mode="json")
    children = tuple(new if old.get("name") == entry.name else old for old in parent.children)
    return _told(parent.model_copy(update={"children": children}))


def _told(parent: Record) -> Record:
    """The record whose checkpoint names the children as they are listed."""
    checkpoint = parent.checkpoint.model_copy(update={"active_children": active_names(parent)})
    return parent.model_copy(update={"checkpoint": checkpoint})
