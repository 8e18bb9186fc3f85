"""What is shown of a ticket's children: the state each is in, and why, in briefs, lists and the handoff comment."""

from collections.abc import Mapping

from app.domain.child_contract import ListedChild, SealedResult
from app.domain.children import Seen, Unseen, integrable, is_settled, listed, stale_because
from app.domain.lease import Dead, Suspect
from app.domain.outcome import Code
from app.domain.record import TERMINAL, Record
from app.domain.shown_child import ChildState, ShownChild


def shown(parent: Record, seen: Mapping[str, Seen | Unseen], base_holds: Mapping[str, bool]) -> tuple[ShownChild, ...]:
    """Every child of a ticket. `seen`: name → its ledger, of those listed and of all others that stand; `base_holds`:
    commit → whether the parent's branch contains it.
    """
    entries = listed(parent)
    gone = Unseen("its ledger is gone")
    rows: list[ShownChild] = []
    waits_for: str | None = None
    for entry in entries:
        ledger = seen.get(entry.name, gone)
        holds = base_holds.get(entry.base_sha)
        rows.append(_row(entry, ledger, parent, holds, waits_for))
        if waits_for is None and not is_settled(entry, ledger, parent, holds):
            waits_for = entry.name
    names = {entry.name for entry in entries}
    orphans = [(name, ledger) for name, ledger in sorted(seen.items()) if name not in names]
    return (*rows, *(_orphan(name, ledger) for name, ledger in orphans))


def _row(
    entry: ListedChild, seen: Seen | Unseen, parent: Record, base_holds: bool | None, waits_for: str | None
) -> ShownChild:
    state, because = _state(entry, seen, parent, base_holds)
    answer = integrable(entry, seen, parent, base_holds)
    ready = isinstance(answer, SealedResult) and answer.merged is None
    if ready and waits_for is not None:
        because = f"{because}; {waits_for} is integrated before it"
    result = answer if isinstance(answer, SealedResult) else entry.result
    row = (
        _seen_row(entry.name, seen) if isinstance(seen, Seen) else ShownChild(name=entry.name, state="lost", because="")
    )
    return row.model_copy(
        update={
            "state": state,
            "because": because,
            "integrable": ready and waits_for is None,
            "role": entry.role,
            "objective": entry.objective,
            "base_sha": entry.base_sha,
            "predecessor_sha": entry.predecessor_sha,
            "result_commit": result.commit if result else None,
            "merged": result.merged if result else None,
        }
    )


def _state(entry: ListedChild, seen: Seen | Unseen, parent: Record, base_holds: bool | None) -> tuple[ChildState, str]:
    if entry.result is not None and entry.result.merged is not None:
        return "integrated", f"merged as {entry.result.merged}"
    if entry.cancelled:
        return "cancelled", "it was cancelled"
    if isinstance(seen, Unseen):
        return "lost", seen.reason
    answer = integrable(entry, seen, parent, base_holds)
    if isinstance(answer, SealedResult):
        return "completed", "its result holds"
    if answer.code is Code.CHILD_STALE:
        return "stale", answer.reason
    if answer.code is Code.CHILD_FAILED:
        return "failed", answer.reason
    state, because = _running(seen)
    doomed = stale_because(entry, parent, base_holds)
    return state, f"{because}; {doomed}, so its result will be stale" if doomed else because


def _running(seen: Seen) -> tuple[ChildState, str]:
    lease = seen.record.lease
    if seen.record.status in TERMINAL:
        return "cancelled", f"it ended with its ticket ({seen.record.status})"
    if lease is None:
        again = "handed off or never claimed"
        return "waiting", f"nobody holds it: {again}"
    if isinstance(seen.holder, Dead):
        return "interrupted", f"generation {lease.generation} ended: {seen.holder.reason}"
    silent = ", not heard of for some time" if isinstance(seen.holder, Suspect) else ""
    return "running", f"generation {lease.generation} is held by {lease.holder}{silent}"


def _orphan(name: str, seen: Seen | Unseen) -> ShownChild:
    if isinstance(seen, Unseen):
        return ShownChild(
            name=name, state="orphaned", because=f"the ticket's record does not list it, and {seen.reason}"
        )
    why = "the ticket's record does not list it: it is never integrated before its holder adopts it"
    return _seen_row(name, seen).model_copy(update={"state": "orphaned", "because": why})


def _seen_row(name: str, seen: Seen) -> ShownChild:
    record = seen.record
    contract = record.spawn
    return ShownChild(
        name=name,
        state="running",
        because="",
        generation=record.generation,
        holder=record.lease.holder if record.lease else None,
        role=contract.role if contract else "",
        objective=contract.objective[:120] if contract else "",
        base_sha=contract.base_sha if contract else None,
        predecessor_sha=contract.predecessor_sha if contract else None,
        head_sha=record.published.sha if record.published else None,
        pr_number=record.projections.pr_number,
    )


def told(record: Record) -> list[str]:
    """The children in words, by the record alone: what was integrated, given, given out, and what is stale."""
    return [f"{entry.name}: {_told(entry, record)}" for entry in listed(record)]


def _told(entry: ListedChild, record: Record) -> str:
    result = entry.result
    if result is not None and result.merged is not None:
        return f"integrated as {result.merged}"
    if entry.cancelled:
        return "cancelled"
    if stale := stale_because(entry, record, None):
        return f"stale, {stale}"
    if result is None:
        return "given out"
    return "completed, waits to be integrated" if result.outcome == "completed" else "failed"
